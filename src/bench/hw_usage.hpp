// Readings of the machine at moments, made into what happened between them. Pure, so that tests bring their own
// readings.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>

#include "bench/proc_readings.hpp"
#include "bench/report_sections.hpp"

namespace precast::bench {

struct HwReading {
  std::chrono::steady_clock::time_point at;
  std::optional<MachineTicks> machine;
  std::map<int, ProcessUse> processes;  // this one and its descendants
  EngineTimes engines;
};

// Takes readings one after the other; each interval between two is one sample. Not thread-safe.
class HwUsage {
 public:
  // `resident`: the bytes of `reading.processes` together.
  void add(HwReading reading, std::uint64_t resident);
  // `own_peak`: of this process, as the kernel kept it, which sees what falls between two readings.
  [[nodiscard]] CpuUse cpu() const;
  [[nodiscard]] RamUse ram(std::optional<std::uint64_t> own_peak) const;
  [[nodiscard]] std::optional<AdapterUse> adapter() const;            // nullopt: no accelerator was seen
  [[nodiscard]] std::optional<std::uint64_t> engine_time_ns() const;  // of all engines

 private:
  struct Mean {
    double sum = 0;
    double peak = 0;
    std::uint64_t count = 0;
    void add(double value);
    [[nodiscard]] std::optional<double> mean() const;
    [[nodiscard]] std::optional<double> highest() const;
  };
  void compare(const HwReading& before, const HwReading& now);

  std::optional<HwReading> last_;
  Mean machine_;
  Mean process_;
  Mean adapter_;
  Mean resident_;
  std::optional<std::uint64_t> last_resident_;
  std::optional<std::uint64_t> peak_resident_;
  std::uint64_t engine_time_ns_ = 0;
};

}  // namespace precast::bench
