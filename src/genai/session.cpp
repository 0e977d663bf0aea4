#include "genai/session.hpp"

#include <algorithm>
#include <utility>

#include "genai/placement_log.hpp"
#include "genai/stage_compile.hpp"
#include "util/text.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::genai {

namespace {

constexpr std::uint64_t kLargestTemplate = 1U << 20U;

// The one beside the configuration wins over the tokenizer's own.
Result<std::string> read_template(fs::FileSystem& fs, const Bundle& bundle) {
  auto text = fs::read_small_file(fs, bundle.folder / "chat_template.jinja", kLargestTemplate);
  if (!text && fs::is_not_found(text.error())) return std::string();
  return text;
}

std::vector<std::string> pad_warnings(const Bundle& bundle) {
  if (!is_windowed_pipeline(bundle) || !bundle.pad_token_id) return {};
  if (std::ranges::find(bundle.eos_token_ids, *bundle.pad_token_id) == bundle.eos_token_ids.end()) return {};
  return {"pad_token_id is an eos_token_id too: with a sliding window what comes may be wrong"};
}

}  // namespace

struct Session::State {
  State(compile::Resolver& given, LoadOptions wanted) : resolver(given), options(std::move(wanted)) {}

  // Everything that goes when it is unloaded; in this order from the end.
  struct Loaded {
    OpenedBundle opened;
    PreparedBundle prepared;
    std::int64_t context_length = 0;
    std::string chat_template;
    std::shared_ptr<const Library> library;
    std::optional<Native> native;
    ModelHandle model;
    TokenizerHandle tokenizer;
    LoadTimings timings;
  };

  Result<void> load(const StageObserver& observer, const MonotonicClock& clock);
  Result<void> create(Loaded& made, ort::Runtime& runtime, const std::function<double()>& lap);
  Result<void> prepare_and_create(Loaded& made, ort::Runtime& runtime, const StageObserver& observer,
                                  const std::function<double()>& lap);
  Result<LoadedModel> ready();

  compile::Resolver& resolver;
  LoadOptions options;
  std::optional<Loaded> loaded;
};

namespace {

// Stages on an EP of which nobody knows yet which nodes it runs.
std::vector<std::string> stages_to_ask_about(const PreparedBundle& prepared, bool forbid_cpu_fallback) {
  std::vector<std::string> stages;
  if (forbid_cpu_fallback) return stages;  // ORT refuses instead
  for (const PreparedStage& stage : prepared.stages) {
    if (!stage.ep.empty() && !stage.on_cpu && stage.nodes.empty()) stages.push_back(stage.name);
  }
  return stages;
}

void report_fallback(PreparedBundle& prepared) {
  for (const PreparedStage& stage : prepared.stages) {
    const auto cpu = stage.nodes.find("CPUExecutionProvider");
    if (stage.ep.empty() || stage.on_cpu || cpu == stage.nodes.end()) continue;
    std::uint64_t all = 0;
    for (const auto& [ep, nodes] : stage.nodes) all += nodes;
    prepared.warnings.push_back("stage " + util::quoted(stage.name) + ": " + std::to_string(cpu->second) + " of " +
                                std::to_string(all) + " nodes run on ONNX Runtime's CPU EP, not on " + stage.ep);
  }
}

// What stays of the route once it is loaded.
void take_effect(PreparedBundle& prepared) {
  bool hardware = false;
  for (const PreparedStage& stage : prepared.stages) {
    const bool all_on_cpu = !stage.nodes.empty() && !stage.nodes.contains(stage.ep);
    hardware |= !stage.ep.empty() && !stage.on_cpu && !all_on_cpu;
  }
  if (hardware || !prepared.route.uses_hardware) return;
  prepared.route.effective_ep = "cpu";
  prepared.route.effective_device = ort::DeviceClass::cpu;
}

}  // namespace

Result<void> Session::State::create(Loaded& made, ort::Runtime& runtime, const std::function<double()>& lap) {
  const Native& native = *made.native;
  PRECAST_TRY_ASSIGN(const ConfigHandle config, native.create_config(made.prepared.folder));
  const std::string overlay = logging_overlay(stages_to_ask_about(made.prepared, options.prepare.forbid_cpu_fallback),
                                              made.opened.bundle.layout == Layout::pipeline);
  std::optional<PlacementLog> placement;
  if (!overlay.empty()) {
    PRECAST_TRY(native.overlay(*config, overlay));
    placement.emplace(runtime);
  }
  made.timings.config_create = lap();
  PRECAST_TRY_ASSIGN(made.model, native.create_model(*config));
  made.timings.model_create = lap();
  if (placement) {
    const auto nodes = placement->nodes();
    for (PreparedStage& stage : made.prepared.stages) {
      if (const auto at = nodes.find(stage.name); at != nodes.end()) stage.nodes = at->second;
    }
  }
  lap();
  PRECAST_TRY_ASSIGN(made.tokenizer, native.create_tokenizer(*made.model));
  made.timings.tokenizer_create = lap();
  return {};
}

// genai loads one stage after the other, and its words seldom say which one it was.
std::string stage_that_failed(const Error& error, const PreparedBundle& prepared, const Native& native,
                              ort::Runtime& runtime, bool pipeline) {
  if (prepared.stages.size() == 1) return prepared.stages.front().name;
  std::vector<std::string> names;
  for (const PreparedStage& stage : prepared.stages) {
    if (error.message.find((prepared.folder / stage.file).native()) != std::string::npos) return stage.name;
    names.push_back(stage.name);
  }
  // Once more, with ORT naming each stage that it opens.
  const auto config = native.create_config(prepared.folder);
  if (!config) return {};
  if (!native.overlay(**config, logging_overlay(names, pipeline, ORT_LOGGING_LEVEL_INFO))) return {};
  const PlacementLog log(runtime);
  return native.create_model(**config) ? std::string() : log.last_stage();
}

// genai's words with the user's files in place of those that genai loaded, the stage, and what can be done.
Error explained(Error error, const OpenedBundle& opened, const PreparedBundle& prepared, const std::string& stage) {
  for (std::size_t i = 0; i < prepared.stages.size(); ++i) {
    util::replace_all(error.message, (prepared.folder / prepared.stages[i].file).native(),
                      opened.bundle.stages[i].model.native());
  }
  if (!prepared.is_original) {
    util::replace_all(error.message, prepared.folder.native(), opened.bundle.folder.native());
  }
  const auto at = std::ranges::find(prepared.stages, stage, &PreparedStage::name);
  if (at == prepared.stages.end()) {
    error.message = util::quoted(opened.bundle.folder) + ": " + error.message;
    error.path = opened.bundle.folder;
    error.hint = "precast doctor says whether onnxruntime-genai and the EPs are well; --ep cpu loads it without an EP";
    return error;
  }
  error.message = stage_of(opened.bundle, stage) + (at->compiled() ? ", as compiled for " + at->ep : std::string()) +
                  ": " + error.message;
  error.path = opened.bundle.stages[static_cast<std::size_t>(at - prepared.stages.begin())].model;
  if (error.message.find("fallback to CPU EP has been explicitly disabled") != std::string::npos) {
    error.hint = at->ep + " does not run all of its nodes, and perf and --strict refuse the CPU for the rest: " +
                 "precast generate says how many there are";
  } else if (at->compiled()) {
    error.hint = "--rebuild compiles it again; without --strict its original runs";
  } else if (at->ep.empty() || at->on_cpu) {
    error.hint = "precast run " + util::quoted(error.path) + " tries the model alone";
  } else {
    error.hint = "precast run " + util::quoted(error.path) + " --ep " + at->ep +
                 " tries the model alone; --ep cpu runs the bundle without that EP";
  }
  return error;
}

// Originals of stages that did not compile may not load on their EP either: then they run on the CPU.
std::optional<EarlierAttempt> with_originals_on_cpu(PreparedBundle& prepared) {
  EarlierAttempt next;
  bool any = false;
  for (const PreparedStage& stage : prepared.stages) {
    any |= stage.outcome == StageOutcome::failed && !stage.on_cpu;
    if (stage.outcome == StageOutcome::failed || stage.on_cpu) next.on_cpu.insert(stage.name);
  }
  if (!any) return std::nullopt;
  next.stages = std::move(prepared.stages);
  return next;
}

// A compiled stage that does not load runs its original; where nobody knows which one it was, all do.
std::optional<EarlierAttempt> without_compiled(PreparedBundle& prepared, const std::string& stage, const Error& error) {
  EarlierAttempt next;
  for (const PreparedStage& one : prepared.stages) {
    if (one.compiled() && (stage.empty() || stage == one.name)) next.not_loaded[one.name] = error.message;
    if (one.on_cpu) next.on_cpu.insert(one.name);
  }
  if (next.not_loaded.empty()) return std::nullopt;
  next.stages = std::move(prepared.stages);
  return next;
}

Result<void> Session::State::prepare_and_create(Loaded& made, ort::Runtime& runtime, const StageObserver& observer,
                                                const std::function<double()>& lap) {
  std::optional<EarlierAttempt> attempt = EarlierAttempt();
  for (;;) {  // a stage goes from compiled to original to the CPU, and never back
    lap();
    PRECAST_TRY_ASSIGN(made.prepared,
                       prepare_bundle(resolver, made.opened, options.prepare, observer, *std::move(attempt)));
    made.timings.bundle_prepare += lap();
    const compile::Progress opening{compile::Stage::opening, std::nullopt, std::nullopt};
    if (observer) observer("", &opening);
    const auto created = create(made, runtime, lap);
    if (observer) observer("", nullptr);
    if (created) return {};
    made.tokenizer.reset();
    made.model.reset();
    if (!options.prepare.forbid_cpu_fallback) {
      attempt = with_originals_on_cpu(made.prepared);
      if (attempt) continue;
    }
    const std::string stage = stage_that_failed(created.error(), made.prepared, *made.native, runtime,
                                                made.opened.bundle.layout == Layout::pipeline);
    const Error error = explained(created.error(), made.opened, made.prepared, stage);
    if (options.prepare.require_compiled) return std::unexpected(error);
    attempt = without_compiled(made.prepared, stage, created.error());
    if (!attempt) return std::unexpected(error);
  }
}

Result<void> Session::State::load(const StageObserver& observer, const MonotonicClock& clock) {
  if (loaded) return {};
  const auto now = [&] { return clock ? clock() : std::chrono::steady_clock::now().time_since_epoch(); };
  const auto ms = [](std::chrono::nanoseconds time) { return std::chrono::duration<double, std::milli>(time).count(); };
  std::chrono::nanoseconds last = now();
  const std::chrono::nanoseconds start = last;
  const std::function<double()> lap = [&] {
    const std::chrono::nanoseconds at = now();
    return ms(at - std::exchange(last, at));
  };
  fs::FileSystem& fs = resolver.services().file_system;
  Loaded made;
  PRECAST_TRY_ASSIGN(made.opened, open_bundle(fs, options.bundle, options.prepare));
  PRECAST_TRY_ASSIGN(made.context_length, context_length_of(made.opened.bundle, options.context_length));
  PRECAST_TRY_ASSIGN(made.chat_template, read_template(fs, made.opened.bundle));
  made.timings.bundle_prepare = lap();
  PRECAST_TRY_ASSIGN(ort::Catalog* const catalog, resolver.services().catalog());
  PRECAST_TRY_ASSIGN(made.library, Library::load(fs, catalog->runtime(), options.library));
  made.native.emplace(made.library);
  PRECAST_TRY(find_eps(fs, *catalog, made.opened));
  made.timings.ep_registration = lap();
  PRECAST_TRY(prepare_and_create(made, catalog->runtime(), observer, lap));
  report_fallback(made.prepared);
  take_effect(made.prepared);
  for (std::string& warning : pad_warnings(made.opened.bundle)) made.prepared.warnings.push_back(std::move(warning));
  made.timings.total = ms(now() - start);
  loaded.emplace(std::move(made));
  return {};
}

Result<LoadedModel> Session::State::ready() {
  PRECAST_TRY(load({}, {}));
  return LoadedModel{*loaded->native,        *loaded->model,        *loaded->tokenizer,        loaded->opened.bundle,
                     loaded->context_length, loaded->chat_template, resolver.services().cancel};
}

Session::Session(compile::Resolver& resolver, LoadOptions options)
    : state_(std::make_unique<State>(resolver, std::move(options))) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

Result<void> Session::load(const StageObserver& observer, const MonotonicClock& clock) {
  return state_->load(observer, clock);
}
bool Session::is_loaded() const {
  return state_->loaded.has_value();
}
void Session::unload() {
  state_->loaded.reset();
}
const Bundle& Session::bundle() const {
  return state_->loaded->opened.bundle;
}
const PreparedBundle& Session::prepared() const {
  return state_->loaded->prepared;
}
const LoadTimings& Session::load_timings() const {
  return state_->loaded->timings;
}
std::int64_t Session::context_length() const {
  return state_->loaded->context_length;
}
const LibraryLocation& Session::library() const {
  return state_->loaded->library->location();
}

std::vector<std::shared_ptr<void>> Session::take_private_owners() {
  std::vector<std::shared_ptr<void>> owners;
  if (!state_->loaded) return owners;
  PreparedBundle& prepared = state_->loaded->prepared;
  owners.push_back(std::move(prepared.view));
  for (PreparedStage& stage : prepared.stages) {
    if (!stage.resolution) continue;
    owners.push_back(std::move(stage.resolution->private_owner));
    owners.push_back(std::move(stage.resolution->orphan));
  }
  return owners;
}

Result<std::vector<std::int32_t>> Session::encode(const std::string& text) {
  PRECAST_TRY_ASSIGN(const LoadedModel model, state_->ready());
  return model.native.encode(model.tokenizer, text);
}

Result<std::string> Session::decode(std::span<const std::int32_t> ids) {
  PRECAST_TRY_ASSIGN(const LoadedModel model, state_->ready());
  return model.native.decode(model.tokenizer, ids);
}

Result<std::string> Session::apply_chat_template(const std::vector<ChatMessage>& messages, bool add_generation_prompt) {
  PRECAST_TRY_ASSIGN(const LoadedModel model, state_->ready());
  return apply_template(model, messages, add_generation_prompt);
}

Result<TimedGeneration> Session::generate(const GenerationRequest& request) {
  PRECAST_TRY_ASSIGN(const LoadedModel model, state_->ready());
  return genai::generate(model, request);
}

}  // namespace precast::genai
