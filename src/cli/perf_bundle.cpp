// precast perf BUNDLE
#include <fmt/format.h>

#include "bench/environment.hpp"
#include "bench/genai_run.hpp"
#include "bench/memory_monitor.hpp"
#include "cli/bundle_options.hpp"
#include "cli/exit_code.hpp"
#include "cli/generation_options.hpp"
#include "cli/live_line.hpp"
#include "cli/perf.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::cli {

namespace {

constexpr const char* kDefaultPrompt = "Explain the theory of relativity in simple terms.";
constexpr std::uint64_t kIterations = 10;
constexpr std::uint64_t kWarmups = 2;

std::string line_of(const bench::RunProgress& progress) {
  std::string text = fmt::format("{} {} of {}", progress.kind == bench::RequestKind::warmup ? "warm-up" : "request",
                                 progress.index + 1, progress.of);
  if (progress.last == nullptr) return text;
  const auto metrics = bench::metrics_of(*progress.last);
  if (metrics.model_ttft_ms) text += fmt::format(", TTFT {:.1f} ms", *metrics.model_ttft_ms);
  if (const auto rate = metrics.steady_state_decode_tokens_per_second) text += fmt::format(", {:.2f} tokens/s", *rate);
  return text;
}

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
  info.iterations = options.iterations.value_or(kIterations);
  info.warmup = options.warmup.value_or(kWarmups);
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
  run.iterations = options.iterations.value_or(kIterations);
  run.warmup = options.warmup.value_or(kWarmups);
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
    live.show([&] { return line_of(progress); });
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

}  // namespace

int perf_bundle(Context& context, const PerfOptions& options, PerfOutput& output) {
  const auto report = measure(context, options);
  if (!report) return report_error(context, "perf", report.error());
  if (const auto stopped = interruption(*report)) {
    context.output.warn("interrupted " + *stopped + ": the report is of those");
  }
  const int code = output.show({.name = report->benchmark_info.model_id,
                                .document = to_json(bench::genai_fields(), *report),
                                .fields = descriptions(bench::genai_fields())});
  if (code != kDone) return code;
  return report->interrupted || context.cancel.cancelled() ? kInterrupted : kDone;
}

}  // namespace precast::cli
