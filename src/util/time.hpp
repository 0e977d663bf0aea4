// Time as the program sees it: injected, so that no test sleeps.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "precast/error.hpp"

namespace precast::util {

using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;
using SteadyTime = std::chrono::steady_clock::time_point;

// Thread-safe. The one of the system unless a test brings its own.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual WallTime now() const = 0;       // CLOCK_REALTIME
  [[nodiscard]] virtual SteadyTime steady() const = 0;  // CLOCK_MONOTONIC
  static const Clock& system();
};

[[nodiscard]] std::string format_rfc3339(WallTime time);  // "2026-11-29T16:38:35Z", UTC, whole seconds
[[nodiscard]] Result<WallTime> parse_rfc3339(std::string_view text);
// "850 ms", "12.3 s", "4 min 5 s"
[[nodiscard]] std::string format_duration(std::chrono::nanoseconds duration);
// "300", "300s", "30m", "2h", "1d", "250ms": seconds when there is no unit.
[[nodiscard]] Result<std::chrono::milliseconds> parse_duration(std::string_view text);

// Milliseconds since construction or the last lap(); for timing reports.
class Stopwatch {
 public:
  explicit Stopwatch(const Clock& clock = Clock::system()) : clock_(&clock), start_(clock.steady()) {}
  double lap_ms();  // and start again
  [[nodiscard]] double elapsed_ms() const;

 private:
  const Clock* clock_;
  SteadyTime start_;
};

}  // namespace precast::util
