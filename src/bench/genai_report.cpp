#include "bench/genai_report.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "bench/genai_request_fields.hpp"
#include "bench/report_printer.hpp"
#include "bench/statistics.hpp"

namespace precast::bench {
namespace {

using Info = GenaiBenchmarkInfo;
using Number = std::optional<double>;

std::uint64_t count_of(const GenaiReport& report, RequestKind kind) {
  return static_cast<std::uint64_t>(std::ranges::count(report.requests, kind, &RequestTiming::kind));
}

// What the requests had in the end; null before the first.
Json of_last_request(const GenaiReport& report, std::uint64_t RequestTiming::* member) {
  return report.requests.empty() ? Json() : Json(report.requests.back().*member);
}

Number cold(const GenaiReport& report, const Number& first_request_ms) {
  if (!report.load.session_load_ms || !first_request_ms) return std::nullopt;
  return *report.load.session_load_ms + *first_request_ms;
}

Json cold_ttft(const GenaiReport& report) {
  if (report.requests.empty()) return {};
  return to_value(cold(report, metrics_of(report.requests.front()).request_ttft_ms));
}

Json cold_total(const GenaiReport& report) {
  if (report.requests.empty()) return {};
  return to_value(cold(report, metrics_of(report.requests.front()).request_ms));
}

Fields<Info> what_ran_fields() {
  return {
      {text("runtime", "runtime"), [](const Info&) { return Json("genai"); }},
      {text("model_id", "model", Shown::headline), [](const Info& i) { return Json(i.model_id); }},
      {text("running_model_path", "loaded", Shown::people),
       [](const Info& i) { return to_value(i.running_model_path); }},
      {text("bundle_dir", "bundle", Shown::people), [](const Info& i) { return Json(i.bundle_dir); }},
      {text("ep", "EP", Shown::headline), [](const Info& i) { return Json(i.ep); }},
      {text("device", "device asked for"), [](const Info& i) { return Json(i.device); }},
      {text("effective_device", "device", Shown::headline), [](const Info& i) { return to_value(i.effective_device); }},
      {flag("compile", "compile"), [](const Info& i) { return Json(i.compile); }},
      {count("compile_timeout", "compile timeout (s)"), [](const Info& i) { return Json(i.compile_timeout_s); }},
      {flag("monitor", "monitor"), [](const Info& i) { return Json(i.monitor); }},
      {count("iterations", "iterations"), [](const Info& i) { return Json(i.iterations); }},
      {count("warmup", "warm-up"), [](const Info& i) { return Json(i.warmup); }},
      {count("max_new_tokens", "most new tokens", Shown::people), [](const Info& i) { return Json(i.max_new_tokens); }},
      {flag("apply_template", "template"), [](const Info& i) { return Json(i.apply_template); }},
      {text("prompt", "prompt"), [](const Info& i) { return to_value(i.prompt); }},
      {count("context_length", "context length"), [](const Info& i) { return to_value(i.context_length); }},
      {text("timestamp", "started", Shown::people),
       [](const Info& i) { return Json(util::format_rfc3339(i.timestamp)); }},
  };
}

Fields<LoadStage> stage_fields() {
  using Stage = LoadStage;
  Field seconds = duration("compile_seconds", "compile", Shown::people);
  seconds.unit = "s";
  return {
      {text("name", "stage", Shown::people), [](const Stage& s) { return Json(s.name); }},
      {text("outcome", "outcome", Shown::people), [](const Stage& s) { return Json(to_string(s.outcome)); }},
      {text("reason", "reason", Shown::people), [](const Stage& s) { return to_value(s.reason); }},
      {text("key", "key"), [](const Stage& s) { return to_value(s.key); }},
      {std::move(seconds), [](const Stage& s) { return to_value(s.compile_seconds); }},
  };
}

Fields<GenaiLoad> load_fields() {
  using Load = GenaiLoad;
  const auto one = [](std::string path, std::string label, Shown shown, Number Load::* member) -> FieldOf<Load> {
    return {duration(std::move(path), std::move(label), shown),
            [member](const Load& load) { return to_value(load.*member); }};
  };
  return {
      one("session_load_duration_ms", "load", Shown::headline, &Load::session_load_ms),
      one("ep_registration_duration_ms", "register EPs", Shown::people, &Load::ep_registration_ms),
      one("bundle_prepare_duration_ms", "prepare bundle", Shown::people, &Load::bundle_prepare_ms),
      one("native_load_duration_ms", "load libraries", Shown::people, &Load::native_load_ms),
      one("config_create_duration_ms", "create config", Shown::people, &Load::config_create_ms),
      one("model_create_duration_ms", "create model", Shown::people, &Load::model_create_ms),
      one("tokenizer_create_duration_ms", "create tokenizer", Shown::people, &Load::tokenizer_create_ms),
      // Nothing tells when a runtime's weights have arrived at the device.
      {duration("weight_upload_duration_ms", "weight upload"), [](const Load&) { return Json(); }},
      one("weight_upload_estimate_duration_ms", "weight upload (estimate)", Shown::people,
          &Load::weight_upload_estimate_ms),
      {text("weight_upload_estimate_source", "estimated from"),
       [](const Load& load) { return to_value(load.weight_upload_estimate_source); }},
      rows<Load>("stages", "stages", Shown::people, stage_fields(), &Load::stages),
  };
}

Summary summary_of(const GenaiReport& report, const FieldOf<RequestTiming>& field) {
  std::vector<double> samples;
  for (const RequestTiming& request : report.requests) {
    const Json value = request.kind == RequestKind::timed ? field.get(request) : Json();
    if (value.is_number()) samples.push_back(value.get<double>());
  }
  return summarise(samples);
}

void append_summaries(Fields<GenaiReport>& fields, const FieldOf<RequestTiming>& of) {
  for (const Statistic& statistic : kStatistics) {
    Field field = of.field;
    field.path = "aggregate." + of.field.path + "." + statistic.name;
    field.section = "Timed requests";
    field.column = statistic.name;
    if (field.shown == Shown::headline && statistic.member != &Summary::mean) field.shown = Shown::people;
    fields.push_back({std::move(field), [of, member = statistic.member](const GenaiReport& report) {
                        return to_value(summary_of(report, of).*member);
                      }});
  }
}

void append_aggregate(Fields<GenaiReport>& fields) {
  const auto add = [&fields](Field field, std::function<Json(const GenaiReport&)> get) {
    field.path = "aggregate." + field.path;
    field.section = "Timed requests";
    fields.push_back({std::move(field), std::move(get)});
  };
  add(flag("warmup_excluded", "without warm-ups"), [](const GenaiReport&) { return Json(true); });
  add(count("warmup_request_count", "warm-ups", Shown::people),
      [](const GenaiReport& r) { return Json(count_of(r, RequestKind::warmup)); });
  add(count("timed_request_count", "requests", Shown::headline),
      [](const GenaiReport& r) { return Json(count_of(r, RequestKind::timed)); });
  add(duration("cold_start_ttft_duration_ms", "cold TTFT", Shown::people), cold_ttft);
  add(duration("cold_start_total_duration_ms", "cold request", Shown::people), cold_total);
  for (const RequestField& field : request_fields()) {
    if (field.aggregated) append_summaries(fields, field.of);
  }
}

Fields<RequestTiming> all_of_a_request() {
  Fields<RequestTiming> fields;
  for (const RequestField& field : request_fields()) fields.push_back(field.of);
  return fields;
}

MethodSection method_of(const GenaiReport& report) {
  return {.n = count_of(report, RequestKind::timed),
          .warmup = count_of(report, RequestKind::warmup),
          .interrupted = interruption(report)};
}

Fields<GenaiReport> make_fields() {
  using Report = GenaiReport;
  Fields<Report> fields = {
      {count("schema_version", "schema"), [](const Report&) { return Json(kReportSchemaVersion); }}};
  embed(fields, "benchmark_info", "Benchmark", what_ran_fields(), &Report::benchmark_info);
  const auto add_info = [&fields](Field field, std::uint64_t RequestTiming::* member) {
    field.path = "benchmark_info." + field.path;
    field.section = "Benchmark";
    fields.push_back({std::move(field), [member](const Report& report) { return of_last_request(report, member); }});
  };
  add_info(count("prompt_tokens", "prompt tokens", Shown::headline), &RequestTiming::prompt_tokens);
  add_info(count("generated_tokens", "generated tokens", Shown::headline), &RequestTiming::generated_tokens);
  embed(fields, "load", "Load", load_fields(), &Report::load);
  fields.push_back(rows<Report>("requests", "requests", Shown::data, all_of_a_request(), &Report::requests));
  append_aggregate(fields);
  embed_common_sections(fields);
  embed(fields, "method", "Method", method_fields(), method_of);
  return fields;
}

}  // namespace

const Fields<GenaiReport>& genai_fields() {
  static const Fields<GenaiReport> fields = make_fields();
  return fields;
}

std::optional<std::string> interruption(const GenaiReport& report) {
  if (!report.interrupted) return std::nullopt;
  const Info& info = report.benchmark_info;
  const std::uint64_t timed = count_of(report, RequestKind::timed);
  const std::uint64_t warmups = count_of(report, RequestKind::warmup);
  if (timed == 0 && warmups < info.warmup) return fmt::format("after {} of {} warm-ups", warmups, info.warmup);
  return fmt::format("after {} of {} requests", timed, info.iterations);
}

std::string print_report(const GenaiReport& report, ReportFormat format) {
  return print(descriptions(genai_fields()), to_json(genai_fields(), report), format);
}

}  // namespace precast::bench
