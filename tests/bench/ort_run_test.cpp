// What stands between the two readings of the clock: a real session on the fake EP, which can be slow by a known
// amount.
#include "bench/ort_run.hpp"

#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>

#include <gmock/gmock.h>

#include "bench/model_run.hpp"
#include "ort/catalog.hpp"
#include "support/models.hpp"
#include "support/program.hpp"

namespace precast::bench {
namespace {

using precast::testing::count_events;
using precast::testing::Folder;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Options = std::map<std::string, std::string>;

ort::Catalog& catalog() {
  static ort::Catalog* const made = [] {
    ::setenv("ORT_DISABLE_TELEMETRY", "1", 1);
    auto runtime =
        ort::Runtime::load({.library = std::filesystem::path(PRECAST_DEPS_DIR) / "ort/lib/libonnxruntime.so.1"});
    if (!runtime) throw std::runtime_error(runtime.error().message);
    return new ort::Catalog(*runtime, {{"fake_ep", "explicit", precast::testing::fake_ep_library(), nullptr}});
  }();
  return *made;
}

// A target with `callers` callers on tiny.
class Opened {
 public:
  explicit Opened(const Options& options = {}, std::size_t callers = 1, bool io_binding = true,
                  model_generator::Kind kind = model_generator::Kind::tiny) {
    const auto model = precast::testing::make_model(folder_ / "tiny.onnx", {.kind = kind, .output = {}});
    const auto target = catalog().choose(fs::FileSystem::posix(), {"fake_ep", {}, options}, {});
    if (!target) throw std::runtime_error(target.error().message);
    auto session = ort::open_session(catalog(), *target, {}, {.model = model});
    if (!session) throw std::runtime_error(session.error().message);
    session_ = std::move(session->session);
    inputs_ = make_inputs({}, *inputs_of(session_), {}).value();
    run.name = "fake_ep";
    for (std::size_t i = 0; i < callers; ++i) {
      auto caller = ort::BoundRun::make(session_, inputs_, io_binding, "a run failed");
      if (!caller) throw std::runtime_error(caller.error().message);
      run.callers.push_back(std::move(*caller));
    }
  }

 private:
  Folder folder_;
  Ort::Session session_{nullptr};
  tensor::Tensors inputs_;

 public:
  TargetRun run;
};

class OrtRun : public ::testing::Test {
 protected:
  OrtRun() { ::setenv("FAKE_EP_TRACE", trace().c_str(), 1); }
  ~OrtRun() override {
    ::unsetenv("FAKE_EP_TRACE");
    ::unsetenv("FAKE_EP_FAULT");
  }
  [[nodiscard]] std::filesystem::path trace() const { return folder_ / "trace"; }
  // A clock that goes on by 7 ms whenever the EP runs, and never else.
  [[nodiscard]] MonotonicClock counting_runs() const {
    return [this] { return std::chrono::milliseconds(7) * count_events(trace(), "run"); };
  }
  // A clock that goes on by 1 ms whenever it is read.
  static MonotonicClock counting_readings() {
    return [readings = std::make_shared<int>(0)] { return std::chrono::milliseconds(++*readings); };
  }
  static void rounds(std::vector<TargetRun*> targets, const RunPlan& plan, const MonotonicClock& clock,
                     const RoundObserver& observer = {}) {
    const util::CancelToken never;
    run_rounds(targets, plan, never, observer, clock);
  }

  Folder folder_;
};

TEST_F(OrtRun, TheRunAndNothingElseIsTimed) {
  Opened opened;
  run_first(opened.run, counting_runs());
  rounds({&opened.run}, {.iterations = 5, .warmup = 3}, counting_runs());
  EXPECT_FALSE(opened.run.error) << opened.run.error->message;
  EXPECT_EQ(opened.run.times.first_run_ms, 7.0);
  EXPECT_THAT(opened.run.times.warmup_ms, ElementsAre(7.0, 7.0, 7.0));
  EXPECT_THAT(opened.run.times.caller_ms, ElementsAre(ElementsAre(7.0, 7.0, 7.0, 7.0, 7.0)));
  EXPECT_EQ(count_events(trace(), "run"), 9U);
  EXPECT_EQ(opened.run.times.warmup_wall_ms, 21.0);
  EXPECT_EQ(opened.run.times.steady_wall_ms, 35.0);
}

// Two readings stand around a run with none between them, whatever the observer does meanwhile.
TEST_F(OrtRun, TheClockIsReadTwiceForASample) {
  Opened opened;
  const MonotonicClock clock = counting_readings();
  int seen = 0;
  rounds({&opened.run}, {.iterations = 4, .warmup = 2}, clock,
         [&](const RoundProgress&) { seen += clock() > clock(); });
  EXPECT_THAT(opened.run.times.caller_ms.front(), ElementsAre(1.0, 1.0, 1.0, 1.0));
  EXPECT_THAT(opened.run.times.warmup_ms, ElementsAre(1.0, 1.0));
}

TEST_F(OrtRun, WhatASlowEpTakesIsAllInTheSample) {
  Opened opened(Options{{"fault", "slow=20@compute"}});
  rounds({&opened.run}, {.iterations = 5, .warmup = 0}, {});
  EXPECT_THAT(opened.run.times.caller_ms.front(), SizeIs(5));
  EXPECT_THAT(opened.run.times.caller_ms.front(), Each(Ge(20.0)));
  EXPECT_GE(*opened.run.times.steady_wall_ms, 100.0);
}

// Where the time goes between two samples is nobody's: here the observer sleeps 15 ms before each of them.
TEST_F(OrtRun, WhatHappensBetweenTwoRunsIsInNoSample) {
  Opened opened;
  auto waited = std::chrono::nanoseconds(0);
  const MonotonicClock clock = [&] { return std::chrono::milliseconds(3) * count_events(trace(), "run") + waited; };
  rounds({&opened.run}, {.iterations = 3, .warmup = 0}, clock,
         [&](const RoundProgress&) { waited += std::chrono::milliseconds(15); });
  EXPECT_THAT(opened.run.times.caller_ms.front(), ElementsAre(3.0, 3.0, 3.0));
  EXPECT_EQ(opened.run.times.steady_wall_ms, 3 * 3.0 + 2 * 15.0);
}

TEST_F(OrtRun, TargetsRunRoundByRoundAndTakeTurnsAtBeingFirst) {
  Opened a;
  Opened b;
  Opened c;
  // The n-th reading is n * n, so the samples are 1, 5, 9, 13, ... in the order in which they were taken.
  const MonotonicClock clock = [readings = std::make_shared<int>(0)] {
    const int n = (*readings)++;
    return std::chrono::milliseconds(n * n);
  };
  std::uint64_t observed = 0;
  const auto note = [&](const RoundProgress& progress) {
    EXPECT_EQ(progress.done, observed++);
    for (const auto* one : {&a.run, &b.run, &c.run}) EXPECT_THAT(one->times.caller_ms.front(), SizeIs(progress.done));
  };
  rounds({&a.run, &b.run, &c.run}, {.iterations = 4, .warmup = 0}, clock, note);
  EXPECT_THAT(a.run.times.caller_ms.front(), ElementsAre(1.0, 21.0, 29.0, 37.0));
  EXPECT_THAT(b.run.times.caller_ms.front(), ElementsAre(5.0, 13.0, 33.0, 41.0));
  EXPECT_THAT(c.run.times.caller_ms.front(), ElementsAre(9.0, 17.0, 25.0, 45.0));
  EXPECT_EQ(observed, 4U);
  EXPECT_EQ(a.run.times.steady_wall_ms, 1.0 + 21 + 29 + 37) << "of its own runs";
}

TEST_F(OrtRun, ATargetThatFailsEndsAndTheOthersGoOn) {
  ::setenv("FAKE_EP_COUNTER", (folder_ / "counter").c_str(), 1);
  Opened good;
  Opened bad(Options{{"fault", "fail@run_start#1"}});
  rounds({&good.run, &bad.run}, {.iterations = 3, .warmup = 1}, {});
  ASSERT_TRUE(bad.run.error);
  EXPECT_THAT(bad.run.error->message, HasSubstr("a run failed"));
  EXPECT_THAT(bad.run.times.caller_ms.front(), IsEmpty());
  EXPECT_FALSE(good.run.error);
  EXPECT_THAT(good.run.times.caller_ms.front(), SizeIs(3));
  ::unsetenv("FAKE_EP_COUNTER");
}

TEST_F(OrtRun, ADurationEndsItByTheClockOfTheSamples) {
  Opened opened;
  rounds({&opened.run}, {.duration = std::chrono::milliseconds(30)}, counting_runs());
  EXPECT_THAT(opened.run.times.caller_ms.front(), SizeIs(5)) << "5 x 7 ms are the first that are 30";
  Opened limited;
  rounds({&limited.run}, {.iterations = 2, .duration = std::chrono::hours(1)}, counting_runs());
  EXPECT_THAT(limited.run.times.caller_ms.front(), SizeIs(2));
}

TEST_F(OrtRun, CancelledItKeepsWhatWasMeasured) {
  Opened opened;
  util::CancelToken cancel;
  TargetRun* const target = &opened.run;
  run_rounds(std::span(&target, 1), {.iterations = 100, .warmup = 1}, cancel, [&](const RoundProgress& progress) {
    if (progress.phase == RunPhase::steady && progress.done == 3) cancel.cancel();
  });
  EXPECT_THAT(opened.run.times.caller_ms.front(), SizeIs(4)) << "the run under way is measured to its end";
}

TEST_F(OrtRun, CallersShareTheIterationsAndWarmUpEachForItself) {
  Opened opened(Options{{"fault", "slow=5@compute"}}, 3);
  const util::CancelToken never;
  std::uint64_t of = 0;
  run_callers(opened.run, {.iterations = 120, .warmup = 2}, never,
              [&](const RoundProgress& progress) { of = std::max(of, progress.of.value_or(0)); });
  EXPECT_FALSE(opened.run.error);
  EXPECT_THAT(opened.run.times.warmup_ms, SizeIs(6));
  ASSERT_THAT(opened.run.times.caller_ms, SizeIs(3));
  EXPECT_THAT(opened.run.times.all_ms(), SizeIs(120));
  for (const auto& own : opened.run.times.caller_ms) EXPECT_THAT(own, Each(Ge(5.0)));
  // They ran at the same time: one after the other the samples would not fit into it.
  double sum = 0;
  for (const double ms : opened.run.times.all_ms()) sum += ms;
  EXPECT_LT(*opened.run.times.steady_wall_ms, sum);
  EXPECT_EQ(of, 120U) << "the observer was asked meanwhile";
}

TEST_F(OrtRun, AnErrorOfOneCallerEndsThemAll) {
  ::setenv("FAKE_EP_COUNTER", (folder_ / "counter").c_str(), 1);
  Opened opened(Options{{"fault", "fail@run_start#1"}}, 2);
  const util::CancelToken never;
  run_callers(opened.run, {.iterations = 1'000'000, .warmup = 0}, never);
  ASSERT_TRUE(opened.run.error);
  EXPECT_THAT(opened.run.error->message, HasSubstr("a run failed"));
  ::unsetenv("FAKE_EP_COUNTER");
}

TEST_F(OrtRun, OutputsOfAnotherSizeEachTimeAreMadeAnew) {
  Opened opened;
  EXPECT_FALSE(opened.run.callers.front().make_outputs_anew())
      << "its sizes are fixed: trying again would help nothing";
  Opened open({}, 1, true, model_generator::Kind::dynamic);
  EXPECT_TRUE(open.run.callers.front().make_outputs_anew());
  EXPECT_FALSE(open.run.callers.front().make_outputs_anew()) << "once is enough";
  rounds({&open.run}, {.iterations = 3, .warmup = 1}, {});
  EXPECT_FALSE(open.run.error);
  EXPECT_THAT(open.run.times.caller_ms.front(), SizeIs(3));
}

// With and without binding the same numbers come out, run after run.
TEST_F(OrtRun, TheOutputsAreThoseOfThePlainRun) {
  Opened bound;
  Opened plain({}, 1, false);
  rounds({&bound.run, &plain.run}, {.iterations = 3, .warmup = 1}, {});
  const auto one = bound.run.callers.front().outputs();
  const auto other = plain.run.callers.front().outputs();
  ASSERT_TRUE(one && other);
  ASSERT_THAT(*one, SizeIs(1));
  ASSERT_TRUE(one->front().tensor && other->front().tensor);
  EXPECT_EQ(*one->front().tensor, *other->front().tensor);
  EXPECT_EQ(one->front().name, other->front().name);
}

}  // namespace
}  // namespace precast::bench
