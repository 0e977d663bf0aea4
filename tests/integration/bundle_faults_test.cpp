// What goes wrong with a bundle's stages: the fake EP poses as QNN, which genai knows, and misbehaves as each stage's
// provider options say.
#include <csignal>
#include <random>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include "store/store.hpp"
#include "support/bundles.hpp"

namespace precast::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace stdfs = std::filesystem;
using Outcomes = std::map<std::string, std::string>;

const Outcomes kAllCompiled{
    {"embeddings", "original"}, {"context", "compiled"}, {"iterator", "compiled"}, {"lm_head", "compiled"}};

Outcomes with(const std::string& stage, const std::string& outcome, Outcomes outcomes = kAllCompiled) {
  outcomes[stage] = outcome;
  return outcomes;
}

class BundleFaults : public ::testing::Test {
 protected:
  BundleFaults() : bundle_(copy_bundle("tiny", folder_ / "bundle")) {
    precast_.env["PRECAST_FAKE_EP_TRACE"] = precast_.trace().native();
    precast_.env["PRECAST_FAKE_EP_COUNTER"] = (folder_ / "counter").native();
    for (const char* stage : {"embeddings", "context", "iterator", "lm_head"}) give(stage);
  }
  // The fake EP, with a fault or without.
  void give(const std::string& stage, const std::string& fault = {}) {
    std::map<std::string, std::string> options{{"soc_model", "60"}, {"htp_arch", "73"}};
    if (!fault.empty()) options["fault"] = fault;
    give_ep(bundle_, stage, "QNN", options);
  }
  [[nodiscard]] static std::vector<std::string> posing(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--ep-library", "QNNExecutionProvider=" + fake_ep_library().native()});
    return arguments;
  }
  [[nodiscard]] std::vector<std::string> asking(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), "--compile");
    return posing(hello(bundle_, std::move(more)));
  }
  // An answer has the right tokens whatever its stages ran on.
  struct Answer {
    Ran ran;
    nlohmann::json json;
  };
  Answer answer(std::vector<std::string> more = {}) const {
    more.emplace_back("--json");
    Answer answer{precast_.run(asking(std::move(more))), {}};
    answer.json = answer.ran.json();
    EXPECT_EQ(answer.ran.code, 0) << answer.ran.err;
    EXPECT_EQ(tokens_of(answer.json), tiny_tokens()) << answer.json.dump(2);
    return answer;
  }
  // That stage failed for that reason, its original runs on `ep`, a warning says so, and nothing else suffered.
  void expect_failed(const Answer& answer, const std::string& stage, const std::string& reason,
                     const std::string& ep = "CPUExecutionProvider") const {
    EXPECT_EQ(outcomes_of(answer.json), with(stage, "failed"));
    const auto failed = stage_of(answer.json, stage);
    EXPECT_THAT(failed.value("reason", ""), HasSubstr(reason));
    EXPECT_EQ(failed.value("ep", ""), ep);
    EXPECT_THAT(answer.ran.err, HasSubstr("precast: warning: stage '" + stage + "' runs its original"));
    EXPECT_THAT(answer.ran.err, HasSubstr(reason));
  }
  Ran refused(std::vector<std::string> arguments, int code) const {
    Ran ran = precast_.run(posing(std::move(arguments)));
    EXPECT_EQ(ran.code, code) << ran.out << ran.err;
    return ran;
  }
  [[nodiscard]] std::size_t compiles() const { return count_events(precast_.trace(), "compile_begin"); }
  [[nodiscard]] std::size_t in_store(const char* folder) const {
    const stdfs::path path = precast_.store() / folder;
    if (!stdfs::exists(path)) return 0;
    return static_cast<std::size_t>(std::distance(stdfs::directory_iterator(path), {}));
  }
  void expect_all_gone(const std::set<std::string>& events) const {
    for (const TraceLine& line : read_trace(precast_.trace())) {
      if (!events.contains(line.event)) continue;
      const auto gone = [&] { return ::kill(line.pid, 0) != 0; };
      for (int i = 0; i < 500 && !gone(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      EXPECT_TRUE(gone()) << line.event << " " << line.pid;
    }
  }

  Precast precast_;
  Folder folder_;
  stdfs::path bundle_;
};

TEST_F(BundleFaults, WithoutAFaultAllStagesAreCompiledAndThenFound) {
  EXPECT_EQ(outcomes_of(answer().json), kAllCompiled);
  EXPECT_EQ(compiles(), 3U);
  const auto second = answer();
  for (const char* stage : {"context", "iterator", "lm_head"}) EXPECT_EQ(outcomes_of(second.json)[stage], "hit");
  EXPECT_EQ(compiles(), 3U) << "something was compiled while the bundle was loaded";
}

TEST_F(BundleFaults, AHangingStageIsKilledWithItsGrandchildrenAndRunsOnTheCpu) {
  for (const char* fault : {"grandchild@compile", "grandchild_setsid@compile"}) {
    give("context", fault);
    const auto done = answer({"--compile-timeout", "2s"});
    ASSERT_TRUE(wait_for_event(precast_.trace(), "grandchild"));
    const auto failed = stage_of(done.json, "context");
    EXPECT_EQ(failed["outcome"], "failed");
    EXPECT_EQ(failed["ep"], "CPUExecutionProvider");
    EXPECT_THAT(failed.value("reason", ""), HasSubstr("within 2.0 s")) << done.json.dump(2);
    EXPECT_THAT(done.ran.err, HasSubstr("stage 'context' runs its original on the CPU: "));
    expect_all_gone({"hang", "grandchild"});
    for (const char* stage : {"iterator", "lm_head"}) EXPECT_NE(outcomes_of(done.json)[stage], "failed");
  }
}

TEST_F(BundleFaults, ACrashBeforeItsResultRunsTheOriginalOnTheCpu) {
  for (const auto& [fault, words] :
       {std::pair("segv@compile_before_write", "signal 11"), std::pair("abort@compile_after_write", "signal 6")}) {
    precast_.env["PRECAST_CACHE_DIR"] = (folder_ / fault).native();
    give("iterator", fault);
    expect_failed(answer(), "iterator", words);
  }
}

TEST_F(BundleFaults, ACrashAfterACompleteResultLosesNothing) {
  precast_.env["PRECAST_FAKE_EP_FAULT"] = "segv@unload";
  const auto done = answer();
  EXPECT_EQ(outcomes_of(done.json), kAllCompiled) << done.ran.err;
  precast_.env.erase("PRECAST_FAKE_EP_FAULT");
  EXPECT_EQ(outcomes_of(answer().json)["context"], "hit");
}

TEST_F(BundleFaults, AResultOfAnotherSourceIsRefused) {
  give("context", "other_source=SomebodyElse");
  expect_failed(answer(), "context", "SomebodyElse", "QNNExecutionProvider");
}

TEST_F(BundleFaults, AResultWithoutItsBinaryIsRefused) {
  give("lm_head", "missing_binary");
  expect_failed(answer(), "lm_head", ".bin", "QNNExecutionProvider");
}

// The EP refuses the original in this process, too: then it runs on the CPU, and nothing is compiled anew for that.
TEST_F(BundleFaults, OneOfFourThatFailsLeavesTheOthersCompiled) {
  give("iterator", "complain=not_this_stage@compile");
  const auto done = answer();
  expect_failed(done, "iterator", "not_this_stage");
  const stdfs::path derived = done.json["running_path"].get<std::string>();
  EXPECT_TRUE(derived.native().starts_with(precast_.store().native()));
  const auto config = read_config(derived);
  const auto& pipeline = config["model"]["decoder"]["pipeline"];
  EXPECT_EQ(pipeline[2]["iterator"]["filename"], "iterator.onnx");
  EXPECT_THAT(pipeline[1]["context"]["filename"].get<std::string>(), HasSubstr("precast/1-context/"));
}

TEST_F(BundleFaults, ACompiledStageThatDoesNotLoadRunsItsOriginal) {
  (void)answer();
  precast_.env["PRECAST_FAKE_EP_FAULT"] = "complain=not today@load";  // no worker is started any more
  const auto done = answer();
  for (const char* stage : {"context", "iterator", "lm_head"}) {
    const auto failed = stage_of(done.json, stage);
    EXPECT_EQ(failed["outcome"], "failed") << stage;
    EXPECT_THAT(failed.value("reason", ""), HasSubstr("its compiled model does not load: "));
    EXPECT_THAT(failed.value("reason", ""), HasSubstr("not today"));
    EXPECT_THAT(done.ran.err, HasSubstr("precast: warning: stage '" + std::string(stage) + "' runs its original"));
  }
}

TEST_F(BundleFaults, AFailureIsRememberedUntilRetried) {
  give("context", "fail@compile#1");
  expect_failed(answer(), "context", "", "QNNExecutionProvider");
  const auto second = answer();
  EXPECT_EQ(outcomes_of(second.json)["context"], "failed");
  EXPECT_THAT(stage_of(second.json, "context").value("reason", ""), HasSubstr("remembered"));
  EXPECT_EQ(outcomes_of(answer({"--retry-failed"}).json)["context"], "compiled");
  EXPECT_EQ(outcomes_of(answer().json)["context"], "hit");
}

TEST_F(BundleFaults, RebuildReachesEveryStage) {
  (void)answer();
  const auto rebuilt = answer({"--rebuild"});
  EXPECT_EQ(outcomes_of(rebuilt.json), kAllCompiled);
  EXPECT_EQ(compiles(), 6U);
}

TEST_F(BundleFaults, AnOriginalThatDoesNotLoadCausesNoSecondCompile) {
  (void)answer();
  give("iterator", "complain=not_this_stage@compile");
  for (const char* how : {"--rebuild", "--no-cache"}) {
    const std::size_t before = compiles();
    const auto done = answer({how});
    EXPECT_EQ(outcomes_of(done.json), with("iterator", "failed")) << how;
    EXPECT_EQ(compiles() - before, 4U) << how << ": three stages in workers, and the original of one in this process";
  }
}

TEST_F(BundleFaults, NoCacheReachesEveryStageAndLeavesNothing) {
  (void)answer();
  const auto before = precast_.json({"cache", "ls"})["entries"];
  const auto done = answer({"--no-cache"});
  for (const char* stage : {"context", "iterator", "lm_head"}) EXPECT_EQ(outcomes_of(done.json)[stage], "compiled");
  EXPECT_EQ(compiles(), 6U);
  EXPECT_EQ(precast_.json({"cache", "ls"})["entries"].size(), before.size());
  EXPECT_FALSE(stdfs::exists(done.json["running_path"].get<std::string>())) << "a private folder stayed";
  for (const auto& entry : stdfs::directory_iterator(precast_.scratch())) {
    EXPECT_THAT(entry.path().filename().native(), Not(HasSubstr("precast-"))) << "left in TMPDIR";
  }
}

TEST_F(BundleFaults, StrictMakesAFailedStageAnErrorWithItsCode) {
  copy_bundle("tiny", folder_ / "one");
  bundle_ = folder_ / "one";
  for (const auto& [fault, words, code] :
       {std::tuple("segv@compile", "signal 11", 1), std::tuple("hang@compile", "within 1.0 s", 6)}) {
    give("lm_head", fault);
    const Ran ran = refused(hello(bundle_, {"--compile", "--strict", "--compile-timeout", "1s"}), code);
    EXPECT_THAT(ran.err, HasSubstr("error: stage 'lm_head' of"));
    EXPECT_THAT(ran.err, HasSubstr(words));
    EXPECT_EQ(ran.out, "");
  }
}

TEST_F(BundleFaults, StrictAndPerfRefuseNodesOnTheCpu) {
  const Ran strict = refused(hello(bundle_, {"--strict"}), 1);
  EXPECT_THAT(strict.err, HasSubstr("fallback"));
  EXPECT_THAT(strict.err, HasSubstr("stage 'embeddings' of")) << "genai's words name none";
  EXPECT_THAT(strict.err, HasSubstr("precast generate says how many"));
  const Ran perf =
      refused({"perf", bundle_.native(), "--iterations", "1", "--warmup", "0", "--max-new-tokens", "2"}, 1);
  EXPECT_THAT(perf.err, HasSubstr("fallback"));
  EXPECT_FALSE(stdfs::exists(precast_.scratch() / "home/.local/state/precast/perf")) << "a report was written";
  EXPECT_EQ(precast_.run(posing(hello(bundle_))).code, 0) << "it is allowed otherwise";
}

TEST_F(BundleFaults, PerfNeverRunsAHangingStageOnTheCpuInstead) {
  give("context", "hang@compile");
  const Ran ran = refused({"perf", bundle_.native(), "--compile", "--compile-timeout", "1s", "--iterations", "1",
                           "--warmup", "0", "--max-new-tokens", "2"},
                          6);
  EXPECT_THAT(ran.err, HasSubstr("'context'"));
  EXPECT_THAT(ran.err, HasSubstr("may not run on the CPU"));
}

TEST_F(BundleFaults, TwoProcessesCompileEachStageOnce) {
  precast_.env["PRECAST_FAKE_EP_FAULT"] = "slow=300@compile";
  const auto first = precast_.start(asking({"--json"}));
  const auto second = precast_.start(asking({"--json"}));
  std::multiset<std::string> outcomes;
  std::set<std::string> folders;
  for (const auto& process : {first.get(), second.get()}) {
    const Ran ran = process->wait();
    EXPECT_EQ(ran.code, 0) << ran.err;
    const auto json = ran.json();
    EXPECT_EQ(tokens_of(json), tiny_tokens()) << json.dump(2);
    for (const auto& [stage, outcome] : outcomes_of(json)) outcomes.insert(outcome);
    folders.insert(json.value("running_path", ""));
  }
  EXPECT_EQ(compiles(), 3U);
  EXPECT_EQ(outcomes.count("compiled"), 3U);
  EXPECT_EQ(outcomes.count("hit"), 3U);
  EXPECT_EQ(folders.size(), 1U);
  EXPECT_EQ(precast_.run({"cache", "verify"}).code, 0);
}

TEST_F(BundleFaults, TwoEpsPrepareTheSameBundleAtOnce) {
  precast_.env["PRECAST_ASSUME_CPU_VENDOR"] = "intel";
  nlohmann::ordered_json config = read_config(bundle_);
  auto& pipeline = config["model"]["decoder"]["pipeline"];
  for (const auto& [at, stage] : {std::pair(1U, "context"), std::pair(2U, "iterator")}) {
    const nlohmann::ordered_json provider{
        {"OpenVINO", {{"load_config", R"({"CPU":{"INFERENCE_PRECISION_HINT":"f32"}})"}}}};
    pipeline[at][stage]["session_options"]["provider_options"].push_back(provider);
  }
  pipeline[0]["embeddings"].erase("session_options");
  pipeline[3]["lm_head"].erase("session_options");
  write_config(bundle_, config);
  for (const char* outcome : {"compiled", "hit"}) {
    const auto fake = precast_.start(asking({"--json", "--ep", "qnn"}));
    const auto real = precast_.start(asking({"--json", "--ep", "openvino"}));
    for (const auto& [process, ep] :
         {std::pair(fake.get(), "QNNExecutionProvider"), std::pair(real.get(), "OpenVINOExecutionProvider")}) {
      const Ran ran = process->wait();
      EXPECT_EQ(ran.code, 0) << ran.err;
      const auto json = ran.json();
      EXPECT_EQ(tokens_of(json), tiny_tokens()) << json.dump(2);
      EXPECT_EQ(json["ep"], ep);
      for (const char* stage : {"context", "iterator"}) EXPECT_EQ(stage_of(json, stage)["outcome"], outcome);
    }
  }
  EXPECT_EQ(compiles(), 2U);
}

// The stages are stored, so what is killed is mostly the copying; each time another file makes it another bundle.
TEST_F(BundleFaults, KilledWhileTheBundleIsPutTogetherTheNextRunWorks) {
  (void)answer();
  std::mt19937 random(20261130);
  std::string data(8U << 20U, 'x');
  for (int i = 0; i < 12; ++i) {
    data[static_cast<std::size_t>(i)] = 'y';
    write_file(bundle_ / "more.bin", data);
    const auto victim = precast_.start(asking());
    std::this_thread::sleep_for(std::chrono::milliseconds(20 + random() % 150));
    victim->signal(SIGKILL);
    (void)victim->wait();
    const auto next = answer();
    for (const char* stage : {"context", "iterator", "lm_head"}) EXPECT_EQ(outcomes_of(next.json)[stage], "hit");
    EXPECT_EQ(read_file(stdfs::path(next.json["running_path"].get<std::string>()) / "more.bin"), data);
  }
  EXPECT_EQ(compiles(), 3U);
  EXPECT_EQ(precast_.run({"cache", "verify"}).code, 0);
  // What an hour later's sweep does with work whose lease is free.
  auto store = store::Store::open(fs::FileSystem::posix(), {.root = precast_.store()});
  ASSERT_TRUE(store) << store.error().message;
  const auto entries = (*store)->list();
  ASSERT_TRUE(entries);
  ASSERT_FALSE(entries->empty());
  (*store)->retain(entries->front().marker, std::chrono::seconds(0));
  EXPECT_EQ(in_store("tmp"), 0U);
  EXPECT_EQ(precast_.run({"cache", "verify"}).code, 0);
}

}  // namespace
}  // namespace precast::testing
