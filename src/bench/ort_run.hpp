// Running a model again and again, with a clock around ORT's run call and around nothing else.
//
//   TargetRun target{.name = "openvino/npu", .callers = ...};           // one BoundRun per caller
//   run_first(target, clock);
//   run_rounds(targets, {.iterations = 100, .warmup = 10}, cancel, observer, clock);
//   summarise(target.times.caller_ms.front());
//
// What prepares a run, says how far it is, or asks whether to stop stands between two samples, never inside one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ort/bound_run.hpp"
#include "precast/generation.hpp"
#include "util/cancel.hpp"

namespace precast::bench {

// Of one caller; what is measured beyond it is left out, for a sample takes memory.
inline constexpr std::uint64_t kMostSamples = 10'000'000;

struct RunPlan {
  // Measured runs: of each target, of all its callers together. With a duration: whichever ends first.
  std::optional<std::uint64_t> iterations;
  std::optional<std::chrono::nanoseconds> duration;  // of the steady state, from its first run on
  std::uint64_t warmup = 0;                          // of each caller
};

// Milliseconds.
struct RunTimes {
  std::optional<double> first_run_ms;
  std::vector<double> warmup_ms;
  std::vector<std::vector<double>> caller_ms;  // of each caller, in the order in which they ran
  // From the beginning of the first run to the end of the last; beside other targets the sum of its own runs.
  std::optional<double> warmup_wall_ms;
  std::optional<double> steady_wall_ms;
  [[nodiscard]] std::vector<double> all_ms() const;  // of all callers, one after the other
};

// A session under measurement.
struct TargetRun {
  std::string name;
  std::vector<ort::BoundRun> callers;  // at least one; more: they run at the same time
  RunTimes times = {};
  std::optional<Error> error = {};  // of its run that failed: it takes no part any more
};

enum class RunPhase : std::uint8_t { warmup, steady };
struct RoundProgress {
  RunPhase phase = RunPhase::warmup;
  std::uint64_t done = 0;           // rounds, or runs of all callers
  std::optional<std::uint64_t> of;  // nullopt: until the duration has passed
  std::optional<double> last_ms;    // the last sample
};
using RoundObserver = std::function<void(const RoundProgress&)>;

// The first run of all, by the first caller.
void run_first(TargetRun& target, const MonotonicClock& clock = {});

// Warm-up, then the steady state. In each round every target runs once, and another one is the first of it each time:
// what slows the machine down for a while slows all of them. Each target has one caller. The first error of a target
// ends it and not the others. Cancelled, it returns after the run under way. `observer` is called before every round.
void run_rounds(std::span<TargetRun* const> targets, const RunPlan& plan, const util::CancelToken& cancel,
                const RoundObserver& observer = {}, const MonotonicClock& clock = {});

// The same for one target with several callers, each in a thread of its own: they begin each phase together and share
// the iterations. `observer` is called in this thread, some ten times a second.
void run_callers(TargetRun& target, const RunPlan& plan, const util::CancelToken& cancel,
                 const RoundObserver& observer = {}, const MonotonicClock& clock = {});

}  // namespace precast::bench
