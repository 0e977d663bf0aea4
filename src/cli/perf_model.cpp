// precast perf MODEL
#include <algorithm>

#include <fmt/format.h>

#include "bench/ort_measure.hpp"
#include "cli/bundle_path.hpp"
#include "cli/exit_code.hpp"
#include "cli/live_line.hpp"
#include "cli/open_model.hpp"
#include "cli/perf.hpp"
#include "cli/perf_targets.hpp"
#include "cli/progress.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::cli {

namespace {

constexpr std::uint64_t kIterations = 100;
constexpr std::uint64_t kWarmups = 10;
constexpr std::chrono::hours kLongest{24};

std::string line_of(const bench::RoundProgress& progress) {
  std::string text = progress.phase == bench::RunPhase::warmup ? "warm-up" : "run";
  text += fmt::format(" {}", progress.done + 1);
  if (progress.of) text += fmt::format(" of {}", *progress.of);
  if (progress.last_ms) text += fmt::format(", {:.3f} ms", *progress.last_ms);
  return text;
}

Result<std::optional<std::chrono::nanoseconds>> duration_of(const PerfOptions& options) {
  if (options.duration.empty()) return std::nullopt;
  const auto duration = util::parse_duration(options.duration);
  if (duration && *duration > std::chrono::milliseconds(0) && *duration <= kLongest) return *duration;
  return fail(ErrorCode::bad_input, "--duration " + util::quoted(options.duration) + " is no time to run for", {},
              "write for example 500ms, 10, 10s or 5m; at most 24h");
}

// What is to be measured, and how.
Result<bench::OrtMeasureOptions> measure_options(Context& context, const PerfOptions& options) {
  PRECAST_TRY(require_model(options.bundle.bundle));
  bench::OrtMeasureOptions measure;
  PRECAST_TRY_ASSIGN(measure.input, make_input_source(options.input));
  PRECAST_TRY_ASSIGN(measure.plan.duration, duration_of(options));
  measure.plan.iterations = options.iterations;
  if (!measure.plan.duration && !measure.plan.iterations) measure.plan.iterations = kIterations;
  measure.plan.warmup = options.warmup.value_or(kWarmups);
  measure.concurrency = options.concurrency;
  measure.io_binding = options.io_binding;
  measure.check = options.check;
  measure.op_tracing = options.op_tracing;
  measure.top_k = options.top_k;
  measure.raw = options.raw;
  measure.memory = options.memory;
  measure.monitor = options.monitor;
  PRECAST_TRY_ASSIGN(measure.targets, make_targets(options, context.options));
  const util::WallTime start = util::Clock::system().now();
  for (bench::OrtTarget& target : measure.targets) {
    target.info.iterations = measure.plan.iterations;
    target.info.warmup = measure.plan.warmup;
    if (measure.plan.duration) {
      target.info.duration_s = std::chrono::duration<double>(*measure.plan.duration).count();
    }
    target.info.timestamp = start;
  }
  return measure;
}

// What deletes private generations on return; the sessions are kept until the process ends.
using PrivateOwners = std::vector<session::PreparedSession::PrivateOwner>;

Result<bench::OrtMeasurement> measure(Context& context, const bench::OrtMeasureOptions& options,
                                      PrivateOwners& owners) {
  if (options.targets.size() == 1) context.look_only_for(options.targets.front().request.target.ep);
  const compile::Request& first = options.targets.front().request;
  const bool compile = options.targets.front().info.compile;
  PRECAST_TRY_ASSIGN(compile::Resolver* const resolver, context.resolver(compile && !first.no_cache));
  PRECAST_TRY_ASSIGN(ort::Catalog* const catalog, context.catalog());
  LiveLine live(context);
  std::unique_ptr<ProgressReporter> step;
  bench::OrtMeasureServices services{
      .catalog = *catalog,
      .cancel = context.cancel,
      .open = [&](const bench::OrtTarget& target) -> Result<std::shared_ptr<session::PreparedSession>> {
        PRECAST_TRY_ASSIGN(auto native, open_model(context, *resolver, target.request, target.info.compile));
        auto session = std::make_shared<session::PreparedSession>(std::move(native));
        context.keep_until_exit(session);
        owners.push_back(session->take_private_owner());
        return session;
      },
      .since_start_ms = [&] { return context.elapsed_ms(); },
      .startup_ms = context.runtime_load_ms(),
      .on_round = [&](const bench::RoundProgress& progress) { live.show([&] { return line_of(progress); }); },
      .on_step =
          [&](const std::string& deed) {
            step.reset();
            if (!deed.empty()) step = ProgressReporter::of_step(context.output, deed);
          }};
  return bench::measure_model(options, services);
}

bool is_wrong(const bench::OrtReport& report) {
  return report.check && !report.check->ok();
}

int measured_code(const bench::OrtMeasurement& measured, const Context& context) {
  const auto& reports = measured.reports;
  if (context.cancel.cancelled()) return kInterrupted;
  const auto failed = std::ranges::find_if(reports, [](const auto& report) { return report.error.has_value(); });
  if (failed != reports.end()) return exit_code_of(*failed->error, context.options.strict);
  if (measured.check_error) return exit_code_of(*measured.check_error, context.options.strict);
  if (std::ranges::any_of(reports, is_wrong)) return kFailed;
  return measured.tracing_error ? kNoTrace : kDone;
}

void say(Context& context, const bench::OrtMeasurement& measured) {
  for (const std::string& warning : measured.warnings) context.output.warn(warning);
  const bool several = measured.reports.size() > 1;
  for (const bench::OrtReport& report : measured.reports) {
    const std::string prefix = several ? report.target + ": " : "";
    if (several && report.error) {
      Error error = *report.error;
      error.message = prefix + error.message;
      context.output.error(error);
    }
    if (is_wrong(report))
      context.output.warn(prefix + "an output does not agree with its reference: the report's check says which");
  }
  if (const auto stopped = interruption(measured.reports.front())) {
    context.output.warn("interrupted " + *stopped + ": the report is of those");
  }
  for (const auto* error : {&measured.check_error, &measured.tracing_error}) {
    if (*error) context.output.error(**error);
  }
}

// For the JSON, which has one.
std::optional<Error> first_error(const bench::OrtMeasurement& measured) {
  for (const bench::OrtReport& report : measured.reports) {
    if (report.error) return report.error;
  }
  return measured.check_error ? measured.check_error : measured.tracing_error;
}

PerfReport report_of(bench::OrtMeasurement measured, std::uint64_t seed) {
  PerfReport report{.name = measured.reports.front().benchmark_info.model_id};
  report.comparison = measured.reports.size() > 1;
  if (report.comparison) {
    bench::OrtComparison comparison{
        .targets = std::move(measured.reports), .ratios = {}, .hw_monitor = std::move(measured.hw_monitor)};
    comparison.ratios = compare_targets(comparison.targets, seed);
    report.document = to_json(bench::comparison_fields(), comparison);
    report.fields = descriptions(bench::comparison_fields());
  } else {
    report.document = to_json(bench::ort_fields(), measured.reports.front());
    report.fields = descriptions(bench::ort_fields());
  }
  return report;
}

}  // namespace

int perf_model(Context& context, const PerfOptions& options, PerfOutput& output) {
  const auto wanted = measure_options(context, options);
  if (!wanted) return report_error(context, "perf", wanted.error());
  PrivateOwners owners;
  auto measured = measure(context, *wanted, owners);
  if (!measured) return report_error(context, "perf", measured.error());
  const auto& only = measured->reports.front();
  if (measured->reports.size() == 1 && only.error && !context.cancel.cancelled()) {
    return report_error(context, "perf", *only.error);
  }
  say(context, *measured);
  const int wanted_code = measured_code(*measured, context);
  const std::optional<Error> error = first_error(*measured);
  const int code = output.show(report_of(std::move(*measured), options.input.seed), error);
  return code != kDone ? code : wanted_code;
}

}  // namespace precast::cli
