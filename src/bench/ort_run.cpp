#include "bench/ort_run.hpp"

#include <algorithm>
#include <numeric>

#include "bench/sampler.hpp"

namespace precast::bench {

namespace {

bool is_over(const RunPlan& plan, std::uint64_t rounds, const Span& span) {
  if (rounds >= kMostSamples || (plan.iterations && rounds >= *plan.iterations)) return true;
  return plan.duration && span.length() && *span.length() >= *plan.duration;
}

void run_phase(std::span<TargetRun* const> targets, RunPhase phase, const RunPlan& plan,
               const util::CancelToken& cancel, const RoundObserver& observer, const Sampler& sampler) {
  Span span;
  std::optional<double> last_ms;
  const bool warmup = phase == RunPhase::warmup;
  for (std::uint64_t round = 0; !cancel.cancelled() && !is_over(plan, round, span); ++round) {
    if (observer) observer({phase, round, plan.iterations, last_ms});
    bool any = false;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      TargetRun& target = *targets[(round + i) % targets.size()];
      if (target.error) continue;
      const auto sample = sampler.sample(target.callers.front());
      if (!sample) {
        target.error = sample.error();
        continue;
      }
      any = true;
      last_ms = sample->ms();
      span.add(*sample);
      (warmup ? target.times.warmup_ms : target.times.caller_ms.front()).push_back(*last_ms);
    }
    if (!any) break;
  }
  for (TargetRun* const target : targets) {
    const auto& own = warmup ? target->times.warmup_ms : target->times.caller_ms.front();
    std::optional<double>& wall = warmup ? target->times.warmup_wall_ms : target->times.steady_wall_ms;
    if (targets.size() == 1) {
      wall = span.length_ms();
    } else if (!own.empty()) {
      wall = std::accumulate(own.begin(), own.end(), 0.0);
    }
  }
}

}  // namespace

std::vector<double> RunTimes::all_ms() const {
  std::vector<double> all;
  for (const auto& samples : caller_ms) all.insert(all.end(), samples.begin(), samples.end());
  return all;
}

void run_first(TargetRun& target, const MonotonicClock& clock) {
  const auto sample = Sampler(clock).sample(target.callers.front());
  if (sample) {
    target.times.first_run_ms = sample->ms();
  } else {
    target.error = sample.error();
  }
}

void run_rounds(std::span<TargetRun* const> targets, const RunPlan& plan, const util::CancelToken& cancel,
                const RoundObserver& observer, const MonotonicClock& clock) {
  const Sampler sampler(clock);
  for (TargetRun* const target : targets) {
    target->times.caller_ms.resize(1);
    target->times.caller_ms.front().reserve(std::min(plan.iterations.value_or(0), kMostSamples));
  }
  run_phase(targets, RunPhase::warmup, {.iterations = plan.warmup}, cancel, observer, sampler);
  run_phase(targets, RunPhase::steady, plan, cancel, observer, sampler);
}

}  // namespace precast::bench
