// precast run, and --validate, as a user sees them.
#include <gmock/gmock.h>

#include "bench/tensor_files.hpp"
#include "support/models.hpp"
#include "support/program.hpp"
#include "tensor/generate.hpp"

namespace precast::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace stdfs = std::filesystem;

class RunCommand : public ::testing::Test {
 protected:
  stdfs::path tiny(model_generator::Kind kind = model_generator::Kind::tiny) {
    return make_model(folder_ / "tiny.onnx", {.kind = kind, .output = {}});
  }
  [[nodiscard]] std::vector<std::string> run(const stdfs::path& model, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"run", model.native()});
    return precast_.fake(std::move(more));
  }
  [[nodiscard]] std::vector<std::string> compile(const stdfs::path& model, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"compile", model.native()});
    return precast_.fake(std::move(more));
  }
  void expect_error(const std::vector<std::string>& arguments, int code, const std::string& words) {
    const Ran ran = precast_.run(arguments);
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(words));
    EXPECT_EQ(ran.out, "");
  }
  [[nodiscard]] bool stored() const {
    return stdfs::exists(precast_.store() / "generations") && !stdfs::is_empty(precast_.store() / "generations");
  }

  Precast precast_;
  Folder folder_;
};

TEST_F(RunCommand, TheSameSeedGivesTheSameOutputsAndAHitTheSecondTime) {
  const auto model = tiny();
  const auto first = precast_.json(run(model));
  EXPECT_EQ(first["outcome"], "compiled") << first.dump(2);
  EXPECT_EQ(first["command"], "run");
  ASSERT_EQ(first["outputs"].size(), 1U);
  const auto& output = first["outputs"][0];
  EXPECT_EQ(output["dtype"], "float32");
  EXPECT_EQ(output["shape"], nlohmann::json({1, 8}));
  EXPECT_LE(output["min"].get<double>(), output["mean"].get<double>());
  EXPECT_LE(output["mean"].get<double>(), output["max"].get<double>());
  EXPECT_EQ(output["sha256"].get<std::string>().size(), 64U);
  EXPECT_EQ(first["provider_nodes"], nlohmann::json({{"fake_ep", 1}}));
  EXPECT_TRUE(first["check"].is_null());
  EXPECT_EQ(first["optimization_level"], "disable") << "of the compile";
  EXPECT_GT(first["timings_ms"]["run"].get<double>(), 0);
  const auto second = precast_.json(run(model));
  EXPECT_EQ(second["outcome"], "hit");
  EXPECT_EQ(second["outputs"], first["outputs"]);
  EXPECT_NE(precast_.json(run(model, {"--seed", "7"}))["outputs"], first["outputs"]);
  EXPECT_EQ(count_events(precast_.trace(), "compile_begin"), 1U);
}

TEST_F(RunCommand, ATableForPeopleOnStdout) {
  const Ran ran = precast_.run(run(tiny(), {"--check"}));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(StartsWith("output"), HasSubstr("float32"), HasSubstr("[1, 8]"), HasSubstr("ok")));
  EXPECT_THAT(ran.err, HasSubstr("fake_ep: 1 nodes"));
}

TEST_F(RunCommand, ACheckFindsWrongNumbers) {
  const auto model = tiny();
  const auto good = precast_.json(run(model, {"--check"}));
  EXPECT_EQ(good["check"]["ok"], true) << good.dump(2);
  EXPECT_LT(good["check"]["outputs"][0]["max_abs"].get<double>(), 1e-4);
  int code = -1;
  const auto bad = precast_.json(run(model, {"--check", "--ep-options", "output_scale=-1"}), &code);
  EXPECT_EQ(code, 1);
  EXPECT_EQ(bad["check"]["ok"], false);
  EXPECT_LT(bad["check"]["outputs"][0]["cosine"].get<double>(), 0);
  EXPECT_THAT(bad["check"]["outputs"][0].value("reason", ""), HasSubstr("cosine"));
  // What points the same way and is not as long is wrong too.
  const auto scaled = precast_.json(run(model, {"--check", "--ep-options", "output_scale=1.5"}), &code);
  EXPECT_EQ(code, 1);
  EXPECT_EQ(scaled["check"]["ok"], false);
  EXPECT_NEAR(scaled["check"]["outputs"][0]["scale"].get<double>(), 1.5, 1e-3);
  EXPECT_NEAR(scaled["check"]["outputs"][0]["max_rel"].get<double>(), 0.5, 1e-3);
  EXPECT_THAT(scaled["check"]["outputs"][0].value("reason", ""), HasSubstr("1.5 times as large"));
  const auto close = precast_.json(run(model, {"--check", "--ep-options", "output_scale=1.05"}));
  EXPECT_EQ(close["check"]["ok"], true) << "lower precision does that much";
}

TEST_F(RunCommand, OutputsAreWrittenAndReadBackAsInputs) {
  const auto model = tiny();
  const auto out = folder_ / "out.npz";
  const auto json = precast_.json(run(model, {"--output-data", out.native()}));
  ASSERT_TRUE(stdfs::exists(out)) << json.dump(2);
  const std::string name = json["outputs"][0]["name"];
  auto read = bench::read_tensors(out, {});
  ASSERT_TRUE(read) << read.error().message;
  const tensor::Tensor& tensor = read->at(name).tensor;
  EXPECT_EQ(tensor.shape, (std::vector<std::int64_t>{1, 8}));
  expect_error(run(model, {"--output-data", out.native()}), 2, "out.npz");
  EXPECT_EQ(precast_.run(run(model, {"--output-data", out.native(), "--overwrite"})).code, 0);
  // The input has another name than the output; with its own it is taken.
  expect_error(run(model, {"--input-data", out.native()}), 2, name);
  const auto inputs = precast_.json({"inspect", model.native()});
  const std::string input = inputs["inputs"][0]["name"];
  const auto in = folder_ / "in";
  ASSERT_TRUE(bench::write_tensors(in, {{input, tensor}}, false));
  const auto fed = precast_.json(run(model, {"--input-data", in.native()}));
  EXPECT_EQ(fed["outcome"], "hit") << fed.dump(2);
  EXPECT_NE(fed["outputs"][0]["sha256"], json["outputs"][0]["sha256"]);
}

TEST_F(RunCommand, GivenInputsThatDoNotFitAreNamed) {
  const auto model = tiny();
  const std::string input = precast_.json({"inspect", model.native()})["inputs"][0]["name"];
  const auto data = [&](const tensor::Tensors& tensors, const std::string& folder) {
    EXPECT_TRUE(bench::write_tensors(folder_ / folder, tensors, false));
    return run(model, {"--input-data", (folder_ / folder).native()});
  };
  tensor::Tensors made = *tensor::generate_inputs(
      std::vector<tensor::InputSpec>{
          {input, 1, {1, 8}, {}, {}}, {"double", 11, {1, 8}, {}, {}}, {"long", 1, {1, 9}, {}, {}}},
      {});
  expect_error(data({{input, made["double"]}}, "dtype"), 2, "float64");
  expect_error(data({{input, made["long"]}}, "shape"), 2, "[1, 9]");
  expect_error(data({{"other", made[input]}}, "name"), 2, "'other'");
  expect_error(run(model, {"--input-data", (folder_ / "missing.npz").native()}), 2, "missing.npz");
  expect_error(run(model, {"--input-data", (folder_ / "dtype").native(), "--dim", "batch=2"}), 2, "--input-data");
  expect_error(run(model, {"--input-data", ""}), 2, "the value is empty");
  expect_error(run(model, {"--output-data", ""}), 2, "the value is empty");
}

TEST_F(RunCommand, OpenSizesAreGivenByNameByFileOrByBatch) {
  const auto model = tiny(model_generator::Kind::dynamic);
  const auto shape = [&](const std::vector<std::string>& more) {
    return precast_.json(run(model, more))["outputs"][0]["shape"].dump();
  };
  EXPECT_EQ(shape({}), "[1,8]");
  EXPECT_EQ(shape({"--batch-size", "5"}), "[5,8]");
  EXPECT_EQ(shape({"--dim", "batch=3"}), "[3,8]");
  write_file(folder_ / "shapes.json", R"({"batch": 4})");
  EXPECT_EQ(shape({"--shape-config", (folder_ / "shapes.json").native()}), "[4,8]");
  expect_error(run(model, {"--dim", "height=3"}), 2, "'height'");
  expect_error(run(model, {"--dim", "batch"}), 2, "--dim 'batch'");
  expect_error(run(model, {"--value-range", "x=2:1"}), 2, "--value-range 'x=2:1'");
  write_file(folder_ / "bad.json", R"({"batch": -4})");
  expect_error(run(model, {"--shape-config", (folder_ / "bad.json").native()}), 2, "'batch' is not a positive size");
  write_file(folder_ / "broken.json", "{");
  expect_error(run(model, {"--shape-config", (folder_ / "broken.json").native()}), 2, "not a JSON object");
  expect_error(run(model, {"--shape-config", (folder_ / "none.json").native()}), 2, "none.json");
}

TEST_F(RunCommand, AFreeDimensionIsFixedForTheCompileAndIsPartOfTheIdentity) {
  const auto model = tiny(model_generator::Kind::dynamic);
  const auto open = precast_.json(run(model));
  const auto fixed = precast_.json(run(model, {"--free-dimension", "batch=3", "--check"}));
  EXPECT_EQ(fixed["outputs"][0]["shape"].dump(), "[3,8]") << fixed.dump(2);
  EXPECT_EQ(fixed["check"]["ok"], true);
  EXPECT_NE(fixed["key"], open["key"]);
  expect_error(run(model, {"--free-dimension", "batch=0"}), 2, "--free-dimension 'batch=0'");
}

TEST_F(RunCommand, AnEpThatWasNamedAndGotNoNodeIsAnError) {
  expect_error(run(tiny(), {"--ep-options", "claim=none"}), 3, "fake_ep got no node");
}

TEST_F(RunCommand, TheSourceRunsWithOneWarningWhereNothingIsCompiled) {
  precast_.env["FAKE_EP_FAULT"] = "bad_reference=absolute";
  const auto model = tiny();
  const Ran ran = precast_.run(run(model));
  EXPECT_EQ(ran.code, 0) << ran.err;
  const std::size_t warned = ran.err.find("the source model runs");
  EXPECT_NE(warned, std::string::npos) << ran.err;
  EXPECT_EQ(ran.err.find("the source model runs", warned + 1), std::string::npos) << "once";
  EXPECT_FALSE(precast_.json(run(model)).contains("error")) << "it ran";
  EXPECT_EQ(precast_.run(run(model, {"--strict"})).code, 1);
  EXPECT_EQ(precast_.json(run(model))["optimization_level"], "all") << "of a session on the source";
  EXPECT_EQ(precast_.json(run(model, {"--retry-failed", "--optimization-level", "basic"}))["optimization_level"],
            "all");
}

TEST_F(RunCommand, APrivateGenerationIsGoneAfterwards) {
  const auto json = precast_.json(run(tiny(), {"--no-cache"}));
  EXPECT_EQ(json["outcome"], "uncached") << json.dump(2);
  EXPECT_FALSE(stdfs::exists(json["path"].get<std::string>()));
  EXPECT_FALSE(stdfs::exists(precast_.store())) << "the store is not even made";
}

TEST_F(RunCommand, AModelThatIsCompiledHasNothingToCheckAgainst) {
  const auto out = folder_ / "net.onnx";
  ASSERT_EQ(precast_.run(compile(tiny(), {"-o", out.native()})).code, 0);
  EXPECT_EQ(precast_.json(run(out))["outcome"], "precompiled");
  expect_error(run(out, {"--check"}), 2, "no source to check it against");
}

class Validate : public RunCommand {};

TEST_F(Validate, WhatAgreesIsStored) {
  const auto model = tiny();
  const auto json = precast_.json(compile(model, {"--validate"}));
  EXPECT_EQ(json["outcome"], "compiled") << json.dump(2);
  EXPECT_THAT(json.value("validation", ""), HasSubstr("agrees"));
  const auto hit = precast_.json(compile(model, {"--validate"}));
  EXPECT_EQ(hit["outcome"], "hit");
  EXPECT_THAT(hit.value("validation", ""), HasSubstr("agrees"));
  EXPECT_TRUE(precast_.json(compile(model))["validation"].is_null()) << "off by default";
}

TEST_F(Validate, WhatComputesSomethingElseIsNotStoredAndRemembered) {
  for (const char* scale : {"-1", "nan"}) {
    const auto model = tiny();
    const std::vector<std::string> wrong{"--ep-options", std::string("output_scale=") + scale};
    auto arguments = wrong;
    arguments.emplace_back("--validate");
    int code = -1;
    const auto json = precast_.json(compile(model, arguments), &code);
    EXPECT_EQ(code, 1) << scale;
    EXPECT_EQ(json["outcome"], "failed") << json.dump(2);
    EXPECT_THAT(json["error"].value("message", ""), HasSubstr("computes something else"));
    EXPECT_FALSE(stored());
    EXPECT_THAT(precast_.json(compile(model, wrong))["error"].value("message", ""), HasSubstr("remembered"));
  }
}

TEST_F(Validate, AStoredOneThatComputesSomethingElseIsWithdrawn) {
  const auto model = tiny();
  const std::vector<std::string> wrong{"--ep-options", "output_scale=-1"};
  EXPECT_EQ(precast_.json(compile(model, wrong))["outcome"], "compiled");
  auto arguments = wrong;
  arguments.emplace_back("--validate");
  EXPECT_EQ(precast_.json(compile(model, arguments))["outcome"], "failed");
  EXPECT_EQ(precast_.json(compile(model, wrong))["outcome"], "failed") << "it is not served any more";
  EXPECT_EQ(precast_.json({"cache", "ls"})["entries"].size(), 0U);
}

TEST_F(Validate, WhatCannotBeRunIsStoredWithANote) {
  for (const char* fault : {"fail@compute", "segv@compute", "exit=0@compute"}) {
    precast_.env["FAKE_EP_FAULT"] = fault;
    const auto json = precast_.json(compile(tiny(), {"--validate", "--rebuild"}));
    EXPECT_EQ(json["outcome"], "compiled") << fault << json.dump(2);
    EXPECT_THAT(json.value("validation", ""), StartsWith("not validated: ")) << fault;
  }
}

}  // namespace
}  // namespace precast::testing
