// The report of a run of a generation bundle: plain data here, its names and printers in one table.
//
//   GenaiReport report = ...;
//   std::string file = print_json(to_json(genai_fields(), report));
//   std::string words = print_report(report, ReportFormat::text);
//
// docs/perf-report.schema.json describes the JSON. Whatever was not measured is nullopt, and null in the report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/fields.hpp"
#include "bench/genai_timing.hpp"
#include "bench/report_file.hpp"
#include "bench/report_sections.hpp"
#include "precast/bundle_stage.hpp"
#include "util/time.hpp"

namespace precast::bench {

// One model of the bundle.
struct LoadStage {
  std::string name;
  StageOutcome outcome = StageOutcome::original;
  std::optional<std::string> reason;
  std::optional<std::string> key;
  std::optional<double> compile_seconds;
};

// Milliseconds.
struct GenaiLoad {
  std::optional<double> session_load_ms;  // all of it
  std::optional<double> ep_registration_ms;
  std::optional<double> bundle_prepare_ms;
  std::optional<double> native_load_ms;
  std::optional<double> config_create_ms;
  std::optional<double> model_create_ms;
  std::optional<double> tokenizer_create_ms;
  std::optional<double> weight_upload_estimate_ms;
  std::optional<std::string> weight_upload_estimate_source;
  std::vector<LoadStage> stages;
};

struct GenaiBenchmarkInfo {
  std::string model_id;
  std::optional<std::string> running_model_path;  // what was really loaded
  std::string bundle_dir;
  std::string ep = "cpu";         // effective: "cpu", ORT's name of the EP, or "mixed"
  std::string device = "config";  // asked for
  std::optional<std::string> effective_device;
  bool compile = true;
  std::uint64_t compile_timeout_s = 300;  // per stage
  bool monitor = true;
  std::uint64_t iterations = 10;
  std::uint64_t warmup = 2;
  std::uint64_t max_new_tokens = 128;
  bool apply_template = true;
  std::optional<std::string> prompt;  // nullopt: made-up ids
  std::optional<std::uint64_t> context_length;
  util::WallTime timestamp;  // of the start
};

struct GenaiReport {
  GenaiBenchmarkInfo benchmark_info;
  GenaiLoad load;
  std::vector<RequestTiming> requests;  // in the order in which they ran; warm-ups too
  MemorySection memory;
  HwMonitorSection hw_monitor;
  PrecastSection precast;
  EnvironmentSection environment;
  bool interrupted = false;  // before all of benchmark_info's requests were measured
};

// The whole report: schema_version, benchmark_info, load, requests, aggregate (of the timed requests), memory,
// hw_monitor, precast, environment, method. Cold TTFT is the load and the first request's TTFT, whatever its kind.
[[nodiscard]] const Fields<GenaiReport>& genai_fields();

// "after 3 of 10 requests", of a run that was interrupted.
[[nodiscard]] std::optional<std::string> interruption(const GenaiReport& report);

[[nodiscard]] std::string print_report(const GenaiReport& report, ReportFormat format);

}  // namespace precast::bench
