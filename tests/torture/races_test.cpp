// Processes that meet at one store: one compile per identity, none waits for another's.
#include <algorithm>
#include <csignal>
#include <random>
#include <set>
#include <thread>

#include <gmock/gmock.h>

#include "model_generator/model_generator.hpp"
#include "store/store.hpp"
#include "support/models.hpp"
#include "support/program.hpp"

namespace precast::testing {
namespace {

using ::testing::HasSubstr;
namespace stdfs = std::filesystem;

class Races : public ::testing::Test {
 protected:
  stdfs::path tiny(std::uint64_t seed, const std::string& name = {}) {
    return make_model(folder_ / (name.empty() ? "tiny" + std::to_string(seed) + ".onnx" : name),
                      {.output = {}, .seed = seed});
  }
  std::vector<std::string> compile(const stdfs::path& model) const {
    return precast_.fake({"--json", "compile", model.native()});
  }
  std::size_t compiles() const { return count_events(precast_.trace(), "compile_begin"); }
  // Files in the store that belong to no entry, once nobody works there any more.
  std::size_t leftovers(const char* folder) const {
    const stdfs::path path = precast_.store() / folder;
    if (!stdfs::exists(path)) return 0;
    return static_cast<std::size_t>(std::distance(stdfs::directory_iterator(path), {}));
  }

  Precast precast_;
  Folder folder_;
};

TEST_F(Races, TwelveColdProcessesMakeOneCompileAndElevenHits) {
  precast_.env["FAKE_EP_FAULT"] = "slow=300@compile";
  const auto model = tiny(1);
  std::vector<std::unique_ptr<Running>> processes;
  processes.reserve(12);
  for (int i = 0; i < 12; ++i) processes.push_back(precast_.start(compile(model)));
  std::multiset<std::string> outcomes;
  std::set<std::string> generations;
  for (const auto& process : processes) {
    const Ran ran = process->wait();
    EXPECT_EQ(ran.code, 0) << ran.err;
    outcomes.insert(ran.json().value("outcome", "none"));
    generations.insert(ran.json().value("generation", "none"));
  }
  EXPECT_EQ(compiles(), 1U);
  EXPECT_EQ(outcomes.count("compiled"), 1U);
  EXPECT_EQ(outcomes.count("hit"), 11U);
  EXPECT_EQ(generations.size(), 1U);
}

TEST_F(Races, TwoIdentitiesAreCompiledAtTheSameTime) {
  precast_.env["FAKE_EP_FAULT"] = "slow=1500@compile";
  const auto first = precast_.start(compile(tiny(1)));
  const auto second = precast_.start(compile(tiny(2)));
  EXPECT_EQ(first->wait().code, 0);
  EXPECT_EQ(second->wait().code, 0);
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
  for (const TraceLine& line : read_trace(precast_.trace())) {
    if (line.event == "compile_begin") begins.push_back(line.ns);
    if (line.event == "compile_end") ends.push_back(line.ns);
  }
  ASSERT_EQ(begins.size(), 2U);
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_LT(std::ranges::max(begins), std::ranges::min(ends)) << "one waited for the other";
}

TEST_F(Races, AHitDoesNotWaitForAnotherKeysCompile) {
  const auto stored = tiny(1);
  ASSERT_EQ(precast_.run(compile(stored)).code, 0);
  precast_.env["FAKE_EP_FAULT"] = "hang@compile";
  const auto hanging = precast_.start(compile(tiny(2)));
  ASSERT_TRUE(wait_for_event(precast_.trace(), "hang"));
  const auto hit = precast_.json(precast_.fake({"compile", stored.native()}));
  EXPECT_EQ(hit["outcome"], "hit");
  hanging->signal(SIGINT);
  EXPECT_EQ(hanging->wait().code, 130);
}

TEST_F(Races, AWaiterSaysForWhomItWaits) {
  precast_.env["FAKE_EP_FAULT"] = "slow=4000@compile";
  const auto model = tiny(1);
  const auto compiler = precast_.start(compile(model));
  ASSERT_TRUE(wait_for_event(precast_.trace(), "compile_begin"));
  const auto waiter = precast_.start(compile(model));
  const Ran ran = waiter->wait();
  EXPECT_EQ(ran.json()["outcome"], "hit");
  EXPECT_THAT(ran.err, HasSubstr("waiting for pid " + std::to_string(compiler->pid())));
  EXPECT_EQ(compiler->wait().code, 0);
}

TEST_F(Races, ALockTimeoutRunsUncached) {
  precast_.env["FAKE_EP_FAULT"] = "hang@compile";
  const auto model = tiny(1);
  const auto compiler = precast_.start(compile(model));
  ASSERT_TRUE(wait_for_event(precast_.trace(), "hang"));
  const Ran ran = precast_.run(precast_.fake({"--json", "resolve", model.native(), "--lock-timeout", "100ms"}));
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.json()["outcome"], "uncached");
  EXPECT_EQ(ran.json()["path"], model.native());
  compiler->signal(SIGKILL);
  (void)compiler->wait();
}

// Ctrl-C: the worker and its children are gone, nothing is left, and the next run works.
TEST_F(Races, InterruptEndsTheWorkersGroupAndLeavesNothing) {
  const auto model = tiny(1);
  precast_.env["FAKE_EP_FAULT"] = "grandchild_setsid@compile";
  auto compiler = precast_.start(compile(model));
  ASSERT_TRUE(wait_for_event(precast_.trace(), "grandchild"));
  ASSERT_TRUE(wait_for_event(precast_.trace(), "hang"));
  compiler->signal(SIGINT);
  const Ran ran = compiler->wait();
  EXPECT_EQ(ran.code, 130) << ran.err;
  EXPECT_EQ(ran.json()["error"]["code"], "cancelled");
  compiler.reset();  // reaps it
  for (const TraceLine& line : read_trace(precast_.trace())) {
    const auto gone = [&] { return ::kill(line.pid, 0) != 0; };
    for (int i = 0; i < 500 && !gone(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(gone()) << line.event << " " << line.pid;
  }
  EXPECT_EQ(leftovers("tmp"), 0U);
  EXPECT_EQ(leftovers("leases"), 0U);
  EXPECT_EQ(leftovers("generations"), 0U);
  precast_.env.erase("FAKE_EP_FAULT");
  EXPECT_EQ(precast_.json(precast_.fake({"compile", model.native()}))["outcome"], "compiled");
}

// SIGKILL of the compiling process at random moments: never a torn entry, never a lock that stays.
TEST_F(Races, KilledAtThirtyRandomMomentsTheNextRunWorks) {
  precast_.env["FAKE_EP_FAULT"] = "slow=60@compile";
  std::mt19937 random(20261129);
  for (int i = 0; i < 30; ++i) {
    const auto model = tiny(1000U + static_cast<unsigned>(i));
    const auto victim = precast_.start(compile(model));
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 500));
    victim->signal(SIGKILL);
    (void)victim->wait();
    const auto next = precast_.json(precast_.fake({"compile", model.native(), "--lock-timeout", "60s"}));
    EXPECT_TRUE(next["outcome"] == "compiled" || next["outcome"] == "hit") << i << ": " << next.dump(2);
    EXPECT_EQ(precast_.json(precast_.fake({"compile", model.native()}))["outcome"], "hit");
  }
  EXPECT_EQ(precast_.run({"cache", "verify"}).code, 0);
}

// The same, and when the leases are free the leftovers go.
TEST_F(Races, LeftoversOfAKilledCompileGoOnceTheirLeaseIsFree) {
  precast_.env["FAKE_EP_FAULT"] = "hang@compile_after_write";
  const auto model = tiny(1);
  const auto victim = precast_.start(compile(model));
  ASSERT_TRUE(wait_for_event(precast_.trace(), "hang"));
  victim->signal(SIGKILL);
  (void)victim->wait();
  EXPECT_EQ(leftovers("tmp"), 1U);
  precast_.env.erase("FAKE_EP_FAULT");
  ASSERT_EQ(precast_.run(compile(tiny(2))).code, 0);
  EXPECT_EQ(leftovers("tmp"), 1U) << "too young to be swept";
  // The same sweep an hour later.
  auto store = store::Store::open(fs::FileSystem::posix(), {.root = precast_.store()});
  ASSERT_TRUE(store) << store.error().message;
  const auto entries = (*store)->list();
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 1U);
  (*store)->retain(entries->front().marker, std::chrono::seconds(0));
  EXPECT_EQ(leftovers("tmp"), 0U);
  EXPECT_EQ(leftovers("leases"), 1U) << "only the entry's own";
}

TEST_F(Races, ASourceSwappedWhileCompilingIsNotStoredUnderItsOldIdentity) {
  const auto model = tiny(1, "model.onnx");
  const auto other = tiny(2, "other.onnx");
  const std::string old_bytes = read_file(model);
  precast_.env["FAKE_EP_COUNTER"] = (precast_.scratch() / "counter").native();
  precast_.env["FAKE_EP_FAULT"] = "swap=" + model.native() + "," + other.native() + "@compile_late#1";
  const auto swapped = precast_.json(precast_.fake({"compile", model.native()}));
  EXPECT_EQ(swapped["outcome"], "compiled") << swapped.dump(2);
  EXPECT_EQ(compiles(), 2U);
  precast_.env.erase("FAKE_EP_FAULT");
  EXPECT_EQ(precast_.json(precast_.fake({"compile", model.native()}))["key"], swapped["key"]);
  // The first bytes were compiled once, and thrown away.
  write_file(model, old_bytes);
  const auto old = precast_.json(precast_.fake({"compile", model.native()}));
  EXPECT_EQ(old["outcome"], "compiled");
  EXPECT_NE(old["key"], swapped["key"]);
}

// A -> B -> A: the digests agree before and after, the evidence does not.
TEST_F(Races, ASourceSwappedAndSwappedBackWhileCompilingIsThrownAway) {
  const auto model = tiny(1, "model.onnx");
  const auto other = tiny(2, "other.onnx");
  precast_.env["FAKE_EP_COUNTER"] = (precast_.scratch() / "counter").native();
  precast_.env["FAKE_EP_FAULT"] = "swap_back=" + model.native() + "," + other.native() + "#1";
  const auto first = precast_.json(precast_.fake({"compile", model.native()}));
  EXPECT_EQ(first["outcome"], "compiled") << first.dump(2);
  EXPECT_GE(compiles(), 2U) << "the compile of what may have been B was kept";
}

TEST_F(Races, ASourceThatNeverHoldsStillIsCompiledFromAPrivateCopy) {
  const auto model = tiny(1, "model.onnx");
  const auto other = tiny(2, "other.onnx");
  precast_.env["FAKE_EP_FAULT"] = "swap_back=" + model.native() + "," + other.native();
  const auto json = precast_.json(precast_.fake({"compile", model.native()}));
  EXPECT_EQ(json["outcome"], "compiled") << json.dump(2);
  EXPECT_EQ(compiles(), 3U);
}

}  // namespace
}  // namespace precast::testing
