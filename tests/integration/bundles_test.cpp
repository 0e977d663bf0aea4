// Bundles on real onnxruntime-genai, ORT, OpenVINO and QNN's simulator.
#include "support/bundles.hpp"

#include <sys/stat.h>

#include <gmock/gmock.h>

#include "integration/real_eps.hpp"
#include "util/text.hpp"

namespace precast::testing {
namespace {

using ::testing::HasSubstr;
namespace stdfs = std::filesystem;
using Outcomes = std::map<std::string, std::string>;

// Whoever asks for the worker's version or a compile leaves a mark.
constexpr const char* kMarkingWorker = "#!/bin/sh\necho started >> \"$PRECAST_TEST_MARK\"\nexit 1\n";

Outcomes static_stages(const std::string& outcome) {
  return {{"embeddings", "original"}, {"context", outcome}, {"iterator", outcome}, {"lm_head", "original"}};
}

// Every file of a folder with what a copy, a link or a write would change.
using Stamps = std::map<std::string, std::vector<std::int64_t>>;
Stamps stamps_of(const stdfs::path& folder) {
  Stamps stamps;
  std::vector<stdfs::path> paths{folder};
  for (const auto& entry : stdfs::recursive_directory_iterator(folder)) paths.push_back(entry.path());
  for (const stdfs::path& path : paths) {
    struct stat found{};
    EXPECT_EQ(::lstat(path.c_str(), &found), 0) << path;
    stamps[path.lexically_relative(folder).native()] = {static_cast<std::int64_t>(found.st_ino),
                                                        static_cast<std::int64_t>(found.st_nlink), found.st_ctim.tv_sec,
                                                        found.st_ctim.tv_nsec};
  }
  return stamps;
}

class Bundles : public ::testing::TestWithParam<const char*> {
 protected:
  Bundles() { precast_.env["PRECAST_ASSUME_CPU_VENDOR"] = "intel"; }
  // For the static stages OpenVINO in f32, or QNN with a Snapdragon to simulate.
  [[nodiscard]] stdfs::path bundle(const std::string& ep) const {
    return make_bundle(folder_ / ep, {"--ep", ep, "--external-data", "1024"});
  }
  nlohmann::json answer(const stdfs::path& bundle, const std::vector<std::string>& more = {}) const {
    int code = -1;
    auto json = precast_.json(hello(bundle, more), &code);
    EXPECT_EQ(code, 0) << json.dump(2);
    return json;
  }
  void expect_golden(const nlohmann::json& json, const Outcomes& outcomes) const {
    EXPECT_EQ(tokens_of(json), tiny_tokens()) << json.dump(2);
    EXPECT_EQ(outcomes_of(json), outcomes);
  }

  Precast precast_;
  Folder folder_;
};

TEST_F(Bundles, OnTheCpuTheTokensAreTheGoldenOnes) {
  expect_golden(answer(stored_bundle("tiny")), static_stages("original"));
  const auto json = answer(bundle("qnn"), {"--ep", "CPU"});
  expect_golden(json, static_stages("original"));
  EXPECT_EQ(json["ep"], "cpu");
  EXPECT_EQ(json["device"], "cpu");
}

class BundlesOn : public Bundles {};
INSTANTIATE_TEST_SUITE_P(RealEps, BundlesOn, ::testing::Values("openvino", "qnn"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(BundlesOn, TheTokensAreTheSameUncompiledExternalAndEmbedded) {
  const stdfs::path made = bundle(GetParam());
  const auto plain = answer(made, {"--strict"});
  expect_golden(plain, static_stages("original"));
  EXPECT_EQ(util::ascii_lower(plain["ep"].get<std::string>()), std::string(GetParam()) + "executionprovider");
  const auto external = answer(made, {"--compile", "--strict"});
  expect_golden(external, static_stages("compiled"));
  const auto embedded = answer(made, {"--compile", "--embed", "--strict"});
  expect_golden(embedded, static_stages("compiled"));
  for (const auto& [json, binaries] : {std::pair(external, 1), std::pair(embedded, 0)}) {
    const stdfs::path context = stdfs::path(json["running_path"].get<std::string>()) / "precast/1-context";
    int count = 0;
    for (const auto& entry : stdfs::directory_iterator(context)) count += entry.path().extension() == ".onnx" ? 0 : 1;
    EXPECT_EQ(count, binaries) << context;
    const auto facts = precast_.json({"inspect", (context / "model.onnx").native()});
    ASSERT_EQ(facts["ep_context"].size(), 1U) << facts.dump(2);
    EXPECT_EQ(facts["ep_context"][0]["embedded"], binaries == 0);
    EXPECT_EQ(facts["node_count"], 1) << "a part of the stage is left to the CPU";
  }
  EXPECT_NE(stage_of(external, "context")["key"], stage_of(embedded, "context")["key"]);
  EXPECT_NE(stage_of(external, "context")["key"], stage_of(external, "iterator")["key"]);
}

TEST_P(BundlesOn, TheSecondLoadStartsNoWorkerAndCopiesNothing) {
  const stdfs::path made = bundle(GetParam());
  const auto first = answer(made, {"--compile"});
  const stdfs::path derived = first["running_path"].get<std::string>();
  const Stamps before = stamps_of(derived);
  ASSERT_GT(before.size(), 5U);
  const stdfs::path worker = folder_ / "worker";
  write_file(worker, kMarkingWorker);
  stdfs::permissions(worker, stdfs::perms::owner_all);
  precast_.env["PRECAST_WORKER"] = worker.native();
  precast_.env["PRECAST_TEST_MARK"] = (folder_ / "mark").native();
  const auto second = answer(made, {"--compile"});
  expect_golden(second, static_stages("hit"));
  EXPECT_EQ(second["running_path"], first["running_path"]);
  EXPECT_EQ(stamps_of(derived), before);
  EXPECT_FALSE(stdfs::exists(folder_ / "mark")) << "a worker was started";
  // The mark would have been seen.
  (void)precast_.run(hello(made, {"--compile", "--rebuild"}));
  EXPECT_TRUE(stdfs::exists(folder_ / "mark"));
}

TEST_P(BundlesOn, AByteOfOneStagesWeightsRecompilesThatStageAlone) {
  const stdfs::path made = bundle(GetParam());
  const auto first = answer(made, {"--compile"});
  flip_byte_keeping_times(made / "iterator.onnx.data");
  const auto second = answer(made, {"--compile"});
  EXPECT_EQ(
      outcomes_of(second),
      (Outcomes{{"embeddings", "original"}, {"context", "hit"}, {"iterator", "compiled"}, {"lm_head", "original"}}));
  EXPECT_NE(second["running_path"], first["running_path"]);
  EXPECT_EQ(stage_of(second, "context")["key"], stage_of(first, "context")["key"]);
  EXPECT_NE(stage_of(second, "iterator")["key"], stage_of(first, "iterator")["key"]);
  // And of what is not compiled the prepared bundle has the new bytes.
  flip_byte_keeping_times(made / "lm_head.onnx.data");
  const auto third = answer(made, {"--compile"});
  EXPECT_EQ(outcomes_of(third), static_stages("hit"));
  const stdfs::path derived = third["running_path"].get<std::string>();
  EXPECT_EQ(read_file(derived / "lm_head.onnx.data"), read_file(made / "lm_head.onnx.data"));
}

TEST_P(BundlesOn, ABundleThatMayNotBeWrittenIsNotWritten) {
  const stdfs::path made = bundle(GetParam());
  for (const auto& entry : stdfs::recursive_directory_iterator(made)) {
    stdfs::permissions(entry.path(), stdfs::perms::owner_read);
  }
  stdfs::permissions(made, stdfs::perms::owner_read | stdfs::perms::owner_exec);
  const Stamps before = stamps_of(made);
  for (const char* outcome : {"compiled", "hit"}) expect_golden(answer(made, {"--compile"}), static_stages(outcome));
  EXPECT_EQ(stamps_of(made), before);
  stdfs::permissions(made, stdfs::perms::owner_all);
}

TEST_P(BundlesOn, APublishedBundleIsWholeWithoutItsOriginalAndTheStore) {
  const stdfs::path made = bundle(GetParam());
  const stdfs::path out = folder_ / "out";
  int code = -1;
  const auto json = precast_.json({"compile", made.native(), "-o", out.native()}, &code);
  EXPECT_EQ(code, 0) << json.dump(2);
  EXPECT_EQ(json["bundle_path"], out.native());
  const stdfs::path moved = folder_ / "else" / "where";
  stdfs::create_directories(moved.parent_path());
  stdfs::rename(out, moved);
  stdfs::remove_all(made);
  stdfs::remove_all(precast_.store());
  expect_golden(answer(moved), static_stages("original"));
  expect_golden(answer(moved, {"--compile"}), static_stages("precompiled"));
}

TEST_F(Bundles, TheReportOfACompiledQnnBundleIsValid) {
  const stdfs::path report = folder_ / "report.json";
  const Ran ran = precast_.run({"perf", bundle("qnn").native(), "--compile", "--iterations", "3", "--warmup", "1",
                                "--max-new-tokens", "8", "-o", report.native()});
  ASSERT_EQ(ran.code, 0) << ran.err;
  Running check(folder_.path(), (stdfs::path(PRECAST_SOURCE_DIR) / "tools/python").native(),
                {(stdfs::path(PRECAST_SOURCE_DIR) / "tools/check-report").native(), report.native()},
                {{"PRECAST_DEPS_DIR", PRECAST_DEPS_DIR}, {"PYTHONDONTWRITEBYTECODE", "1"}});
  const Ran checked = check.wait(std::chrono::seconds(60));
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
  const auto json = nlohmann::json::parse(read_file(report));
  EXPECT_EQ(json["benchmark_info"]["ep"], "QNNExecutionProvider");
  EXPECT_EQ(json["benchmark_info"]["compile"], true);
  EXPECT_EQ(json["requests"].size(), 4U);
  EXPECT_EQ(json["load"]["stages"].size(), 4U);
  EXPECT_EQ(json["load"]["stages"][1]["outcome"], "compiled");
}

TEST_F(Bundles, StdoutIsOnlyJsonAlthoughQnnPrints) {
  const stdfs::path made = bundle("qnn");
  for (const std::string more : {"--no-compile", "--compile"}) {
    const Ran ran = precast_.run(hello(made, {"--json", more}));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(tokens_of(ran.json()), tiny_tokens()) << ran.out;
  }
  const Ran text = precast_.run(hello(made));
  EXPECT_EQ(text.out, answer(stored_bundle("tiny"))["text"].get<std::string>() + "\n");
}

// Any byte may be a token there, so characters come in pieces.
TEST_F(Bundles, StreamingNeverCutsACharacter) {
  const stdfs::path made = make_bundle(folder_ / "bytes", {"--tiny-text", "bytes"});
  bool several = false;
  for (const char* count : {"1", "2", "3", "5", "8", "21", "64"}) {
    const std::vector<std::string> arguments{"generate",         made.native(), "--no-apply-template", "-p", "hello",
                                             "--max-new-tokens", count};
    const Ran text = precast_.run(arguments);
    ASSERT_EQ(text.code, 0) << text.err;
    EXPECT_TRUE(util::is_utf8(text.out)) << text.out;
    const auto json = precast_.json(arguments);
    EXPECT_EQ(text.out, json["text"].get<std::string>() + "\n");
    several |= json["token_ids"].size() > json["text"].get<std::string>().size();
    for (const char character : text.out) several |= static_cast<unsigned char>(character) >= 0x80;
  }
  EXPECT_TRUE(several) << "no character of several bytes came";
}

TEST_F(Bundles, AFlatBundleIsRerouted) {
  const auto own = answer(stored_bundle("tiny-decoder"));
  EXPECT_EQ(own["ep"], "cpu");
  // Its decoder has GroupQueryAttention and free dimensions; OpenVINO takes what it can.
  const stdfs::path made = make_bundle(folder_ / "flat", {"--layout", "decoder"});
  nlohmann::ordered_json config = read_config(made);
  const nlohmann::ordered_json provider{
      {"OpenVINO", {{"load_config", R"({"CPU":{"INFERENCE_PRECISION_HINT":"f32"}})"}}}};
  config["model"]["decoder"]["session_options"]["provider_options"] = {provider};
  write_config(made, config);
  const auto rerouted = answer(made, {"--ep", "openvino"});
  EXPECT_EQ(rerouted["ep"], "OpenVINOExecutionProvider") << rerouted.dump(2);
  EXPECT_EQ(tokens_of(rerouted), tokens_of(own));
  EXPECT_EQ(tokens_of(answer(made, {"--ep", "cpu"})), tokens_of(own));
  const auto made_up = answer(stored_bundle("tiny-decoder"), {"--ep", "openvino", "--device", "cpu"});
  EXPECT_EQ(made_up["ep"], "OpenVINOExecutionProvider") << made_up.dump(2);
  EXPECT_EQ(made_up["generated_tokens"], 16);
}

TEST_F(Bundles, ARealModelKnowsTheCapitalOfFrance) {
  const auto ask = [&](const stdfs::path& asked, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{
        "generate", asked.native(), "-p", "What is the capital of France?", "--max-new-tokens", "10"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    int code = -1;
    auto json = precast_.json(arguments, &code);
    EXPECT_EQ(code, 0) << json.dump(2);
    EXPECT_THAT(json.value("text", ""), HasSubstr("Paris"));
    return json;
  };
  const auto on_cpu = ask(stored_bundle("smollm2"), {});
  const stdfs::path made = copy_bundle("smollm2", folder_ / "smollm2");
  for (const char* stage : {"context", "iterator"}) {
    give_ep(made, stage, "OpenVINO", {{"load_config", R"({"CPU":{"INFERENCE_PRECISION_HINT":"f32"}})"}});
  }
  const auto compiled = ask(made, {"--compile"});
  EXPECT_EQ(outcomes_of(compiled), static_stages("compiled"));
  EXPECT_EQ(tokens_of(compiled), tokens_of(on_cpu));
  const auto hit = ask(made, {"--compile"});
  EXPECT_EQ(outcomes_of(hit), static_stages("hit"));
  EXPECT_EQ(tokens_of(hit), tokens_of(on_cpu));
}

}  // namespace
}  // namespace precast::testing
