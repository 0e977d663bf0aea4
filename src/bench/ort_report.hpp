// The report of a run of a single model, or of several targets beside each other: plain data here, its names and
// printers in one table.
//
//   OrtReport report = ...;
//   std::string words = print_report(report, ReportFormat::text);
//   OrtComparison comparison{.targets = {report, other}, ...};
//   std::string file = print_report(comparison, ReportFormat::json);
//
// docs/perf-report.schema.json describes the JSON. Whatever was not measured is nullopt, and null in the report.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/fields.hpp"
#include "bench/model_check.hpp"
#include "bench/op_trace.hpp"
#include "bench/ort_run.hpp"
#include "bench/report_file.hpp"
#include "bench/report_sections.hpp"
#include "bench/statistics.hpp"
#include "precast/error.hpp"
#include "precast/tensor_info.hpp"
#include "util/time.hpp"

namespace precast::bench {

struct OrtBenchmarkInfo {
  std::string model_id;
  std::string model_path;                         // as given, absolute
  std::optional<std::string> running_model_path;  // what was really opened
  std::string requested_ep = "auto";
  std::string requested_device = "auto";
  std::optional<std::string> ep;      // ORT's name of the one that runs it
  std::optional<std::string> device;  // "cpu", "gpu", "npu": where
  std::optional<std::string> ep_source;
  std::map<std::string, std::string> ep_options;  // that took effect
  std::map<std::string, std::string> session_options;
  std::optional<std::string> simulated;  // the machine that the EP simulates here: the times say nothing of it
  std::optional<std::string> precision;  // that the EP was told
  bool compile = false;
  std::uint64_t compile_timeout_s = 1800;
  bool monitor = true;
  std::optional<std::uint64_t> iterations = 100;
  std::uint64_t warmup = 10;  // of each caller
  std::optional<double> duration_s;
  std::int64_t batch_size = 1;                       // asked for
  std::optional<std::int64_t> effective_batch_size;  // of the inputs that were fed
  std::uint64_t concurrency = 1;
  bool io_binding = true;
  std::uint64_t seed = 0;
  std::optional<std::string> input_data;
  util::WallTime timestamp;  // of the start
};

struct OrtModelInfo {
  std::vector<TensorInfo> inputs;
  std::vector<TensorInfo> outputs;
  std::vector<std::vector<std::int64_t>> fed_shapes;  // of the inputs that it was measured with, in their order
  std::optional<std::string> precision;               // of the weights
};

// Milliseconds.
struct OrtPhases {
  std::optional<double> startup;          // loading ORT
  std::optional<double> ep_registration;  // and choosing the device
  std::optional<double> identity;
  std::optional<double> lookup;
  std::optional<double> compile;
  std::optional<double> session_open;
  std::optional<double> ready;  // from the start of the process until the session was open
};

// The operators of a few runs of their own, with ORT's profiling on.
struct OpTracing {
  OpTrace trace;
  std::uint64_t top_k = 5;
};

struct OrtReport {
  std::string target;  // in a comparison: "openvino/npu"
  std::optional<Error> error;
  OrtBenchmarkInfo benchmark_info;
  OrtModelInfo model_info;
  OrtPhases phases;
  RunTimes times;   // set_times
  Summary latency;  // of all callers' measured runs
  Summary warmup_latency;
  bool raw = true;                                      // the report has every sample
  std::map<std::string, std::uint64_t> provider_nodes;  // empty: not known
  std::optional<ModelCheck> check;
  std::optional<OpTracing> op_tracing;
  MemorySection memory;
  HwMonitorSection hw_monitor;
  PrecastSection precast;
  EnvironmentSection environment;
  bool interrupted = false;  // before all of benchmark_info's runs were measured

  void set_times(RunTimes measured);  // with their summaries
};

struct OrtRatio {
  std::string a;
  std::string b;
  std::optional<double> median_ratio;  // median of a / median of b
  std::optional<double> ci95_low;
  std::optional<double> ci95_high;
};

struct OrtComparison {
  std::vector<OrtReport> targets;
  std::vector<OrtRatio> ratios;  // each target against the first
  HwMonitorSection hw_monitor;   // of all of them together
};

// schema_version, benchmark_info, model_info, latency_ms, throughput, raw_samples_ms, callers, phases_ms,
// provider_nodes, check, op_tracing, memory, hw_monitor, precast, environment, method.
[[nodiscard]] const Fields<OrtReport>& ort_fields();
// schema_version, benchmark_info (what all targets have in common), targets, ratios, hw_monitor, environment, method.
[[nodiscard]] const Fields<OrtComparison>& comparison_fields();

// Each target against the first, by the medians of the same rounds; the seed is the resampling's.
[[nodiscard]] std::vector<OrtRatio> compare_targets(const std::vector<OrtReport>& targets, std::uint64_t seed);

// "after 3 of 10 runs", of a run that was interrupted.
[[nodiscard]] std::optional<std::string> interruption(const OrtReport& report);

[[nodiscard]] std::string print_report(const OrtReport& report, ReportFormat format);
[[nodiscard]] std::string print_report(const OrtComparison& comparison, ReportFormat format);
// The same from its JSON: md and csv have a row for each target.
[[nodiscard]] std::string print_comparison(const Json& document, ReportFormat format);

}  // namespace precast::bench
