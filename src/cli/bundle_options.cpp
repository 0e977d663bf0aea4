#include "cli/bundle_options.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/compile_options.hpp"
#include "cli/result_json.hpp"
#include "ort/ep_table.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::cli {

void add_bundle_options(CLI::App& command, BundleOptions& options) {
  command.add_option("BUNDLE", options.bundle, "Folder with genai_config.json")->required()->type_name("DIR");
  add_bundle_load_options(command, options);
}

void add_bundle_load_options(CLI::App& command, BundleOptions& options) {
  command
      .add_option("--ep", options.ep,
                  "Execution provider for the stages that name one (default: the bundle's own): " +
                      ort::known_ep_aliases() + "; NAME@SOURCE pins the source")
      ->type_name("NAME");
  command.add_option("-d,--device", options.device, "Device class; config: the bundle's own routing")
      ->check(CLI::IsMember({"config", "auto", "cpu", "gpu", "npu", "mixed"}, CLI::ignore_case))
      ->capture_default_str();
  command.add_flag("--compile,!--no-compile", options.compile,
                   "Compile the stages that name an EP, through the cache (default: load the bundle as it is)");
  command.add_flag("--embed", options.embed, "Context binaries inside the stages' model files instead of beside them")
      ->needs("--compile");
  command.add_option("--compile-timeout", options.compile_timeout, "End a stage's compile after this time")
      ->type_name("TIME")
      ->capture_default_str();
  command
      .add_option("--lock-timeout", options.lock_timeout,
                  "Wait at most this long for another's compile (default: until it ends)")
      ->type_name("TIME");
  command.add_option("-j,--jobs", options.jobs, "Stages compiled at the same time (default: as many as cores)")
      ->check(CLI::Range(1U, 256U));
  auto* rebuild = command.add_flag("--rebuild", options.rebuild, "Compile every stage again")->needs("--compile");
  command.add_flag("--no-cache", options.no_cache, "Neither read nor write the store")
      ->excludes(rebuild)
      ->needs("--compile");
  command.add_flag("--retry-failed", options.retry_failed, "Try again although an earlier compile failed")
      ->needs("--compile");
  command.add_option("--context-length", options.context_length, "Instead of the bundle's model.context_length")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 31));
}

Result<genai::LoadOptions> make_load_options(const BundleOptions& options, const GlobalOptions& globals) {
  CompileOptions compiling;
  compiling.embed = options.embed;
  compiling.compile_timeout = options.compile_timeout;
  compiling.lock_timeout = options.lock_timeout;
  compiling.rebuild = options.rebuild;
  compiling.no_cache = options.no_cache;
  compiling.retry_failed = options.retry_failed;
  genai::LoadOptions session;
  session.bundle = options.bundle;
  session.prepare.ep = options.ep;
  session.prepare.device = options.device;
  session.prepare.compile = options.compile;
  session.prepare.jobs = options.jobs;
  session.prepare.forbid_cpu_fallback = globals.strict;
  session.prepare.require_compiled = globals.strict;
  session.prepare.require_effect = globals.strict;
  PRECAST_TRY_ASSIGN(session.prepare.request, make_request(compiling, globals));
  session.prepare.request.accept_private = true;
  if (options.context_length > 0) session.context_length = options.context_length;
  session.library.library = globals.genai_library;
  return session;
}

genai::StageObserver StageProgress::observer() {
  return [this](const std::string& stage, const compile::Progress* progress) { update(stage, progress); };
}

void StageProgress::update(const std::string& stage, const compile::Progress* progress) {
  const std::lock_guard guard(mutex_);
  auto& reporter = reporters_[stage];
  if (progress == nullptr) {
    reporter.reset();
    return;
  }
  const std::string bundle = util::quoted(bundle_);
  if (!reporter) {
    reporter = std::make_unique<ProgressReporter>(
        output_, stage.empty() ? bundle : "stage " + util::quoted(stage) + " of " + bundle);
  }
  reporter->update(*progress);
}

Result<std::shared_ptr<genai::Session>> load_session(Context& context, const BundleOptions& options, bool as_asked) {
  PRECAST_TRY_ASSIGN(auto wanted, make_load_options(options, context.options));
  wanted.prepare.forbid_cpu_fallback |= as_asked;
  wanted.prepare.require_effect |= as_asked;
  if (options.compile && !options.no_cache) {
    PRECAST_TRY(genai::check_store_place(store::default_root(context.options.cache_dir), options.bundle));
  }
  PRECAST_TRY_ASSIGN(compile::Resolver* const resolver, context.resolver(options.compile && !options.no_cache));
  auto session = std::make_shared<genai::Session>(*resolver, std::move(wanted));
  {
    StageProgress progress(context.output, options.bundle);
    PRECAST_TRY(session->load(progress.observer()));
  }
  context.keep_until_exit(session);
  for (const std::string& note : session->bundle().notes) {
    if (context.options.verbosity > 0) context.output.note(util::quoted(options.bundle) + ": " + note);
  }
  if (options.compile) say_stages(context, session->prepared());
  for (const std::string& warning : session->prepared().warnings) context.output.warn(warning);
  return session;
}

std::string stage_sentence(const genai::PreparedStage& stage) {
  std::string text = "stage " + util::quoted(stage.name) + ": " + std::string(to_string(stage.outcome));
  if (stage.compiled()) {
    text += " for " + stage.ep;
  }
  if (stage.outcome == genai::StageOutcome::compiled) {
    const double ms = stage.resolution->timings.compile;
    text += ", " + util::format_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(ms * 1e6)));
  }
  return stage.reason.empty() ? text : text + " (" + stage.reason + ")";
}

void say_stages(Context& context, const genai::PreparedBundle& prepared) {
  for (const genai::PreparedStage& stage : prepared.stages) {
    context.output.note(stage_sentence(stage));
    if (context.options.verbosity > 0 && stage.resolution) context.output.note(details(*stage.resolution));
    const bool failed = stage.outcome == genai::StageOutcome::failed;
    if (failed && !stage.resolution->log_tail.empty()) {
      context.output.note("--- last lines of the compile's log\n" + stage.resolution->log_tail + "---");
    }
  }
}

nlohmann::json stages_json(const genai::PreparedBundle& prepared) {
  nlohmann::json stages = nlohmann::json::array();
  for (const genai::PreparedStage& stage : prepared.stages) {
    const bool keyed = stage.resolution && !stage.resolution->key.empty();
    stages.push_back({{"name", util::escape_invalid_utf8(stage.name)},
                      {"outcome", std::string(to_string(stage.outcome))},
                      {"reason", stage.reason.empty() ? nlohmann::json(nullptr)
                                                      : nlohmann::json(util::escape_invalid_utf8(stage.reason))},
                      {"key", keyed ? nlohmann::json(stage.resolution->key) : nlohmann::json(nullptr)},
                      {"ep", stage.ep.empty() || stage.on_cpu ? "CPUExecutionProvider" : stage.ep},
                      {"provider_nodes", stage.nodes.empty() ? nlohmann::json(nullptr) : nlohmann::json(stage.nodes)}});
  }
  return stages;
}

void add_route_json(nlohmann::json& document, const genai::PreparedBundle& prepared) {
  document["ep"] = prepared.route.effective_ep;
  document["device"] = prepared.route.effective_device
                           ? nlohmann::json(std::string(ort::to_string(*prepared.route.effective_device)))
                           : nlohmann::json(nullptr);
  document["running_path"] = path_text(prepared.folder);
}

}  // namespace precast::cli
