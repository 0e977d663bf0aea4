#include <algorithm>
#include <system_error>

#include "bench/memory_monitor.hpp"

namespace precast::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::chrono::seconds kLookAroundEvery{1};

}  // namespace

std::optional<std::uint64_t> resident_bytes_now() {
  const std::uint64_t bytes = resident_bytes(read_process_uses(own_processes()));
  return bytes == 0 ? std::nullopt : std::optional(bytes);
}

void MemoryMonitor::checkpoint(Checkpoint point) {
  const auto bytes = read_();
  switch (point) {
    case Checkpoint::baseline:
      rss_.baseline = bytes;
      break;
    case Checkpoint::after_compile:
      rss_.after_compile = bytes;
      break;
    case Checkpoint::after_inference:
      rss_.after_inference = bytes;
      break;
  }
}

std::optional<std::uint64_t> MemoryMonitor::own_peak() const {
  return std::max(highest_, peak_readings_.own());
}

void MemoryMonitor::phase_ends(PeakPhase phase) {
  const auto peak = peak_readings_.own();
  highest_ = std::max(highest_, peak);
  switch (phase) {
    case PeakPhase::load:
      peaks_.load = peak;
      peaks_.workers = peak_readings_.children();
      if (peaks_.workers <= highest_) peaks_.workers.reset();
      break;
    case PeakPhase::first_run:
      if (reset_) peaks_.first_run = peak;
      break;
    case PeakPhase::steady:
      if (reset_) peaks_.steady = peak;
      break;
  }
  reset_ = peak_readings_.reset();
}

void HwMonitor::start() {
  if (thread_.joinable()) return;
  started_ = true;
  stopping_ = false;
  take_reading();
  try {
    thread_ = std::thread([this] { sample_until_stopped(); });
  } catch (const std::system_error&) {
    thread_ = {};  // the readings at start and end still give the means
  }
}

void HwMonitor::stop() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    stop_asked_.notify_all();
    thread_.join();
  } else if (!started_ || stopping_) {
    return;
  }
  stopping_ = true;
  take_reading();
}

void HwMonitor::sample_until_stopped() {
  std::unique_lock lock(mutex_);
  while (!stop_asked_.wait_for(lock, interval_, [this] { return stopping_; })) {
    lock.unlock();
    take_reading();
    lock.lock();
  }
}

void HwMonitor::look_around() {
  const auto now = SteadyClock::now();
  if (looked_around_ && now - *looked_around_ < kLookAroundEvery) return;
  looked_around_ = now;
  processes_ = own_processes();
  has_drm_ = !read_drm_engines().empty();
  has_npu_ = !read_npu_engines().empty();
}

void HwMonitor::take_reading() {
  look_around();
  HwReading reading{.machine = parse_machine_ticks(read_proc_file("/proc/stat")),
                    .processes = read_process_uses(processes_)};
  if (has_drm_) reading.engines = read_drm_engines();
  if (has_npu_) reading.engines.merge(read_npu_engines());
  reading.at = SteadyClock::now();
  const std::uint64_t resident = resident_bytes(reading.processes);
  usage_.add(std::move(reading), resident);
}

HwMonitorSection HwMonitor::section(std::optional<std::string> device_kind,
                                    std::optional<std::uint64_t> own_peak) const {
  if (!started_) return {.device_kind = std::move(device_kind)};
  std::string source = "proc";
  if (has_drm_) source += "+drm";
  if (has_npu_) source += "+npu";
  return {.monitor = std::move(source),
          .device_kind = std::move(device_kind),
          .cpu = usage_.cpu(),
          .ram = usage_.ram(own_peak),
          .adapter = usage_.adapter(),
          .running_time_ns = usage_.engine_time_ns()};
}

}  // namespace precast::bench
