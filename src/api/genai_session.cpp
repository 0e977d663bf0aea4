#include "precast/genai_session.hpp"

#include "api/state.hpp"
#include "genai/session.hpp"
#include "identity/links.hpp"
#include "util/try.hpp"

namespace precast {

namespace {

genai::LoadOptions load_options(const std::filesystem::path& bundle, const GenaiOptions& options) {
  genai::LoadOptions load;
  load.bundle = bundle;
  load.context_length = options.context_length;
  load.library.library = options.genai_library;
  genai::PrepareOptions& prepare = load.prepare;
  prepare.ep = options.ep;
  prepare.device = options.device;
  prepare.compile = options.compile;
  prepare.jobs = options.jobs;
  prepare.forbid_cpu_fallback = options.forbid_cpu_fallback;
  prepare.require_compiled = options.require_compiled;
  prepare.require_effect = options.require_effect;
  compile::Request& request = prepare.request;
  request.accept_private = true;
  request.embed = options.embed;
  request.validate = options.validate;
  request.compile_timeout = options.compile_timeout;
  request.lock_timeout = options.lock_timeout;
  request.rebuild = options.rebuild;
  request.no_cache = options.no_cache;
  request.retry_failed = options.retry_failed;
  request.retry_failed_after = options.retry_failed_after;
  request.worker_environment = options.worker_environment;
  for (const auto& file : options.extra_files) request.extra_files.push_back(identity::logical_absolute(file));
  return load;
}

StageInfo info_of(const genai::PreparedStage& stage) {
  StageInfo info;
  info.name = stage.name;
  info.outcome = stage.outcome;
  info.reason = stage.reason;
  info.ep = stage.ep.empty() || stage.on_cpu ? "CPUExecutionProvider" : stage.ep;
  info.provider_nodes = stage.nodes;
  if (!stage.resolution) return info;
  info.key = stage.resolution->key;
  info.generation = stage.resolution->generation;
  if (stage.outcome == StageOutcome::compiled) info.compile_seconds = stage.resolution->timings.compile / 1000;
  if (stage.outcome == StageOutcome::failed) info.error = stage.resolution->error;
  return info;
}

}  // namespace

struct GenaiSession::State {
  State(CompileCache given, const std::filesystem::path& bundle, const GenaiOptions& options)
      : cache(std::move(given)), session(*cache.state()->resolver, load_options(bundle, options)) {}

  [[nodiscard]] Result<TimedGeneration> generate(const Prompt& prompt, const GenerationConfig& config,
                                                 const TextCallback& on_text, const MonotonicClock& clock) {
    PRECAST_TRY_ASSIGN(auto done, session.generate({prompt, config, on_text, clock}));
    return TimedGeneration{std::move(done.generation), std::move(done.timing)};
  }

  CompileCache cache;  // first: the session uses its resolver
  genai::Session session;
};

GenaiSession::GenaiSession(CompileCache cache, const std::filesystem::path& bundle, const GenaiOptions& options)
    : state_(std::make_unique<State>(std::move(cache), bundle, options)) {}
GenaiSession::~GenaiSession() = default;
GenaiSession::GenaiSession(GenaiSession&&) noexcept = default;
GenaiSession& GenaiSession::operator=(GenaiSession&&) noexcept = default;

Result<void> GenaiSession::load(const MonotonicClock& clock) {
  return state_->session.load({}, clock);
}
bool GenaiSession::is_loaded() const {
  return state_->session.is_loaded();
}
void GenaiSession::unload() {
  state_->session.unload();
}

std::vector<StageInfo> GenaiSession::stages() const {
  std::vector<StageInfo> stages;
  if (!is_loaded()) return stages;
  for (const genai::PreparedStage& stage : state_->session.prepared().stages) stages.push_back(info_of(stage));
  return stages;
}
std::vector<std::string> GenaiSession::warnings() const {
  return is_loaded() ? state_->session.prepared().warnings : std::vector<std::string>();
}
GenaiLoadTimings GenaiSession::load_timings() const {
  return is_loaded() ? state_->session.load_timings() : GenaiLoadTimings();
}
std::int64_t GenaiSession::context_length() const {
  return is_loaded() ? state_->session.context_length() : 0;
}
std::string GenaiSession::effective_ep() const {
  return is_loaded() ? state_->session.prepared().route.effective_ep : std::string();
}
std::optional<std::string> GenaiSession::effective_device() const {
  if (!is_loaded() || !state_->session.prepared().route.effective_device) return std::nullopt;
  return std::string(ort::to_string(*state_->session.prepared().route.effective_device));
}
std::filesystem::path GenaiSession::running_path() const {
  return is_loaded() ? state_->session.prepared().folder : std::filesystem::path();
}

Result<std::vector<std::int32_t>> GenaiSession::encode(const std::string& text) {
  return state_->session.encode(text);
}
Result<std::string> GenaiSession::decode(std::span<const std::int32_t> token_ids) {
  return state_->session.decode(token_ids);
}
Result<std::string> GenaiSession::apply_chat_template(const std::vector<ChatMessage>& messages,
                                                      bool add_generation_prompt) {
  return state_->session.apply_chat_template(messages, add_generation_prompt);
}

Result<Generation> GenaiSession::generate(const Prompt& prompt, const GenerationConfig& config) {
  return generate_streaming(prompt, config, [](std::string_view) { return true; });
}
Result<Generation> GenaiSession::generate_streaming(const Prompt& prompt, const GenerationConfig& config,
                                                    const TextCallback& on_text) {
  PRECAST_TRY_ASSIGN(auto done, state_->generate(prompt, config, on_text, {}));
  return std::move(done.generation);
}
Result<TimedGeneration> GenaiSession::generate_timed(const Prompt& prompt, const GenerationConfig& config,
                                                     const MonotonicClock& clock) {
  return state_->generate(prompt, config, {}, clock);
}

}  // namespace precast
