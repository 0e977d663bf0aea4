// The parts of a report that both runtimes have, and their tables of fields. Whatever is not known is nullopt, and null
// in every report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bench/fields.hpp"

namespace precast::bench {

inline constexpr int kReportSchemaVersion = 2;

// Bytes in use at three points of a run.
struct MemoryCheckpoints {
  std::optional<std::uint64_t> baseline;         // before anything was loaded
  std::optional<std::uint64_t> after_compile;    // the model is ready
  std::optional<std::uint64_t> after_inference;  // after the last request
};

// Bytes that were resident at most, of one process.
struct MemoryPeaks {
  std::optional<std::uint64_t> load;  // of this process, from its start until the model was ready
  std::optional<std::uint64_t> first_run;
  std::optional<std::uint64_t> steady;   // after the first run
  std::optional<std::uint64_t> workers;  // of the largest compile worker; nullopt: none ran, or none that can be told
};

struct MemorySection {
  MemoryCheckpoints rss;  // of this process and its descendants
  MemoryPeaks peaks;
  MemoryCheckpoints vram_local;
  MemoryCheckpoints vram_shared;
};

// Of the whole machine's processors, in percent of all of them.
struct CpuUse {
  std::optional<double> mean_pct;
  std::optional<double> process_mean_pct;  // this process and its descendants
  std::optional<double> peak_pct;
  std::uint64_t sample_count = 0;
};

// Of this process and its descendants, in bytes.
struct RamUse {
  std::optional<double> mean;
  std::optional<std::uint64_t> used;  // at the end
  std::optional<std::uint64_t> peak;
};

struct AdapterUse {
  std::optional<double> mean_pct;  // busy time of its busiest engine
  std::optional<double> peak_pct;
  std::uint64_t sample_count = 0;
};

struct HwMonitorSection {
  std::optional<std::string> monitor;      // where the numbers come from: "proc", "proc+drm", "proc+npu"; nullopt: off
  std::optional<std::string> device_kind;  // "cpu", "gpu", "npu"
  CpuUse cpu;
  RamUse ram;
  std::optional<AdapterUse> adapter;
  std::optional<std::uint64_t> running_time_ns;  // of the accelerator's engines together
};

struct PrecastSection {
  std::string version;
  std::optional<std::string> outcome;  // of the cache: "hit", "compiled", ...
  std::optional<std::string> reason;
  std::optional<std::string> key;
  std::optional<std::string> generation;
  std::optional<double> compile_ms;
};

struct EnvironmentSection {
  std::optional<std::string> os;
  std::optional<std::string> cpu;
  std::optional<std::string> ort;
  std::optional<std::string> genai;
  std::optional<std::string> ep_version;
  std::optional<std::string> driver;
};

struct MethodSection {
  std::uint64_t n = 0;  // samples behind the statistics
  std::uint64_t warmup = 0;
  std::string clock = "CLOCK_MONOTONIC";
  std::optional<std::string> interrupted;  // after how much of what was to be measured
};

// nullopt for an empty text; bytes that are not UTF-8 escaped.
[[nodiscard]] std::optional<std::string> if_any(const std::string& text);

[[nodiscard]] Fields<MemorySection> memory_fields();
[[nodiscard]] Fields<HwMonitorSection> hw_monitor_fields();
[[nodiscard]] Fields<PrecastSection> precast_fields();
[[nodiscard]] Fields<EnvironmentSection> environment_fields();
[[nodiscard]] Fields<MethodSection> method_fields();

// The fields of a Report with members `memory`, `hw_monitor`, `precast` and `environment`.
template <typename Report>
void embed_common_sections(Fields<Report>& fields) {
  embed(fields, "memory", "Memory", memory_fields(), &Report::memory);
  embed(fields, "hw_monitor", "Hardware", hw_monitor_fields(), &Report::hw_monitor);
  embed(fields, "precast", "Cache", precast_fields(), &Report::precast);
  embed(fields, "environment", "Environment", environment_fields(), &Report::environment);
}

}  // namespace precast::bench
