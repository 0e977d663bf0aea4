#include "bench/genai_run.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::bench {

namespace {

constexpr std::string_view kMadeUpText =
    "Every request of a measurement reads the same words, so that what differs is the machine and not the question. "
    "Rivers carry sand to the sea, and the sea gives back rain; nobody counts the grains, but each of them has "
    "weight. ";

bool is_special(const genai::Bundle& bundle, std::int32_t id) {
  const auto& eos = bundle.eos_token_ids;
  return std::ranges::find(eos, id) != eos.end() || bundle.pad_token_id == id || bundle.bos_token_id == id;
}

LoadStage load_stage(const genai::PreparedStage& stage) {
  LoadStage result;
  result.name = util::escape_invalid_utf8(stage.name);
  result.outcome = stage.outcome;
  result.reason = if_any(stage.reason);
  if (!stage.resolution) return result;
  result.key = if_any(stage.resolution->key);
  if (stage.outcome == StageOutcome::compiled) {
    result.compile_seconds = stage.resolution->timings.compile / 1000;
  }
  return result;
}

// Of all stages that have one: the one that is furthest from a hit.
void fill_cache_section(PrecastSection& section, const genai::PreparedBundle& prepared) {
  section.version = PRECAST_VERSION;
  double compile_ms = 0;
  for (const genai::PreparedStage& stage : prepared.stages) {
    if (!stage.resolution) continue;
    compile_ms += stage.resolution->timings.compile;
    const std::string_view outcome = to_string(stage.outcome);
    const bool worse = !section.outcome || *section.outcome == "hit" || *section.outcome == "precompiled" ||
                       stage.outcome == StageOutcome::failed;
    if (!worse || section.outcome == "failed") continue;
    section.outcome = outcome;
    section.reason = if_any(stage.reason);
  }
  if (!section.outcome) return;
  section.compile_ms = compile_ms;
  if (!prepared.derived) return;
  section.key = prepared.derived->hit.marker.key;
  section.generation = prepared.derived->hit.marker.generation;
}

}  // namespace

RequestTiming to_request_timing(const genai::TimedGeneration& done, RequestKind kind, std::uint64_t index) {
  const GenerationTiming& timing = done.timing;
  RequestTiming request;
  request.kind = kind;
  request.index = index;
  request.prompt_tokens = done.generation.prompt_tokens;
  request.generated_tokens = done.generation.token_ids.size();
  request.finish_reason = done.generation.finish_reason;
  request.template_ms = timing.template_ms;
  request.tokenization_ms = timing.tokenization_ms;
  request.generator_create_ms = timing.generator_create_ms;
  request.prefill_ms = timing.prefill_ms;
  if (request.generated_tokens > 0) request.first_token_ms = timing.first_token_ms;
  request.decode_token_ms = timing.decode_token_ms;
  request.sequence_fetch_ms = timing.sequence_fetch_ms;
  request.detokenization_ms = timing.detokenization_ms;
  return request;
}

Result<GenaiRun> run_requests(genai::Session& session, const GenaiRunOptions& options, const util::CancelToken& cancel,
                              const RunObserver& observer, const MonotonicClock& clock) {
  GenaiRun run;
  run.requests.reserve(options.warmup + options.iterations);
  genai::GenerationRequest request;
  request.prompt = options.prompt;
  request.config = options.config;
  request.clock = clock;
  for (std::uint64_t i = 0; i < options.warmup + options.iterations; ++i) {
    const bool warmup = i < options.warmup;
    const RequestKind kind = warmup ? RequestKind::warmup : RequestKind::timed;
    const std::uint64_t index = warmup ? i : i - options.warmup;
    const RequestTiming* const last = run.requests.empty() ? nullptr : &run.requests.back();
    if (observer) observer({kind, index, warmup ? options.warmup : options.iterations, last});
    run.cancelled = cancel.cancelled();
    if (run.cancelled) break;
    PRECAST_TRY_ASSIGN(const auto done, session.generate(request));
    // One that was stopped in the middle would count as a short one.
    run.cancelled = done.generation.finish_reason == FinishReason::cancelled;
    if (run.cancelled) break;
    if (i == 0) run.warnings = done.generation.warnings;
    run.requests.push_back(to_request_timing(done, kind, index));
  }
  return run;
}

Result<std::vector<std::int32_t>> made_up_prompt(genai::Session& session, std::uint64_t tokens) {
  PRECAST_TRY(session.load());
  const auto context = static_cast<std::uint64_t>(session.context_length());
  if (tokens >= context) {
    return fail(ErrorCode::bad_input,
                fmt::format("a prompt of {} tokens leaves no room in a context of {}", tokens, context),
                session.bundle().config_path, "give fewer --prompt-tokens");
  }
  PRECAST_TRY_ASSIGN(auto words, session.encode(std::string(kMadeUpText)));
  std::erase_if(words, [&](std::int32_t id) { return is_special(session.bundle(), id); });
  if (words.empty()) return fail(ErrorCode::bad_input, "the bundle's tokenizer makes no tokens of a text");
  std::vector<std::int32_t> ids(tokens);
  for (std::uint64_t i = 0; i < tokens; ++i) ids[i] = words[i % words.size()];
  return ids;
}

void fill_from_session(GenaiReport& report, const genai::Session& session) {
  const genai::PreparedBundle& prepared = session.prepared();
  const genai::LoadTimings& timings = session.load_timings();
  GenaiBenchmarkInfo& info = report.benchmark_info;
  info.running_model_path = util::escape_invalid_utf8(prepared.folder.native());
  info.ep = prepared.route.effective_ep;
  if (prepared.route.effective_device) info.effective_device = std::string(to_string(*prepared.route.effective_device));
  info.context_length = static_cast<std::uint64_t>(session.context_length());
  report.load.session_load_ms = timings.total;
  report.load.ep_registration_ms = timings.ep_registration;
  report.load.bundle_prepare_ms = timings.bundle_prepare;
  report.load.native_load_ms = timings.native_load();
  report.load.config_create_ms = timings.config_create;
  report.load.model_create_ms = timings.model_create;
  report.load.tokenizer_create_ms = timings.tokenizer_create;
  for (const genai::PreparedStage& stage : prepared.stages) report.load.stages.push_back(load_stage(stage));
  fill_cache_section(report.precast, prepared);
  report.environment.genai = if_any(session.library().version);
  for (const genai::PreparedStage& stage : prepared.stages) {
    if (stage.resolution && !report.environment.ep_version) {
      report.environment.ep_version = if_any(stage.resolution->target.ep.version);
    }
  }
}

}  // namespace precast::bench
