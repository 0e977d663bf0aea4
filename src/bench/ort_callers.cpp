// run_callers: several threads on one session.
#include <atomic>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <system_error>
#include <thread>

#include "bench/ort_run.hpp"
#include "bench/sampler.hpp"

namespace precast::bench {

namespace {

constexpr std::chrono::milliseconds kSayEvery{100};

// What the callers of one phase share.
class Phase {
 public:
  Phase(RunPhase phase, const RunPlan& plan, const util::CancelToken& cancel, const Sampler& sampler)
      : phase_(phase), plan_(plan), cancel_(cancel), sampler_(sampler) {}

  // True until there is nothing left to begin.
  [[nodiscard]] bool take_one(const Span& own, std::uint64_t own_runs) {
    if (stop_.load(std::memory_order_relaxed) || cancel_.cancelled()) return false;
    if (phase_ == RunPhase::warmup) return own_runs < plan_.warmup;
    if (own_runs >= kMostSamples) return false;
    if (plan_.duration && own.length() && *own.length() >= *plan_.duration) return false;
    return !plan_.iterations || begun_.fetch_add(1, std::memory_order_relaxed) < *plan_.iterations;
  }

  void run(ort::BoundRun& caller, std::vector<double>& samples) {
    Span own;
    while (take_one(own, samples.size())) {
      const auto sample = sampler_.sample(caller);
      if (!sample) {
        fail(sample.error());
        break;
      }
      own.add(*sample);
      samples.push_back(sample->ms());
      last_ms_.store(sample->ms(), std::memory_order_relaxed);
      done_.fetch_add(1, std::memory_order_relaxed);
    }
    finish(own);
  }

  void fail(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
    stop_ = true;
  }

  // Until `callers` of them have finished.
  void wait(std::size_t callers, const RoundObserver& observer) {
    std::unique_lock lock(mutex_);
    while (!finished_.wait_for(lock, kSayEvery, [&] { return finished_count_ == callers; })) {
      if (observer) observer(progress(callers));
    }
  }

  [[nodiscard]] std::optional<double> wall_ms() const { return span_.length_ms(); }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  void finish(const Span& own) {
    const std::lock_guard lock(mutex_);
    span_.add(own);
    ++finished_count_;
    finished_.notify_all();
  }
  [[nodiscard]] RoundProgress progress(std::size_t callers) const {
    const std::uint64_t done = done_.load();
    const bool warmup = phase_ == RunPhase::warmup;
    return {phase_, done, warmup ? std::optional(plan_.warmup * callers) : plan_.iterations,
            done == 0 ? std::nullopt : std::optional(last_ms_.load())};
  }

  RunPhase phase_;
  const RunPlan& plan_;
  const util::CancelToken& cancel_;
  const Sampler& sampler_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> begun_ = 0;
  std::atomic<std::uint64_t> done_ = 0;
  std::atomic<double> last_ms_ = 0;

  std::mutex mutex_;  // of what follows, until all have finished
  std::condition_variable finished_;
  std::size_t finished_count_ = 0;
  Span span_;
  std::optional<Error> error_;
};

Error too_many_threads(const std::system_error& error, std::size_t wanted) {
  return {ErrorCode::busy,
          std::string("the system gives no thread for each caller: ") + error.code().message(),
          {},
          "give fewer than --concurrency " + std::to_string(wanted)};
}

// Nobody begins before everybody is there.
void run_phase(Phase& phase, std::vector<ort::BoundRun>& callers, std::vector<std::vector<double>>& samples,
               const RoundObserver& observer) {
  std::latch everybody(static_cast<std::ptrdiff_t>(callers.size()));
  std::vector<std::thread> threads;
  threads.reserve(callers.size());
  try {
    for (std::size_t i = 0; i < callers.size(); ++i) {
      threads.emplace_back([&phase, &everybody, &caller = callers[i], &own = samples[i]] {
        everybody.arrive_and_wait();
        phase.run(caller, own);
      });
    }
  } catch (const std::system_error& error) {
    phase.fail(too_many_threads(error, callers.size()));
    everybody.count_down(static_cast<std::ptrdiff_t>(callers.size() - threads.size()));
  }
  phase.wait(threads.size(), observer);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

void run_callers(TargetRun& target, const RunPlan& plan, const util::CancelToken& cancel, const RoundObserver& observer,
                 const MonotonicClock& clock) {
  const Sampler sampler(clock);
  RunTimes& times = target.times;
  times.caller_ms.resize(target.callers.size());
  std::vector<std::vector<double>> warmups(target.callers.size());
  Phase warmup(RunPhase::warmup, plan, cancel, sampler);
  run_phase(warmup, target.callers, warmups, observer);
  for (const auto& samples : warmups) times.warmup_ms.insert(times.warmup_ms.end(), samples.begin(), samples.end());
  times.warmup_wall_ms = warmup.wall_ms();
  target.error = warmup.error();
  if (target.error) return;
  Phase steady(RunPhase::steady, plan, cancel, sampler);
  run_phase(steady, target.callers, times.caller_ms, observer);
  times.steady_wall_ms = steady.wall_ms();
  target.error = steady.error();
}

}  // namespace precast::bench
