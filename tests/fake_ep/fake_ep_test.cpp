// What the fake EP does when nobody asks it to misbehave.

#include <filesystem>

#include <gmock/gmock.h>

#include "every_operation.hpp"
#include "test_folder.hpp"

namespace precast::fake_ep::test {
namespace {

using model_generator::Kind;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Not;
using testing::Pointwise;

constexpr float kTolerance = 1e-4F;

TEST_F(FakeEpTest, ComputesWhatOrtsOwnCpuEpComputes) {
  write_every_operation_model(path("every.onnx"));
  for (const std::string& source : {model(), path("every.onnx")}) {
    const Ended host = run_host({"cpu=" + source, "run=" + source});
    ASSERT_EQ(host.exit_status, 0) << host.errors;
    EXPECT_THAT(outputs(host, 1), Pointwise(FloatNear(kTolerance), outputs(host, 0))) << source;
  }
}

TEST_F(FakeEpTest, CompiledModelsComputeTheSame) {
  write_every_operation_model(path("every.onnx"));
  const std::string source = path("every.onnx");
  const Ended host =
      run_host({"cpu=" + source, compile_step(source, "external.onnx"), compile_step(source, "embedded.onnx", true),
                "no_compile", "run=" + path("external.onnx"), "run=" + path("embedded.onnx")});
  ASSERT_EQ(host.exit_status, 0) << host.errors;
  EXPECT_TRUE(exists("external_fake.bin"));
  EXPECT_FALSE(exists("embedded_fake.bin"));
  EXPECT_THAT(outputs(host, 1), Pointwise(FloatNear(kTolerance), outputs(host, 0)));
  EXPECT_THAT(outputs(host, 2), Pointwise(FloatNear(kTolerance), outputs(host, 0)));
}

TEST_F(FakeEpTest, DynamicShapesAndExternalWeightsWork) {
  const std::string source = model(Kind::dynamic);
  model_generator::Options options;
  options.output = path("data.onnx");
  options.external = true;
  ASSERT_TRUE(model_generator::generate(options));
  for (const std::string& name : {source, path("data.onnx")}) {
    std::filesystem::remove(path("out.onnx"));
    const Ended host = run_host({"cpu=" + name, compile_step(name, "out.onnx"), "run=" + path("out.onnx")});
    ASSERT_EQ(host.exit_status, 0) << name << host.errors;
    EXPECT_THAT(outputs(host, 1), Pointwise(FloatNear(kTolerance), outputs(host, 0))) << name;
  }
}

TEST_F(FakeEpTest, TwoPartitionsMakeTwoBinaries) {
  const std::string source = model(Kind::two_partition);
  const Ended host = run_host({"fallback", "cpu=" + source, "run=" + source, compile_step(source, "external.onnx"),
                               compile_step(source, "embedded.onnx", true), "no_compile",
                               "run=" + path("external.onnx"), "run=" + path("embedded.onnx")});
  ASSERT_EQ(host.exit_status, 0) << host.errors;
  EXPECT_TRUE(exists("external_fake.bin"));
  EXPECT_TRUE(exists("external_fake_1.bin"));
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_THAT(outputs(host, i), Pointwise(FloatNear(kTolerance), outputs(host, 0))) << i;
  }
}

TEST_F(FakeEpTest, SharedContextPutsBothPartitionsIntoOneBlob) {
  const std::string source = model(Kind::two_partition);
  const Ended host = run_host({"option=share_context=1", "fallback", "cpu=" + source,
                               compile_step(source, "external.onnx"), compile_step(source, "embedded.onnx", true),
                               "no_compile", "run=" + path("external.onnx"), "run=" + path("embedded.onnx")});
  ASSERT_EQ(host.exit_status, 0) << host.errors;
  EXPECT_FALSE(exists("external_fake_1.bin"));
  EXPECT_THAT(outputs(host, 1), Pointwise(FloatNear(kTolerance), outputs(host, 0)));
  EXPECT_THAT(outputs(host, 2), Pointwise(FloatNear(kTolerance), outputs(host, 0)));
}

TEST_F(FakeEpTest, UnconnectedBranchesAreTwoPartitions) {
  write_two_branches_model(path("branches.onnx"));
  const Ended host = run_host({compile_step(path("branches.onnx"), "out.onnx")});
  ASSERT_EQ(host.exit_status, 0) << host.errors;
  EXPECT_TRUE(exists("out_fake_1.bin"));
}

TEST_F(FakeEpTest, PartitionsNeverSpanANodeBetweenThem) {
  write_skip_connection_model(path("skip.onnx"));
  const Ended host = run_host(
      {"fallback", "cpu=" + path("skip.onnx"), compile_step(path("skip.onnx"), "out.onnx"), "run=" + path("out.onnx")});
  ASSERT_EQ(host.exit_status, 0) << host.errors;
  EXPECT_TRUE(exists("out_fake_1.bin"));
  EXPECT_THAT(outputs(host, 1), Pointwise(FloatNear(kTolerance), outputs(host, 0)));
}

TEST_F(FakeEpTest, ClaimLimitsTheOperations) {
  const std::string source = model();
  // Without a MatMul kernel of its own the fake EP needs the CPU EP, which is forbidden here.
  EXPECT_NE(run_host({"option=claim=Relu,Add", "run=" + source}).exit_status, 0);
  EXPECT_NE(run_host({"run=" + source}, {{"FAKE_EP_CLAIM", "none"}}).exit_status, 0);
  EXPECT_EQ(run_host({"option=claim=Relu,Add,MatMul,Gemm", "run=" + source}, {{"FAKE_EP_CLAIM", "none"}}).exit_status,
            0);
}

TEST_F(FakeEpTest, OutputScaleIsBakedIntoTheCompiledModel) {
  const std::string source = model();
  const Ended host = run_host({"run=" + source, "option=output_scale=2", compile_step(source, "out.onnx"),
                               "option=output_scale=1", "run=" + path("out.onnx")});
  ASSERT_EQ(host.exit_status, 0) << host.errors;
  auto expected = outputs(host, 0);
  for (float& value : expected) value *= 2;
  EXPECT_THAT(outputs(host, 1), Pointwise(FloatNear(kTolerance), expected));
}

TEST_F(FakeEpTest, AChangedLastByteLoadsAndComputesWrongNumbers) {
  const std::string source = model();
  ASSERT_EQ(run_host({compile_step(source, "out.onnx")}).exit_status, 0);
  std::string blob = content("out_fake.bin");
  blob[blob.size() - 1] ^= 0x01;
  write("out_fake.bin", blob);
  const Ended host = run_host({"run=" + source, "run=" + path("out.onnx")});
  ASSERT_EQ(host.exit_status, 0) << host.errors;
  EXPECT_THAT(outputs(host, 1), Not(Pointwise(FloatNear(kTolerance), outputs(host, 0))));
}

TEST_F(FakeEpTest, ATruncatedForeignOrMissingBinaryFails) {
  const std::string source = model();
  ASSERT_EQ(run_host({compile_step(source, "out.onnx")}).exit_status, 0);
  const std::string blob = content("out_fake.bin");
  const auto open = [&](const std::string& bytes) {
    write("out_fake.bin", bytes);
    return run_host({"run=" + path("out.onnx")}).exit_status;
  };
  EXPECT_EQ(open(blob), 0);
  EXPECT_EQ(open(blob.substr(0, blob.size() - 1)), 111);
  EXPECT_EQ(open("X" + blob.substr(1)), 111);
  EXPECT_EQ(open(blob + "X"), 111);
  EXPECT_EQ(open(""), 111);
  std::filesystem::remove(path("out_fake.bin"));
  EXPECT_EQ(run_host({"run=" + path("out.onnx")}).exit_status, 111);
}

TEST_F(FakeEpTest, CompilingACompiledModelKeepsTheOldBinary) {
  const std::string source = model();
  ASSERT_EQ(run_host({compile_step(source, "first.onnx"), compile_step(path("first.onnx"), "second.onnx")}).exit_status,
            0);
  EXPECT_FALSE(exists("second_fake.bin"));
  EXPECT_THAT(content("second.onnx"), HasSubstr("first_fake.bin"));
}

TEST_F(FakeEpTest, ASourceModelIsRefusedWhereCompilingIsForbidden) {
  EXPECT_EQ(run_host({"no_compile", "run=" + model()}).exit_status, 113);
}

TEST_F(FakeEpTest, TheTraceCountsCompilesLoadsAndRuns) {
  const std::string source = model();
  const Ended host = run_host({compile_step(source, "out.onnx"), "run=" + path("out.onnx"), "unregister"},
                              {{"FAKE_EP_TRACE", path("trace")}});
  ASSERT_EQ(host.exit_status, 0) << host.errors;
  EXPECT_THAT(events(path("trace")),
              ElementsAre("register", "create_ep", "compile_begin", "compile_end", "release", "create_ep", "validate",
                          "load_begin", "load_end", "run", "release", "unregister"));
}

TEST_F(FakeEpTest, AnOrdinarySessionOnASourceCountsAsACompile) {
  ASSERT_EQ(run_host({"run=" + model()}, {{"FAKE_EP_TRACE", path("trace")}}).exit_status, 0);
  EXPECT_EQ(count_events("compile_begin"), 1);
  EXPECT_EQ(count_events("load_begin"), 0);
}

TEST_F(FakeEpTest, SessionsRunConcurrently) {
  const std::string source = model();
  const Ended host = run_host({"cpu=" + source, "threads=4," + source}, {{"FAKE_EP_TRACE", path("trace")}});
  ASSERT_EQ(host.exit_status, 0) << host.errors;
  EXPECT_EQ(count_events("compile_end"), 4);
}

TEST_F(FakeEpTest, ReportsWhatTheEnvironmentSays) {
  const Ended host = run_host({"devices"}, {{"FAKE_EP_VERSION", "7.8.9"},
                                            {"FAKE_EP_DRIVER", "32.0.1"},
                                            {"FAKE_EP_METADATA", "colour=blue;size=3"},
                                            {"FAKE_EP_DEVICES", "2"}});
  EXPECT_EQ(host.exit_status, 0) << host.errors;
  for (const char* expected : {"device fake precast tests", " version=7.8.9", " os_driver_version=32.0.1",
                               " colour=blue", " size=3", " device_index=0", " device_index=1"}) {
    EXPECT_THAT(host.output, HasSubstr(expected));
  }
  EXPECT_THAT(run_host({"devices"}).output, HasSubstr(" version=1.0.0"));
  EXPECT_THAT(run_host({"devices"}).output, Not(HasSubstr("os_driver_version")));
}

TEST_F(FakeEpTest, JudgesCompatibility) {
  EXPECT_EQ(run_host({"verdict=fake;v1", "verdict=fake;v2"}).output, "verdict 1\nverdict 3\n");
  EXPECT_EQ(run_host({"verdict=b"}, {{"FAKE_EP_COMPATIBILITY", "b"}}).output, "verdict 1\n");
  EXPECT_EQ(run_host({"verdict=b"}, {{"FAKE_EP_VERDICT", "prefer_recompile"}}).output, "verdict 2\n");
  EXPECT_EQ(run_host({"verdict=b"}, {{"FAKE_EP_VERDICT", "not_applicable"}}).output, "verdict 0\n");
}

TEST_F(FakeEpTest, TheCompiledModelCarriesTheCompatibilityString) {
  const std::string source = model();
  ASSERT_EQ(run_host({compile_step(source, "out.onnx")}, {{"FAKE_EP_COMPATIBILITY", "fake;old"}}).exit_status, 0);
  EXPECT_THAT(content("out.onnx"), HasSubstr("ep_compatibility_info.fake"));
  EXPECT_THAT(content("out.onnx"), HasSubstr("fake;old"));
  EXPECT_NE(run_host({"run=" + path("out.onnx")}).exit_status, 0);
  EXPECT_EQ(run_host({"run=" + path("out.onnx")}, {{"FAKE_EP_VERDICT", "optimal"}}).exit_status, 0);
}

TEST_F(FakeEpTest, NothingStaysMappedAfterUnregistering) {
  const Ended host = run_host({"run=" + model(), "unregister"});
  EXPECT_EQ(host.exit_status, 0) << host.errors;
  EXPECT_THAT(host.output, HasSubstr("unmapped"));
}

}  // namespace
}  // namespace precast::fake_ep::test
