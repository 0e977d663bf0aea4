// One timed run, and the time that several of them took together.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "ort/bound_run.hpp"
#include "precast/generation.hpp"

namespace precast::bench {

struct TimedRun {
  std::chrono::nanoseconds begin{};
  std::chrono::nanoseconds end{};
  [[nodiscard]] double ms() const { return std::chrono::duration<double, std::milli>(end - begin).count(); }
};

// From the beginning of the first run to the end of the last.
class Span {
 public:
  void add(const TimedRun& run) { add(run.begin, run.end); }
  void add(const Span& other) {
    if (other.begin_) add(*other.begin_, other.end_);
  }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> length() const {
    return begin_ ? std::optional(end_ - *begin_) : std::nullopt;
  }
  [[nodiscard]] std::optional<double> length_ms() const {
    const auto whole = length();
    return whole ? std::optional(std::chrono::duration<double, std::milli>(*whole).count()) : std::nullopt;
  }

 private:
  void add(std::chrono::nanoseconds begin, std::chrono::nanoseconds end) {
    begin_ = std::min(begin_.value_or(begin), begin);
    end_ = std::max(end_, end);
  }
  std::optional<std::chrono::nanoseconds> begin_;
  std::chrono::nanoseconds end_{};
};

// Thread-safe if the clock is.
class Sampler {
 public:
  explicit Sampler(const MonotonicClock& clock) : clock_(clock) {}

  [[nodiscard]] Result<TimedRun> sample(ort::BoundRun& run) const {
    auto timed = sample_once(run);
    return timed || !run.make_outputs_anew() ? timed : sample_once(run);
  }

 private:
  [[nodiscard]] Result<TimedRun> sample_once(ort::BoundRun& run) const {
    run.prepare();
    TimedRun timed;
    timed.begin = now();
    OrtStatus* const status = run.run();
    timed.end = now();
    if (auto good = run.check(status); !good) return std::unexpected(std::move(good.error()));
    return timed;
  }
  [[nodiscard]] std::chrono::nanoseconds now() const {
    return clock_ ? clock_() : std::chrono::steady_clock::now().time_since_epoch();
  }
  const MonotonicClock& clock_;  // empty: the system's
};

}  // namespace precast::bench
