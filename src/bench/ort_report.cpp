#include "bench/ort_report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "bench/ort_report_parts.hpp"
#include "bench/ratio.hpp"
#include "bench/report_printer.hpp"
#include "bench/statistics.hpp"

namespace precast::bench {
namespace {

constexpr double kMsPerSecond = 1000;

// One caller: runs over the time that they took. Several: over the time from the first run's beginning to the last
// one's end, for they ran at the same time.
std::optional<double> batches_per_second(const OrtReport& report) {
  const auto runs = static_cast<double>(report.latency.n);
  double ms = report.latency.mean.value_or(0) * runs;
  if (report.times.caller_ms.size() > 1) ms = report.times.steady_wall_ms.value_or(0);
  if (ms <= 0) return std::nullopt;
  return runs * kMsPerSecond / ms;
}

std::optional<double> samples_per_second(const OrtReport& report) {
  const auto batches = batches_per_second(report);
  if (!batches || !report.benchmark_info.effective_batch_size) return std::nullopt;
  return *batches * static_cast<double>(*report.benchmark_info.effective_batch_size);
}

void append_statistics(Fields<OrtReport>& fields) {
  const auto latency = [&fields](Field field, std::function<Json(const OrtReport&)> get) {
    field.path = "latency_ms." + field.path;
    field.section = "Latency";
    fields.push_back({std::move(field), std::move(get)});
  };
  for (const Statistic& statistic : kStatistics) {
    const std::string_view name = statistic.name;
    const bool headline = name == "mean" || name == "p50" || name == "p99";
    Field field = duration(statistic.name, "run", headline ? Shown::headline : Shown::people);
    field.column = statistic.name;
    latency(std::move(field),
            [member = statistic.member](const OrtReport& report) { return to_value(report.latency.*member); });
  }
  latency(ratio("variation", "coefficient of variation", Shown::people),
          [](const OrtReport& report) { return to_value(report.latency.variation); });
  latency(duration("warmup_mean", "warm-up mean", Shown::people),
          [](const OrtReport& report) { return to_value(report.warmup_latency.mean); });
}

void append_throughput(Fields<OrtReport>& fields) {
  Field samples = rate("throughput.samples_per_sec", "throughput in samples", "1/s", Shown::headline);
  samples.section = "Latency";
  fields.push_back({std::move(samples), [](const OrtReport& report) { return to_value(samples_per_second(report)); }});
  Field batches = rate("throughput.batches_per_sec", "throughput in runs", "1/s", Shown::people);
  batches.section = "Latency";
  fields.push_back({std::move(batches), [](const OrtReport& report) { return to_value(batches_per_second(report)); }});
}

void append_samples(Fields<OrtReport>& fields) {
  const auto list = [&fields](std::string path, std::string label, auto get) {
    Field field{.path = std::move(path), .label = std::move(label), .kind = FieldKind::durations, .unit = "ms"};
    fields.push_back({std::move(field), [get](const OrtReport& report) {
                        return report.raw && !report.times.caller_ms.empty() ? Json(get(report.times)) : Json();
                      }});
  };
  list("raw_samples_ms", "samples", [](const RunTimes& times) { return times.all_ms(); });
  list("warmup_samples_ms", "warm-up samples", [](const RunTimes& times) { return times.warmup_ms; });
}

MethodSection method_of(const OrtReport& report) {
  return {.n = report.latency.n, .warmup = report.times.warmup_ms.size(), .interrupted = interruption(report)};
}

Fields<OrtReport> make_fields() {
  using Report = OrtReport;
  Fields<Report> fields = {
      {count("schema_version", "schema"), [](const Report&) { return Json(kReportSchemaVersion); }}};
  embed(fields, "benchmark_info", "Benchmark", benchmark_info_fields(), &Report::benchmark_info);
  Field nodes = pairs("provider_nodes", "nodes", Shown::people);
  nodes.section = "Benchmark";
  fields.push_back({std::move(nodes), [](const Report& report) {
                      return report.provider_nodes.empty() ? Json() : Json(report.provider_nodes);
                    }});
  embed(fields, "model_info", "Model", model_info_fields(), &Report::model_info);
  append_statistics(fields);
  append_throughput(fields);
  append_samples(fields);
  fields.push_back(callers_field());
  append_phases(fields);
  append_check(fields);
  append_op_tracing(fields);
  embed_common_sections(fields);
  embed(fields, "method", "Method", method_fields(), method_of);
  return fields;
}

// Of a target in a table of targets.
bool tells_targets_apart(const std::string& path) {
  constexpr const char* kPaths[] = {"target",
                                    "benchmark_info.ep",
                                    "benchmark_info.device",
                                    "latency_ms.mean",
                                    "latency_ms.p50",
                                    "latency_ms.p90",
                                    "latency_ms.p99",
                                    "precast.outcome",
                                    "error.message",
                                    "throughput.samples_per_sec",
                                    "method.n",
                                    "check.ok",
                                    "provider_nodes",
                                    "model_info.fed_shapes"};
  return std::ranges::find(kPaths, path) != std::end(kPaths);
}

Fields<Error> error_fields() {
  return {{text("code", "error code"), [](const Error& e) { return Json(to_string(e.code)); }},
          {text("message", "error", Shown::headline), [](const Error& e) { return Json(e.message); }},
          {text("path", "error path"), [](const Error& e) { return e.path.empty() ? Json() : Json(e.path.native()); }},
          {text("hint", "hint"), [](const Error& e) { return e.hint.empty() ? Json() : Json(e.hint); }}};
}

Fields<OrtReport> make_target_fields() {
  Fields<OrtReport> fields = {
      {text("target", "target", Shown::headline), [](const OrtReport& report) { return Json(report.target); }}};
  for (const FieldOf<OrtReport>& one : ort_fields()) fields.push_back(one);
  embed_optional(fields, "error", error_fields(), &OrtReport::error);
  return fields;
}

const Fields<OrtReport>& target_fields() {
  static const Fields<OrtReport> fields = make_target_fields();
  return fields;
}

Fields<OrtReport> fields_for_a_table() {
  Fields<OrtReport> fields = target_fields();
  for (FieldOf<OrtReport>& one : fields) {
    Field& field = one.field;
    field.shown = tells_targets_apart(field.path) ? std::max(field.shown, Shown::people) : Shown::data;
    if (!field.column.empty()) field.label = field.column;
  }
  return fields;
}

Fields<OrtRatio> ratio_fields(Shown shown) {
  using R = OrtRatio;
  return {{text("a", "target", shown), [](const R& r) { return Json(r.a); }},
          {text("b", "against", shown), [](const R& r) { return Json(r.b); }},
          {ratio("median_ratio", "ratio of medians", shown), [](const R& r) { return to_value(r.median_ratio); }},
          {ratio("ci95_low", "95 % from", shown), [](const R& r) { return to_value(r.ci95_low); }},
          {ratio("ci95_high", "to", shown), [](const R& r) { return to_value(r.ci95_high); }}};
}

const OrtReport& first_of(const OrtComparison& comparison) {
  static const OrtReport none;
  return comparison.targets.empty() ? none : comparison.targets.front();
}

// The most that one of them has: a target that failed has fewer.
MethodSection method_of_all(const OrtComparison& comparison) {
  MethodSection method;
  for (const OrtReport& target : comparison.targets) {
    const MethodSection one = method_of(target);
    method.n = std::max(method.n, one.n);
    method.warmup = std::max(method.warmup, one.warmup);
    if (!method.interrupted) method.interrupted = one.interrupted;
  }
  return method;
}

// What is the same for all targets.
Fields<OrtBenchmarkInfo> common_info_fields() {
  Fields<OrtBenchmarkInfo> fields = benchmark_info_fields();
  constexpr const char* kOwn[] = {
      "ep",           "device",           "ep_source", "ep_options", "running_model_path",
      "requested_ep", "requested_device", "simulated", "precision",  "effective_batch_size"};
  std::erase_if(fields, [&](const auto& one) { return std::ranges::find(kOwn, one.field.path) != std::end(kOwn); });
  for (auto& one : fields) {
    if (one.field.path == "concurrency") one.field.shown = Shown::data;  // always one
  }
  return fields;
}

EnvironmentSection environment_of(const OrtComparison& comparison) {
  EnvironmentSection environment = first_of(comparison).environment;
  environment.ep_version.reset();
  environment.driver.reset();
  return environment;
}

Fields<OrtComparison> make_comparison_fields() {
  using Report = OrtComparison;
  Fields<Report> fields = {
      {count("schema_version", "schema"), [](const Report&) { return Json(kReportSchemaVersion); }}};
  embed(fields, "benchmark_info", "Benchmark", common_info_fields(),
        [](const Report& report) -> const OrtBenchmarkInfo& { return first_of(report).benchmark_info; });
  FieldOf<Report> targets = rows<Report>("targets", "targets", Shown::people, fields_for_a_table(), &Report::targets);
  targets.field.section = "Targets";
  fields.push_back(std::move(targets));
  FieldOf<Report> ratios =
      rows<Report>("ratios", "ratios", Shown::people, ratio_fields(Shown::people), &Report::ratios);
  ratios.field.section = "Ratios of medians";
  fields.push_back(std::move(ratios));
  embed(fields, "hw_monitor", "Hardware", hw_monitor_fields(), &Report::hw_monitor);
  embed(fields, "environment", "Environment", environment_fields(), environment_of);
  embed(fields, "method", "Method", method_fields(), method_of_all);
  return fields;
}

}  // namespace

const Fields<OrtReport>& ort_fields() {
  static const Fields<OrtReport> fields = make_fields();
  return fields;
}

const Fields<OrtComparison>& comparison_fields() {
  static const Fields<OrtComparison> fields = make_comparison_fields();
  return fields;
}

void OrtReport::set_times(RunTimes measured) {
  times = std::move(measured);
  latency = summarise(times.all_ms());
  warmup_latency = summarise(times.warmup_ms);
}

std::vector<OrtRatio> compare_targets(const std::vector<OrtReport>& targets, std::uint64_t seed) {
  std::vector<OrtRatio> ratios;
  for (std::size_t i = 1; i < targets.size(); ++i) {
    OrtRatio& one = ratios.emplace_back();
    one.a = targets[i].target;
    one.b = targets.front().target;
    const auto ratio = ratio_of_medians(targets[i].times.all_ms(), targets.front().times.all_ms(), seed);
    if (!ratio) continue;
    one.median_ratio = ratio->median_ratio;
    one.ci95_low = ratio->ci95_low;
    one.ci95_high = ratio->ci95_high;
  }
  return ratios;
}

std::optional<std::string> interruption(const OrtReport& report) {
  if (!report.interrupted) return std::nullopt;
  const OrtBenchmarkInfo& info = report.benchmark_info;
  const std::uint64_t warmups = report.times.warmup_ms.size();
  const std::uint64_t runs = report.latency.n;
  if (runs == 0 && warmups < info.warmup * info.concurrency) {
    return fmt::format("after {} of {} warm-ups", warmups, info.warmup * info.concurrency);
  }
  if (info.iterations) return fmt::format("after {} of {} runs", runs, *info.iterations);
  return fmt::format("after {} runs, {:.1f} of {} s", runs, report.times.steady_wall_ms.value_or(0) / kMsPerSecond,
                     info.duration_s.value_or(0));
}

std::string print_report(const OrtReport& report, ReportFormat format) {
  return print(descriptions(ort_fields()), to_json(ort_fields(), report), format);
}

std::string print_report(const OrtComparison& comparison, ReportFormat format) {
  return print_comparison(to_json(comparison_fields(), comparison), format);
}

std::string print_comparison(const Json& document, ReportFormat format) {
  const auto list = [&](const char* name) -> const std::vector<Json>& {
    return document.at(name).get_ref<const Json::array_t&>();
  };
  switch (format) {
    case ReportFormat::md:
      return print_markdown(descriptions(target_fields()), list("targets")) + "\n" +
             print_markdown(descriptions(ratio_fields(Shown::headline)), list("ratios"));
    case ReportFormat::csv:
      return print_csv(descriptions(target_fields()), list("targets"));
    default:
      return print(descriptions(comparison_fields()), document, format);
  }
}

}  // namespace precast::bench
