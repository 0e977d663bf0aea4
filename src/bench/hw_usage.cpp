#include "bench/hw_usage.hpp"

#include <algorithm>

namespace precast::bench {
namespace {

constexpr double kAll = 100;

double percent_of(std::uint64_t part, std::uint64_t whole) {
  return std::min(kAll * static_cast<double>(part) / static_cast<double>(whole), kAll);
}

// Counters that fell belong to something new of the same name: they say nothing.
std::uint64_t grown(std::uint64_t before, std::uint64_t now) {
  return now > before ? now - before : 0;
}

// Of the processes that were there at both moments.
std::uint64_t ticks_between(const std::map<int, ProcessUse>& before, const std::map<int, ProcessUse>& now) {
  std::uint64_t ticks = 0;
  for (const auto& [pid, use] : now) {
    const auto there = before.find(pid);
    if (there != before.end()) ticks += grown(there->second.ticks, use.ticks);
  }
  return ticks;
}

}  // namespace

void HwUsage::Mean::add(double value) {
  sum += value;
  peak = count == 0 ? value : std::max(peak, value);
  ++count;
}
std::optional<double> HwUsage::Mean::mean() const {
  return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
}
std::optional<double> HwUsage::Mean::highest() const {
  return count == 0 ? std::nullopt : std::optional(peak);
}

void HwUsage::add(HwReading reading, std::uint64_t resident) {
  if (resident > 0) {
    resident_.add(static_cast<double>(resident));
    last_resident_ = resident;
    peak_resident_ = std::max(peak_resident_.value_or(0), resident);
  }
  if (last_) compare(*last_, reading);
  last_ = std::move(reading);
}

void HwUsage::compare(const HwReading& before, const HwReading& now) {
  if (before.machine && now.machine && now.machine->total > before.machine->total) {
    const std::uint64_t total = now.machine->total - before.machine->total;
    machine_.add(percent_of(grown(before.machine->busy, now.machine->busy), total));
    process_.add(percent_of(ticks_between(before.processes, now.processes), total));
  }
  const auto wall_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now.at - before.at).count();
  if (now.engines.empty() || wall_ns <= 0) return;
  std::uint64_t busiest = 0;
  for (const auto& [name, busy] : now.engines) {
    const auto there = before.engines.find(name);
    // An engine that was not there before has only now begun to be used.
    const std::uint64_t time = grown(there == before.engines.end() ? busy : there->second, busy);
    busiest = std::max(busiest, time);
    engine_time_ns_ += time;
  }
  adapter_.add(percent_of(busiest, static_cast<std::uint64_t>(wall_ns)));
}

CpuUse HwUsage::cpu() const {
  return {.mean_pct = machine_.mean(),
          .process_mean_pct = process_.mean(),
          .peak_pct = machine_.highest(),
          .sample_count = machine_.count};
}

RamUse HwUsage::ram(std::optional<std::uint64_t> own_peak) const {
  return {.mean = resident_.mean(), .used = last_resident_, .peak = std::max(peak_resident_, own_peak)};
}

std::optional<AdapterUse> HwUsage::adapter() const {
  if (adapter_.count == 0) return std::nullopt;
  return AdapterUse{.mean_pct = adapter_.mean(), .peak_pct = adapter_.highest(), .sample_count = adapter_.count};
}

std::optional<std::uint64_t> HwUsage::engine_time_ns() const {
  return adapter_.count == 0 ? std::nullopt : std::optional(engine_time_ns_);
}

}  // namespace precast::bench
