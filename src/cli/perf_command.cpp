// precast perf BUNDLE
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/genai_run.hpp"
#include "bench/memory_monitor.hpp"
#include "bench/report_printer.hpp"
#include "cli/bundle_options.hpp"
#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/generation_options.hpp"
#include "cli/perf_options.hpp"
#include "cli/result_json.hpp"
#include "cli/signals.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::cli {

namespace {

constexpr const char* kDefaultPrompt = "Explain the theory of relativity in simple terms.";

// What comes, on a terminal; for a log a line now and then. Never while a request runs.
class LiveLine {
 public:
  explicit LiveLine(Context& context) : context_(context) {}

  void show(const bench::RunProgress& progress) {
    const double now = context_.elapsed_ms();
    const double pause = context_.output.terminal() ? 100 : 10'000;
    if (now - shown_ < pause) return;
    shown_ = now;
    std::string text = fmt::format("{} {} of {}", progress.kind == bench::RequestKind::warmup ? "warm-up" : "request",
                                   progress.index + 1, progress.of);
    if (progress.last != nullptr) {
      const auto metrics = bench::metrics_of(*progress.last);
      if (metrics.model_ttft_ms) text += fmt::format(", TTFT {:.1f} ms", *metrics.model_ttft_ms);
      if (const auto rate = metrics.steady_state_decode_tokens_per_second)
        text += fmt::format(", {:.2f} tokens/s", *rate);
    }
    context_.output.status(text);
  }

 private:
  Context& context_;
  double shown_ = -10'000;
};

Result<Prompt> prompt_of(const PerfOptions& options, genai::Session& session, std::optional<std::string>& shown) {
  Prompt prompt;
  if (options.prompt_tokens > 0) {
    PRECAST_TRY_ASSIGN(prompt.token_ids, bench::made_up_prompt(session, options.prompt_tokens));
    return prompt;
  }
  PRECAST_TRY_ASSIGN(const std::string text, read_prompt(options.prompt, kDefaultPrompt));
  shown = text;
  return make_prompt(options.prompt, text);
}

bench::GenaiReport report_of(const PerfOptions& options, const genai::Session& session,
                             const std::optional<std::string>& prompt, std::chrono::milliseconds compile_timeout) {
  bench::GenaiReport report;
  bench::GenaiBenchmarkInfo& info = report.benchmark_info;
  info.model_id = bench::path_component(session.bundle().folder.filename().native());
  info.bundle_dir = util::escape_invalid_utf8(session.bundle().folder.native());
  info.device = util::ascii_lower(options.bundle.device);
  info.compile = options.bundle.compile;
  info.compile_timeout_s = static_cast<std::uint64_t>(compile_timeout.count() / 1000);
  info.monitor = options.monitor;
  info.iterations = options.iterations;
  info.warmup = options.warmup;
  info.max_new_tokens = options.max_new_tokens;
  info.apply_template = !options.prompt.no_apply_template && options.prompt_tokens == 0;
  info.prompt = prompt;
  bench::fill_from_session(report, session);
  bench::fill_environment(report.environment);
  return report;
}

Result<bench::GenaiReport> measure(Context& context, const PerfOptions& options) {
  const util::WallTime start = util::Clock::system().now();
  bench::MemoryMonitor memory;
  if (options.memory) memory.checkpoint(bench::Checkpoint::baseline);
  PRECAST_TRY_ASSIGN(const auto session, load_session(context, options.bundle, true));
  const auto owners = session->take_private_owners();  // what deletes private folders on return
  if (options.memory) {
    memory.phase_ends(bench::PeakPhase::load);
    memory.checkpoint(bench::Checkpoint::after_compile);
  }
  bench::GenaiRunOptions run;
  run.iterations = options.iterations;
  run.warmup = options.warmup;
  run.config.max_new_tokens = options.max_new_tokens;
  run.config.ignore_eos = options.ignore_eos;
  std::optional<std::string> shown;
  PRECAST_TRY_ASSIGN(run.prompt, prompt_of(options, *session, shown));
  PRECAST_TRY_ASSIGN(const auto timeout, util::parse_duration(options.bundle.compile_timeout));
  bench::GenaiReport report = report_of(options, *session, shown, timeout);
  report.benchmark_info.timestamp = start;
  PRECAST_TRY_ASSIGN(ort::Catalog* const catalog, context.catalog());
  report.environment.ort = catalog->runtime().version();
  bench::HwMonitor monitor;
  if (options.monitor) monitor.start();
  LiveLine live(context);
  bench::PeakPhase phase = bench::PeakPhase::first_run;
  auto done = bench::run_requests(*session, run, context.cancel, [&](const bench::RunProgress& progress) {
    if (options.memory && progress.last != nullptr && phase == bench::PeakPhase::first_run) {
      memory.phase_ends(phase);
      phase = bench::PeakPhase::steady;
    }
    live.show(progress);
  });
  // A phase in which nothing was measured has no peak.
  const std::size_t before = phase == bench::PeakPhase::steady ? 1 : 0;
  if (options.memory && done && done->requests.size() > before) memory.phase_ends(phase);
  monitor.stop();
  PRECAST_TRY(done);
  if (options.memory) memory.checkpoint(bench::Checkpoint::after_inference);
  for (const std::string& warning : done->warnings) context.output.warn(warning);
  report.requests = std::move(done->requests);
  report.memory = memory.section();
  if (options.monitor) report.hw_monitor = monitor.section(report.benchmark_info.effective_device, memory.own_peak());
  report.interrupted = done->cancelled;
  return report;
}

bench::ReportPlace place_of(const PerfOptions& options, const std::string& model_id) {
  bench::ReportPlace place = bench::place_from_environment();
  place.output = options.output;
  place.overwrite = options.overwrite;
  place.name = model_id;
  return place;
}

Result<std::filesystem::path> write(Context& context, const PerfOptions& options, const bench::GenaiReport& report) {
  PRECAST_TRY_ASSIGN(const bench::ReportFormat format, file_format(options));
  return bench::write_report(context.file_system(), util::Clock::system(),
                             place_of(options, report.benchmark_info.model_id), print_report(report, format));
}

// Its numbers are there whether or not a file could be made of them.
void show(Context& context, const bench::GenaiReport& report, bench::ReportFormat format,
          const Result<std::filesystem::path>& written) {
  if (!context.output.json) {
    context.output.machine(print_report(report, format));
    return;
  }
  nlohmann::json json = document("perf");
  json["report"] = nlohmann::json::parse(print_report(report, bench::ReportFormat::json));
  json["report_path"] = written ? nlohmann::json(path_text(*written)) : nlohmann::json(nullptr);
  if (!written) json["error"] = to_json(written.error());
  context.output.machine_json(json);
}

int perf_bundle(Context& context, const PerfOptions& options) {
  end_without_haste();  // what was measured is worth waiting for the request that runs
  const auto format = bench::parse_report_format(options.format.empty() ? "text" : util::ascii_lower(options.format));
  if (!format) return report_error(context, "perf", format.error());
  // Before the measurement that would be in vain; writing looks again.
  if (const auto place = check_report_place(context.file_system(), place_of(options, "bundle")); !place) {
    return report_error(context, "perf", place.error());
  }
  const auto report = measure(context, options);
  if (!report) return report_error(context, "perf", report.error());
  if (const auto stopped = interruption(*report))
    context.output.warn("interrupted " + *stopped + ": the report is of those");
  const auto written = write(context, options, *report);
  if (written) context.output.note("report: " + util::quoted(*written));
  show(context, *report, *format, written);
  if (!written) {
    context.output.error(written.error());
    return exit_code_of(written.error(), context.options.strict);
  }
  return report->interrupted || context.cancel.cancelled() ? kInterrupted : kDone;
}

int run_perf(Context& context, const PerfOptions& options) {
  const auto runtime = runtime_of(options);
  if (!runtime) return report_error(context, "perf", runtime.error());
  if (*runtime == PerfRuntime::ort) {
    return report_error(context, "perf",
                        {ErrorCode::unsupported, "perf measures bundles only in this version, not single models",
                         options.bundle.bundle, "give a folder with genai_config.json; precast run runs a model once"});
  }
  if (!options.ignored.empty()) {
    context.output.warn("for a bundle these options mean nothing and are ignored: " +
                        util::listed(options.ignored, 20));
  }
  return perf_bundle(context, options);
}

}  // namespace

void add_perf_command(CLI::App& app, Body& chosen) {
  auto options = std::make_shared<PerfOptions>();
  CLI::App* command = app.add_subcommand("perf", "Measure a language-model bundle: TTFT, prefill, tokens per second");
  command->fallthrough();
  add_perf_options(*command, *options);
  command->footer(
      "Examples:\n"
      "  precast perf bundle\n"
      "  precast perf bundle --ep openvino --compile --iterations 20 --max-new-tokens 64\n"
      "  precast perf bundle --prompt-tokens 128 --ignore-eos -o report.json\n"
      "  precast perf bundle -f md >> results.md\n\n"
      "stdout has the report as -f says (a table without it); under --json the whole of it. A file has it too: -o's, "
      "in\n"
      "the format of -f, else of its ending (.json, .md, .csv, .txt), else JSON; without -o always JSON, in\n"
      "$XDG_STATE_HOME/precast/perf/<bundle>/<time>.json (~/.local/state/...). Ctrl-C ends with what was measured, "
      "and\n"
      "says so in the report. A stage that names an EP never falls back to the CPU here.");
  command->callback([options, command, &chosen] {
    options->ignored = ignored_options(*command);
    chosen = [options](Context& context) { return run_perf(context, *options); };
  });
}

}  // namespace precast::cli
