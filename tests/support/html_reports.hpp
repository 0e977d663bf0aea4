// Reports for the HTML page: of every kind and with what is hard to draw. Their numbers are made up, and the same each
// time.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "bench/fields.hpp"
#include "bench/genai_report.hpp"
#include "support/genai_reports.hpp"
#include "support/ort_reports.hpp"

namespace precast::bench {

struct SampleReport {
  std::vector<Field> fields;
  Json json;
};

// Ends a <script>, a comment, a string and a line; the last byte is not UTF-8.
inline const std::string kHostile =
    "</script><script>document.title = 'gone'</script><!-- <img src=x onerror=alert(1)> \"'&amp; "
    "\xE2\x80\xA8\xE2\x80\xA9 "
    "{{report}} \xff";

inline std::vector<double> sample_latencies(std::size_t count, double typical_ms, unsigned seed) {
  std::mt19937 random(seed);
  const auto uniform = [&random] { return static_cast<double>(random()) / 4294967296.0; };
  std::vector<double> samples;
  for (std::size_t i = 0; i < count; ++i) {
    const double slow = uniform() < 0.02 ? 1 + uniform() : 0;
    const double value = typical_ms * (1 + 0.05 * (uniform() + uniform() + uniform() - 1.5) + 0.2 * slow);
    samples.push_back(std::round(value * 1000) / 1000);
  }
  return samples;
}

inline OrtReport measured_report(const std::string& model, const std::string& ep,
                                 std::vector<std::vector<double>> samples) {
  OrtReport report = full_ort_report();
  report.benchmark_info.model_id = model;
  report.benchmark_info.running_model_path = "/home/somebody/.cache/precast/generations/ab12cd34/model.onnx";
  report.benchmark_info.ep = ep;
  report.phases.compile = 2403.75;
  report.set_times({.first_run_ms = 31.5,
                    .warmup_ms = {31.5, 9.25, 8.5, 8.375, 8.25},
                    .caller_ms = std::move(samples),
                    .warmup_wall_ms = 66,
                    .steady_wall_ms = 850});
  report.op_tracing.reset();
  return report;
}

inline SampleReport as_sample(const OrtReport& report) {
  return {descriptions(ort_fields()), to_json(ort_fields(), report)};
}

inline SampleReport model_report(std::size_t samples) {
  return as_sample(
      measured_report("all-MiniLM-L6-v2", "OpenVINOExecutionProvider", {sample_latencies(samples, 8.25, 1)}));
}

// Of three callers, with operators.
inline SampleReport traced_report() {
  std::vector<std::vector<double>> callers;
  callers.reserve(3);
  for (unsigned caller = 0; caller < 3; ++caller) callers.push_back(sample_latencies(100, 9.0 + caller, caller));
  OrtReport report = measured_report("all-MiniLM-L6-v2", "CPUExecutionProvider", std::move(callers));
  report.op_tracing = OpTracing{.trace = sample_trace(), .top_k = 5};
  for (const char* op : {"MatMulInteger", "LayerNormalization", "Softmax", "DynamicQuantizeLinear"}) {
    const double total_ms = 400.0 / static_cast<double>(op[0] - 'A' + 1);
    report.op_tracing->trace.by_type.push_back({op, "", "CPUExecutionProvider", 100, total_ms, total_ms / 100, 10});
  }
  return as_sample(report);
}

// Three targets that were measured, one that failed.
inline SampleReport comparison_report() {
  OrtComparison comparison;
  const std::vector<std::pair<std::string, double>> targets = {{"cpu", 8.25}, {"openvino", 5.5}, {"xnnpack", 9.75}};
  unsigned seed = 1;
  for (const auto& [name, typical] : targets) {
    comparison.targets.push_back(measured_report("all-MiniLM-L6-v2", name, {sample_latencies(120, typical, seed++)}));
    comparison.targets.back().target = name;
  }
  comparison.targets.push_back(sample_comparison().targets.back());
  comparison.ratios = compare_targets(comparison.targets, 1);
  comparison.ratios.push_back({.a = "xnnpack", .b = "openvino", .median_ratio = 1.7727});  // without an interval
  return {descriptions(comparison_fields()), to_json(comparison_fields(), comparison)};
}

inline SampleReport bundle_report(std::size_t requests, std::size_t tokens) {
  GenaiReport report = full_genai_report();
  report.benchmark_info.model_id = "SmolLM2-135M-Instruct";
  report.requests.clear();
  for (unsigned i = 0; i < requests + 2; ++i) {
    const bool warmup = i < 2;
    RequestTiming request = sample_request(warmup ? RequestKind::warmup : RequestKind::timed, warmup ? i : i - 2, 21);
    request.prefill_ms = i == 0 ? 180 : 95.0 + i;
    request.decode_token_ms = sample_latencies(tokens, 18.5, i);
    for (std::size_t k = 0; k < tokens; ++k) request.decode_token_ms[k] += 0.02 * static_cast<double>(k);
    request.generated_tokens = tokens + 1;
    report.requests.push_back(std::move(request));
  }
  return {descriptions(genai_fields()), to_json(genai_fields(), report)};
}

// Nothing but nulls, empty lists and what should be something else.
inline SampleReport void_report() {
  SampleReport report = model_report(0);
  report.json["raw_samples_ms"] = nullptr;
  report.json["warmup_samples_ms"] = Json::array({nullptr});
  report.json["phases_ms"] = nullptr;
  report.json["callers"] = "none";
  return report;
}

// NaN and infinity become null in JSON; what is left is drawn.
inline SampleReport not_finite_report() {
  SampleReport report = model_report(50);
  report.json["raw_samples_ms"][7] = std::nan("");
  report.json["raw_samples_ms"][8] = INFINITY;
  report.json["latency_ms"]["p99"] = INFINITY;
  return report;
}

inline SampleReport hostile_report() {
  SampleReport report = comparison_report();
  report.json["benchmark_info"]["model_id"] = kHostile;
  report.json["targets"][0]["target"] = kHostile;
  report.json["targets"][1]["target"] = std::string(5000, 'n') + "end";
  report.json["targets"][3]["error"]["message"] = kHostile;
  report.json["ratios"][0]["a"] = kHostile;
  report.json[kHostile] = kHostile;
  return report;
}

}  // namespace precast::bench
