// Memory at named points, and what a background thread saw of the machine while a run went on.
//
//   MemoryMonitor memory;
//   memory.checkpoint(Checkpoint::baseline);
//   ... load ...
//   memory.phase_ends(PeakPhase::load);
//   memory.checkpoint(Checkpoint::after_compile);
//   HwMonitor hw;
//   hw.start();
//   ... a request ...
//   memory.phase_ends(PeakPhase::first_run);
//   ... requests ...
//   memory.phase_ends(PeakPhase::steady);
//   hw.stop();
//   memory.checkpoint(Checkpoint::after_inference);
//   report.memory = memory.section();
//   report.hw_monitor = hw.section("npu", memory.own_peak());
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "bench/hw_usage.hpp"
#include "bench/report_sections.hpp"

namespace precast::bench {

enum class Checkpoint : std::uint8_t { baseline, after_compile, after_inference };
enum class PeakPhase : std::uint8_t { load, first_run, steady };

// Bytes resident now of this process and its descendants; nullopt where /proc is not there. Reads all of /proc.
[[nodiscard]] std::optional<std::uint64_t> resident_bytes_now();

// Where peaks come from.
struct PeakReadings {
  std::function<std::optional<std::uint64_t>()> own = peak_resident_bytes_of_self;
  std::function<bool()> reset = reset_peak_resident;
  std::function<std::optional<std::uint64_t>()> children = peak_resident_bytes_of_children;
};

// Not thread-safe.
class MemoryMonitor {
 public:
  using Read = std::function<std::optional<std::uint64_t>()>;
  explicit MemoryMonitor(Read read = resident_bytes_now, PeakReadings peaks = {})
      : read_(std::move(read)), peak_readings_(std::move(peaks)) {}
  void checkpoint(Checkpoint point);  // a second one of the same point replaces the first
  // Its peak is that since the phase before it ended, load's since the process began; where the kernel cannot begin a
  // peak anew all but load's are null. With load's comes that of the workers, if it is larger than any this process
  // had: else it might be this process's own (peak_resident_bytes_of_children). After the first call the peak that
  // /proc has is of the phase that runs: own_peak() knows that of the process.
  void phase_ends(PeakPhase phase);
  // The most that this process had resident so far.
  [[nodiscard]] std::optional<std::uint64_t> own_peak() const;
  // The VRAM of a process is not known on Linux: null.
  [[nodiscard]] MemorySection section() const { return {.rss = rss_, .peaks = peaks_}; }

 private:
  Read read_;
  PeakReadings peak_readings_;
  MemoryCheckpoints rss_;
  MemoryPeaks peaks_;
  std::optional<std::uint64_t> highest_;  // of the phases that ended
  bool reset_ = false;                    // the last phase to end left a peak that began anew
};

// Between start() and stop() a thread takes a reading every `interval`, one at once and one at the end. It looks for
// new child processes and accelerators only once a second, for that costs the most. All calls belong to
// one thread; section() is for when it does not run.
class HwMonitor {
 public:
  explicit HwMonitor(std::chrono::milliseconds interval = std::chrono::milliseconds(100)) : interval_(interval) {}
  ~HwMonitor() { stop(); }
  HwMonitor(const HwMonitor&) = delete;
  HwMonitor& operator=(const HwMonitor&) = delete;

  // Once started again it goes on: the time in between counts as one interval. Nothing happens if it runs; if no
  // thread can be made, nothing is sampled in between.
  void start();
  void stop();  // joins; nothing happens if it does not run
  // Before the first start() everything in it is null. `device_kind`: "cpu", "gpu", "npu", or nullopt. `own_peak`: of
  // this process, which falls between two readings; a MemoryMonitor knows it where it ended phases.
  [[nodiscard]] HwMonitorSection section(std::optional<std::string> device_kind,
                                         std::optional<std::uint64_t> own_peak = peak_resident_bytes_of_self()) const;

 private:
  void sample_until_stopped();
  void take_reading();
  void look_around();

  std::chrono::milliseconds interval_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable stop_asked_;
  bool stopping_ = false;  // under mutex_

  // The thread's while there is one.
  HwUsage usage_;
  std::set<int> processes_;
  bool has_drm_ = false;
  bool has_npu_ = false;
  bool started_ = false;
  std::optional<std::chrono::steady_clock::time_point> looked_around_;
};

}  // namespace precast::bench
