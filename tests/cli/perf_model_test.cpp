// precast perf MODEL as a user sees it, on the fake EP: what runs where, what its report says, and how it ends.
#include <csignal>
#include <thread>

#include <gmock/gmock.h>

#include "bench/tensor_files.hpp"
#include "cli/perf_support.hpp"

namespace precast::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
namespace stdfs = std::filesystem;
using model_generator::Kind;

using PerfModel = PerfOnFake;

TEST_F(PerfModel, WithoutCompileTheModelIsOpenedAsItIs) {
  const json one = report(on_fake(tiny()));
  EXPECT_EQ(one["precast"]["outcome"], "original");
  EXPECT_THAT(one["precast"]["reason"].get<std::string>(), HasSubstr("fake_ep may have compiled it at load"));
  EXPECT_TRUE(one["precast"]["key"].is_null());
  EXPECT_TRUE(one["phases_ms"]["compile"].is_null());
  EXPECT_FALSE(stdfs::exists(precast_.store())) << "the cache has no part in it";
  // By the EP, at load; and once more, for a session that counted its nodes would log at each run.
  EXPECT_EQ(compiles(), 2U);
  EXPECT_EQ(runs(), 1U + 2 + 5);
  EXPECT_EQ(one["benchmark_info"]["ep"], "fake_ep");
  EXPECT_EQ(one["benchmark_info"]["device"], "cpu");
  EXPECT_EQ(one["benchmark_info"]["requested_device"], "auto");
  EXPECT_EQ(one["benchmark_info"]["model_id"], "tiny");
  EXPECT_EQ(one["provider_nodes"], json({{"fake_ep", 1}}));
}

TEST_F(PerfModel, WithCompileTheSecondOneIsAHit) {
  const auto model = tiny();
  const json first = report(on_fake(model, {"--compile"}));
  EXPECT_EQ(first["precast"]["outcome"], "compiled");
  EXPECT_GT(first["precast"]["compile_ms"].get<double>(), 0);
  EXPECT_GT(first["phases_ms"]["compile"].get<double>(), 0);
  EXPECT_GT(first["memory"]["rss_peak_load_mb"].get<double>(), 0);
  const json second = report(on_fake(model, {"--compile"}));
  EXPECT_EQ(second["precast"]["outcome"], "hit");
  EXPECT_EQ(second["precast"]["key"], first["precast"]["key"]);
  EXPECT_TRUE(second["precast"]["compile_ms"].is_null()) << "null, not 0: nothing was compiled";
  EXPECT_TRUE(second["phases_ms"]["compile"].is_null());
  EXPECT_THAT(second["benchmark_info"]["running_model_path"].get<std::string>(), StartsWith(precast_.store().native()));
  EXPECT_EQ(compiles(), 1U);
}

TEST_F(PerfModel, AHundredRunsAndTenWarmUpsUnlessToldOtherwise) {
  const json one = report(precast_.fake({"perf", tiny().native()}));
  EXPECT_EQ(one["benchmark_info"]["iterations"], 100);
  EXPECT_EQ(one["benchmark_info"]["warmup"], 10);
  EXPECT_EQ(one["method"]["n"], 100);
  EXPECT_THAT(one["raw_samples_ms"], SizeIs(100));
  EXPECT_EQ(one["benchmark_info"]["batch_size"], 1);
  EXPECT_EQ(runs(), 111U);
}

TEST_F(PerfModel, ReportsEveryPhaseApart) {
  const json one = report(on_fake(tiny(), {"--compile"}));
  const json& phases = one["phases_ms"];
  for (const char* phase : {"startup", "ep_registration", "identity", "lookup", "compile", "session_open", "ready",
                            "first_run", "warmup", "steady"}) {
    EXPECT_TRUE(phases[phase].is_number()) << phase;
    EXPECT_GE(phases[phase].get<double>(), 0) << phase;
  }
  EXPECT_GE(phases["ready"].get<double>(), phases["session_open"].get<double>() + phases["compile"].get<double>());
}

TEST_F(PerfModel, StatisticsAreThoseOfTheSamples) {
  const json one = report(on_fake(tiny(), {"--ep-options", "fault=slow=3@compute"}));
  const std::vector<double> samples = one["raw_samples_ms"];
  ASSERT_THAT(samples, SizeIs(5));
  EXPECT_THAT(samples, Each(Gt(2.999)));
  double sum = 0;
  for (const double sample : samples) sum += sample;
  EXPECT_NEAR(one["latency_ms"]["mean"].get<double>(), sum / 5, 0.001);
  EXPECT_NEAR(one["latency_ms"]["max"].get<double>(), *std::ranges::max_element(samples), 0.001);
  EXPECT_NEAR(one["throughput"]["batches_per_sec"].get<double>(), 5000 / sum, 5 / sum);
  EXPECT_EQ(one["method"]["percentiles"], "linear interpolation");
  EXPECT_THAT(one["method"]["note"].get<std::string>(), HasSubstr("5 samples are too few for p90"));
  EXPECT_GE(one["latency_ms"]["warmup_mean"].get<double>(), 3);
}

TEST_F(PerfModel, OfOneSampleThereIsNoSpread) {
  const json one = report(precast_.fake({"perf", tiny().native(), "--iterations", "1"}));
  for (const char* name : {"std", "p90", "p95", "p99", "variation"})
    EXPECT_TRUE(one["latency_ms"][name].is_null()) << name;
  EXPECT_TRUE(one["latency_ms"]["p50"].is_number());
  EXPECT_THAT(one["method"]["note"].get<std::string>(), StartsWith("1 sample is too few"));
}

TEST_F(PerfModel, AnEpThatIsNotHereIsNotReplaced) {
  expect_error(perf(tiny(), {"--ep", "vitisai"}), 3, {"VitisAI"});
  expect_error(perf(tiny(), {"--ep", "nosuch"}), 2, {"nosuch"});
  expect_error(on_fake(tiny(), {"--device", "npu"}), 3, {"npu"});
}

TEST_F(PerfModel, AnEpThatGetsNoNodeIsAnErrorWithItsReason) {
  precast_.env["FAKE_EP_FAULT"] = "log_error_claim_nothing";
  expect_error(on_fake(tiny()), 3, {"fake_ep got no node", "the device is not usable"});
}

// What nobody asked for by name is only warned of, and the report says what really ran.
TEST_F(PerfModel, AnEpThatWasFoundByItselfAndGetsNoNodeIsSaid) {
  precast_.env["FAKE_EP_CLAIM"] = "none";
  precast_.env["PRECAST_EP_PATH"] = "";
  const std::vector<std::string> arguments = {"--ep-library", "openvino=" + fake_ep_library().native()};
  std::vector<std::string> all = perf(tiny());
  all.insert(all.begin(), arguments.begin(), arguments.end());
  const Ran ran = precast_.run(all);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("OpenVINOExecutionProvider got no node"));
  EXPECT_THAT(ran.out, ContainsRegex("EP +CPUExecutionProvider"));
}

TEST_F(PerfModel, AnEpThatDoesNotOpenTheModelIsNotReplacedByTheCpu) {
  expect_error(on_fake(tiny(), {"--ep-options", "fault=fail@compile"}), 1, {"fake_ep"});
  const json run = precast_.json(precast_.fake({"run", tiny().native(), "--ep-options", "fault=fail@compile"}));
  EXPECT_EQ(run["provider_nodes"], json({{"CPUExecutionProvider", 1}})) << "run says so and goes on";
}

TEST_F(PerfModel, ACompileThatFailsIsSaidAndTheSourceIsMeasured) {
  precast_.env["FAKE_EP_COUNTER"] = (folder_ / "counter").native();
  precast_.env["FAKE_EP_FAULT"] = "fail@compile#1";
  const Ran ran = precast_.run(on_fake(tiny(), {"--compile"}));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("warning: the source model runs: "));
  EXPECT_THAT(ran.out, ContainsRegex("outcome +failed"));
  EXPECT_THAT(ran.out, ContainsRegex("EP +fake_ep"));
  // Crashed or hung, it would not be safe to open in this process.
  precast_.env["FAKE_EP_FAULT"] = "segv@compile#1";
  const Ran crashed = precast_.run(on_fake(tiny(), {"--compile", "--retry-failed", "--embed"}));
  EXPECT_EQ(crashed.code, 1) << crashed.err;
  EXPECT_THAT(crashed.err, HasSubstr("fake_ep crashed or hung"));
}

TEST_F(PerfModel, NodesThatFellToTheCpuAreCounted) {
  const Ran ran = precast_.run(on_fake(tiny(Kind::two_partition)));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("2 of 3 nodes run on fake_ep, the others elsewhere"));
}

TEST_F(PerfModel, ACompileThatTakesTooLongIsExitSix) {
  precast_.env["FAKE_EP_FAULT"] = "hang@compile";
  const Ran ran = precast_.run(on_fake(tiny(), {"--compile", "--compile-timeout", "1s"}));
  EXPECT_EQ(ran.code, 6) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("--compile-timeout"));
}

TEST_F(PerfModel, OpenSizesAreGivenByNameByFileOrByBatch) {
  const auto model = tiny(Kind::dynamic);
  const auto batch = [&](const std::vector<std::string>& more) {
    return report(on_fake(model, more))["benchmark_info"]["effective_batch_size"].get<int>();
  };
  EXPECT_EQ(batch({}), 1);
  EXPECT_EQ(batch({"--batch-size", "5"}), 5);
  EXPECT_EQ(batch({"--dim", "batch=7"}), 7);
  write_file(folder_ / "shapes.json", R"({"batch": 3})");
  EXPECT_EQ(batch({"--shape-config", (folder_ / "shapes.json").native()}), 3);
  const json one = report(on_fake(model, {"--batch-size", "4"}));
  EXPECT_NEAR(one["throughput"]["samples_per_sec"].get<double>(),
              4 * one["throughput"]["batches_per_sec"].get<double>(), 0.05);
  EXPECT_EQ(one["model_info"]["input_shapes"], json::parse("[[null, 8]]"));
}

TEST_F(PerfModel, WhatInputsCannotBeIsNamed) {
  const auto model = tiny(Kind::dynamic);
  write_file(folder_ / "shapes.json", R"({"batch": 0})");
  expect_error(on_fake(model, {"--dim", "nosuch=3"}), 2, {"nosuch", "batch"});
  expect_error(on_fake(model, {"--dim", "batch=-1"}), 2, {"batch"});
  expect_error(on_fake(model, {"--dim", "batch"}), 2, {"--dim"});
  expect_error(on_fake(model, {"--shape-config", (folder_ / "shapes.json").native()}), 2, {"batch"});
  expect_error(on_fake(model, {"--shape-config", (folder_ / "missing.json").native()}), 2, {"missing.json"});
  expect_error(on_fake(model, {"--value-range", "x=3"}), 2, {"--value-range"});
  expect_error(on_fake(model, {"--input-data", (folder_ / "missing.npz").native()}), 2, {"missing.npz"});
  expect_error(on_fake(folder_ / "missing.onnx"), 2, {"missing.onnx"});
  expect_error(on_fake(model, {"--device", "config"}), 2, {"--device config is for bundles"});
  expect_error(on_fake(model, {"--duration", "soon"}), 2, {"--duration 'soon'"});
  expect_error(on_fake(model, {"--duration", "0"}), 2, {"--duration '0'"});
  expect_error(on_fake(model, {"--top-k", "3"}), 2, {"--op-tracing"});
  expect_error(on_fake(model, {"--seed", "-1"}), 2, {"--seed"});
  expect_error(on_fake(model, {"--seed", "18446744073709551616"}), 2, {"--seed"});
  expect_error(perf(model, {"--ep", "cpu", "--ep-options", "a=b"}), 2, {"takes no --ep-options"});
  expect_error(perf(model, {"--ep", "cpu,openvino"}), 2, {"--compare-ep cpu,openvino"});
  expect_error(on_fake(model, {"--validate"}), 2, {"--compile"});
  expect_error({"perf", model.native(), "--runtime", "genai"}, 2, {"is no bundle"});
  expect_error({"perf", folder_.path().native(), "--runtime", "ort"}, 2, {"is a folder, not a model"});
}

TEST_F(PerfModel, GivenInputsAreFed) {
  const auto model = tiny(Kind::dynamic);
  const std::string name = precast_.json({"inspect", model.native()})["inputs"][0]["name"];
  tensor::Tensors tensors;
  tensors[name] = {.element_type = 1, .shape = {6, 8}, .bytes = std::vector<std::byte>(192), .strings = {}};
  ASSERT_TRUE(bench::write_tensors(folder_ / "in.npz", tensors, false));
  const json one = report(on_fake(model, {"--input-data", (folder_ / "in.npz").native()}));
  EXPECT_EQ(one["benchmark_info"]["effective_batch_size"], 6);
  EXPECT_EQ(one["benchmark_info"]["input_data"], (folder_ / "in.npz").native());
}

TEST_F(PerfModel, ACheckFindsAFastWrongAnswer) {
  const json good = report(on_fake(tiny(), {"--check"}));
  EXPECT_EQ(good["check"]["ok"], true) << good["check"].dump(2);
  EXPECT_EQ(good["check"]["reference"], "CPUExecutionProvider");
  const json bad = report(on_fake(tiny(), {"--check", "--ep-options", "output_scale=-1"}), 1);
  EXPECT_EQ(bad["check"]["ok"], false);
  EXPECT_LT(bad["check"]["outputs"][0]["cosine"].get<double>(), 0);
  EXPECT_EQ(bad["method"]["n"], 5) << "what was measured is there all the same";
  EXPECT_THAT(precast_.run(on_fake(tiny(), {"--check", "--ep-options", "output_scale=-1"})).err,
              HasSubstr("an output does not agree with its reference: the report's check says which"));
}

TEST_F(PerfModel, SeveralCallersShareTheRuns) {
  const json one = report(precast_.fake({"perf", tiny().native(), "--concurrency", "3", "--iterations", "30",
                                         "--warmup", "2", "--ep-options", "fault=slow=2@compute"}));
  EXPECT_EQ(one["benchmark_info"]["concurrency"], 3);
  EXPECT_EQ(one["method"]["n"], 30);
  EXPECT_EQ(one["method"]["warmup"], 6) << "each of them warms up";
  ASSERT_THAT(one["callers"], SizeIs(3));
  std::size_t all = 0;
  for (const json& caller : one["callers"]) all += caller["n"].get<std::size_t>();
  EXPECT_EQ(all, 30U);
  const double wall = one["phases_ms"]["steady"];
  EXPECT_NEAR(one["throughput"]["batches_per_sec"].get<double>(), 30'000 / wall, 30'000 / wall * 0.01);
}

TEST_F(PerfModel, ItRunsForATime) {
  const json one = report(precast_.fake({"perf", tiny().native(), "--duration", "300ms", "--warmup", "0"}));
  EXPECT_TRUE(one["benchmark_info"]["iterations"].is_null());
  EXPECT_EQ(one["benchmark_info"]["duration_sec"], 0.3);
  EXPECT_GE(one["phases_ms"]["steady"].get<double>(), 300);
  EXPECT_TRUE(one["method"]["interrupted"].is_null());
}

TEST_F(PerfModel, InterruptedItReportsWhatWasMeasured) {
  const stdfs::path file = folder_ / "report.json";
  const auto running =
      precast_.start(precast_.fake({"perf", tiny().native(), "--iterations", "1000000", "--warmup", "0", "-o",
                                    file.native(), "--ep-options", "fault=slow=20@compute"}));
  EXPECT_TRUE(running->wait_for_words("run 1 of"));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  running->signal(SIGINT);
  const Ran ran = running->wait(std::chrono::seconds(60));
  EXPECT_EQ(ran.code, 130) << ran.err;
  const json one = json::parse(read_file(file));
  EXPECT_THAT(one["method"]["interrupted"].get<std::string>(), ::testing::MatchesRegex("after [0-9]+ of 1000000 runs"));
  EXPECT_GT(one["method"]["n"].get<int>(), 0);
  EXPECT_THAT(ran.err, HasSubstr("interrupted after"));
}

TEST_F(PerfModel, OperatorsAreTraced) {
  const json one = report(on_fake(tiny(), {"--op-tracing"}));
  EXPECT_EQ(one["op_tracing"]["runs"], 10);
  EXPECT_EQ(one["op_tracing"]["by_provider"][0]["provider"], "fake_ep");
  EXPECT_THAT(one["raw_samples_ms"], SizeIs(5)) << "traced runs are not measured";
  const auto several = tiny(Kind::two_partition);
  const json cpu = report(perf(several, {"--ep", "cpu", "--op-tracing", "--top-k", "1"}));
  ASSERT_THAT(cpu["op_tracing"]["by_type"], SizeIs(1)) << "of MatMul and FastGelu the one that takes longer";
  ASSERT_THAT(cpu["op_tracing"]["by_node"], SizeIs(1));
  const Ran text = precast_.run(perf(several, {"--ep", "cpu", "--op-tracing"}));
  EXPECT_THAT(text.out, AllOf(HasSubstr("\nOperators\n"), ContainsRegex("MatMul +CPUExecutionProvider +20 "),
                              ContainsRegex("FastGelu +CPUExecutionProvider +10 ")));
}

TEST_F(PerfModel, TracingThatGivesNothingIsExitFourWithTheReport) {
  precast_.env["TMPDIR"] = (folder_ / "missing").native();
  int code = -1;
  const json document = precast_.json(perf(tiny(), {"--ep", "cpu", "--op-tracing"}), &code);
  EXPECT_EQ(code, 4) << document.dump(2);
  EXPECT_TRUE(document["report"]["op_tracing"].is_null());
  EXPECT_EQ(document["report"]["method"]["n"], 5);
  EXPECT_THAT(document["error"]["message"].get<std::string>(), HasSubstr("missing"));
}

TEST_F(PerfModel, WithoutBindingTheCopyingPathIsMeasured) {
  const json one = report(on_fake(tiny(), {"--no-io-binding", "--check"}));
  EXPECT_EQ(one["benchmark_info"]["io_binding"], false);
  EXPECT_EQ(one["check"]["ok"], true);
}

TEST_F(PerfModel, OptionsOfBundlesAreIgnoredWithOneWarning) {
  const Ran ran = precast_.run(on_fake(tiny(), {"--max-new-tokens", "5", "--prompt", "hello", "--ignore-eos"}));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("for a model these options mean nothing and are ignored: --max-new-tokens, "
                                 "--ignore-eos, --prompt\n"));
}

TEST_F(PerfModel, ARunThatFailsIsAnErrorWithoutAReport) {
  precast_.env["FAKE_EP_FAULT"] = "fail@run_start";
  expect_error(on_fake(tiny()), 1, {"a run on fake_ep failed"});
}

TEST_F(PerfModel, TheModelMayBeAnOption) {
  EXPECT_EQ(
      report(precast_.fake({"perf", "-m", tiny().native(), "--runtime", "winml", "--iterations", "2"}))["method"]["n"],
      2);
}

TEST_F(PerfModel, AModelThatIsCompiledAlreadyIsMeasuredAsItIs) {
  const auto model = tiny();
  const stdfs::path compiled = folder_ / "compiled.onnx";
  ASSERT_EQ(precast_.run(precast_.fake({"compile", model.native(), "-o", compiled.native()})).code, 0);
  const std::size_t before = compiles();
  const json one = report(on_fake(compiled));
  EXPECT_EQ(one["precast"]["outcome"], "precompiled");
  EXPECT_EQ(compiles(), before) << "nothing was compiled";
  expect_error({"perf", compiled.native(), "--ep-library", "fake_ep=" + fake_ep_library().native(), "--ep", "fake_ep",
                "--check"},
               2, {"there is no source to check it against"});
}

}  // namespace
}  // namespace precast::testing
