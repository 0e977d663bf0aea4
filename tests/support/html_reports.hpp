// Reports for the HTML page: of every kind and with what is hard to draw. Their numbers are made up, and the same each
// time.
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "bench/fields.hpp"
#include "bench/genai_report.hpp"
#include "bench/statistics.hpp"
#include "support/genai_reports.hpp"

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

inline Json latency_json(const std::vector<double>& samples) {
  const Summary of = summarise(samples);
  return {{"mean", to_value(of.mean)}, {"std", to_value(of.std)}, {"min", to_value(of.min)}, {"p50", to_value(of.p50)},
          {"p90", to_value(of.p90)},   {"p95", to_value(of.p95)}, {"p99", to_value(of.p99)}, {"max", to_value(of.max)}};
}

inline std::vector<Field> model_report_fields() {
  std::vector<Field> fields = {text("benchmark_info.model_id", "model", Shown::headline),
                               text("benchmark_info.running_model_path", "loaded", Shown::people),
                               text("benchmark_info.ep", "EP", Shown::headline),
                               text("benchmark_info.device", "device", Shown::headline),
                               text("benchmark_info.timestamp", "started", Shown::people)};
  for (Field& field : fields) field.section = "Benchmark";
  for (const char* name : {"mean", "std", "min", "p50", "p90", "p95", "p99", "max"}) {
    const bool main = name == std::string("p50") || name == std::string("p99");
    fields.push_back(duration(std::string("latency_ms.") + name, "latency", main ? Shown::headline : Shown::people));
    fields.back().section = "Latency";
    fields.back().column = name;
  }
  fields.push_back(rate("throughput.samples_per_sec", "throughput", "samples/s", Shown::headline));
  fields.back().section = "Latency";
  for (const char* name :
       {"startup", "ep_registration", "identity", "lookup", "compile", "session_open", "first_run"}) {
    std::string label = name;
    std::ranges::replace(label, '_', ' ');
    fields.push_back(duration(std::string("phases_ms.") + name, label, Shown::people));
    fields.back().section = "Phases";
  }
  fields.push_back({.path = "raw_samples_ms", .label = "samples", .kind = FieldKind::durations});
  fields.push_back(text("precast.outcome", "outcome", Shown::headline));
  fields.back().section = "Cache";
  for (const char* name : {"os", "cpu", "ort"}) {
    fields.push_back(text(std::string("environment.") + name, name, Shown::people));
    fields.back().section = "Environment";
  }
  return fields;
}

inline Json model_report_json(const std::string& model, const std::string& ep, const std::vector<double>& samples) {
  const Json latency = latency_json(samples);
  return {
      {"schema_version", 2},
      {"benchmark_info",
       {{"runtime", "ort"},
        {"model_id", model},
        {"running_model_path", "/home/somebody/.cache/precast/store/objects/ab/ab12cd34/model_ctx.onnx"},
        {"ep", ep},
        {"device", "cpu"},
        {"timestamp", "2026-11-30T12:00:00Z"}}},
      {"latency_ms", latency},
      {"throughput", {{"samples_per_sec", samples.empty() ? Json() : Json(1000 / latency.at("mean").get<double>())}}},
      {"raw_samples_ms", samples},
      {"warmup_samples_ms", {31.5, 9.25, 8.5, 8.375, 8.25}},
      {"phases_ms",
       {{"startup", 12.5},
        {"ep_registration", 84.25},
        {"identity", 3.5},
        {"lookup", 0.25},
        {"compile", 2403.75},
        {"session_open", 140.5},
        {"first_run", 31.5},
        {"warmup", 66.0},
        {"steady", nullptr}}},
      {"callers", Json::array()},
      {"op_tracing", nullptr},
      {"precast", {{"outcome", "compiled"}}},
      {"environment", {{"os", "Linux 6.1"}, {"cpu", "a CPU of 16 cores"}, {"ort", "1.32.0"}}}};
}

inline SampleReport model_report(std::size_t samples) {
  return {model_report_fields(), model_report_json("all-MiniLM-L6-v2", "openvino", sample_latencies(samples, 8.25, 1))};
}

inline SampleReport traced_report() {
  SampleReport report = model_report(200);
  report.json["callers"] = Json::array();
  for (unsigned caller = 0; caller < 3; ++caller) {
    Json one = latency_json(sample_latencies(100, 9.0 + caller, caller));
    one["caller"] = caller;
    report.json["callers"].push_back(std::move(one));
  }
  report.json["op_tracing"] = {{"by_type", Json::array()}};
  for (const char* op : {"MatMulInteger", "LayerNormalization", "Softmax", "Add"}) {
    report.json["op_tracing"]["by_type"].push_back({{"op_type", op},
                                                    {"provider", "CPUExecutionProvider"},
                                                    {"total_ms", 400.0 / static_cast<double>(op[0] - 'A' + 1)}});
  }
  return report;
}

// Three targets that were measured, one that failed.
inline SampleReport comparison_report() {
  Json json = {{"schema_version", 2},
               {"benchmark_info", {{"runtime", "ort"}, {"model_id", "all-MiniLM-L6-v2"}}},
               {"targets", Json::array()},
               {"ratios", Json::array()}};
  const std::vector<std::pair<std::string, double>> targets = {
      {"openvino/cpu", 5.5}, {"cpu", 8.25}, {"xnnpack/cpu", 9.75}};
  unsigned seed = 1;
  for (const auto& [name, typical] : targets) {
    Json target = {{"target", name}, {"error", nullptr}};
    target.update(model_report_json("all-MiniLM-L6-v2", name, sample_latencies(120, typical, seed++)));
    json["targets"].push_back(std::move(target));
  }
  json["targets"].push_back({{"target", "qnn/npu"},
                             {"error",
                              {{"code", "ep_unavailable"},
                               {"message", "QNNExecutionProvider offers no npu here"},
                               {"path", ""},
                               {"hint", "precast eps lists what there is"}}}});
  json["ratios"] = {
      {{"a", "openvino/cpu"}, {"b", "cpu"}, {"median_ratio", 0.667}, {"ci95_low", 0.64}, {"ci95_high", 0.7}},
      {{"a", "openvino/cpu"}, {"b", "xnnpack/cpu"}, {"median_ratio", 0.564}, {"ci95_low", 0.54}, {"ci95_high", 0.59}},
      {{"a", "cpu"}, {"b", "xnnpack/cpu"}, {"median_ratio", 0.846}, {"ci95_low", nullptr}, {"ci95_high", nullptr}}};
  Field target_rows{.path = "targets", .label = "targets", .kind = FieldKind::rows, .shown = Shown::people};
  target_rows.section = "Targets";
  target_rows.elements = {text("target", "target", Shown::people), duration("latency_ms.p50", "median", Shown::people),
                          duration("latency_ms.min", "min", Shown::people),
                          duration("latency_ms.p99", "p99", Shown::people)};
  Field ratio_rows{.path = "ratios", .label = "ratios", .kind = FieldKind::rows, .shown = Shown::people};
  ratio_rows.section = "Ratios of medians";
  ratio_rows.elements = {text("a", "a", Shown::people), text("b", "b", Shown::people),
                         duration("median_ratio", "a : b", Shown::people),
                         duration("ci95_low", "95 % from", Shown::people), duration("ci95_high", "to", Shown::people)};
  for (Field& field : ratio_rows.elements) field.unit.clear();
  return {{text("benchmark_info.model_id", "model", Shown::headline), target_rows, ratio_rows}, std::move(json)};
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
