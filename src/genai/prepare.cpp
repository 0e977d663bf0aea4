#include "genai/prepare.hpp"

#include <algorithm>

#include "genai/bundle_view.hpp"
#include "genai/stage_compile.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::genai {

namespace {

namespace stdfs = std::filesystem;

Result<void> require_stages(const Bundle& bundle, const PreparedBundle& prepared) {
  for (const PreparedStage& stage : prepared.stages) {
    if (stage.outcome != StageOutcome::failed) continue;
    const Error& why = *stage.resolution->error;
    return fail(why.code, stage_of(bundle, stage.name) + ": " + why.message, bundle.folder, why.hint);
  }
  return {};
}

// Its original would be compiled in this process, by the EP that crashed or hung on it in a worker.
Result<void> refuse_unsafe_stages(const Bundle& bundle, const PreparedBundle& prepared) {
  for (const PreparedStage& stage : prepared.stages) {
    if (!stage.resolution || !stage.resolution->unsafe_to_open) continue;
    const Error why = stage.resolution->error.value_or(Error{ErrorCode::compile_failed, stage.reason, {}, {}});
    return fail(why.code,
                stage_of(bundle, stage.name) + " may not run on the CPU, and " + stage.ep +
                    " crashed or hung on it: " + why.message,
                bundle.folder, "use --ep cpu, or run it without --strict to have it fall back");
  }
  return {};
}

// A stage whose original runs although it should have been compiled. What its EP crashed or hung on in a worker is not
// loaded on that EP in this process.
void take_back(PreparedBundle& prepared, const std::set<std::string>& on_cpu, bool may_run_on_cpu) {
  for (std::size_t i = 0; i < prepared.stages.size(); ++i) {
    PreparedStage& stage = prepared.stages[i];
    const bool unsafe = stage.resolution && stage.resolution->unsafe_to_open;
    stage.on_cpu = may_run_on_cpu && !stage.ep.empty() && (unsafe || on_cpu.contains(stage.name));
    if (stage.on_cpu) {
      StageRoute& route = prepared.route.stages[i];
      route.ep.clear();
      route.options.clear();
      route.providers.clear();
      route.rerouted = true;
    }
    if (stage.outcome != StageOutcome::failed && !stage.on_cpu) continue;
    std::string text = "stage " + util::quoted(stage.name) + " runs its original";
    if (stage.on_cpu) text += " on the CPU";
    prepared.warnings.push_back(text + (stage.reason.empty() ? "" : ": " + stage.reason));
  }
}

std::string place_of(const std::string& base, std::size_t index, const std::string& stage) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  const bool plain = stage.size() <= 64 && stage.find_first_not_of(kPlain) == std::string::npos;
  return base + "/" + std::to_string(index) + (plain ? "-" + stage : "");
}

// Nothing of the user's has it.
std::string free_base(const std::vector<BundleFile>& files) {
  std::string base = "precast";
  const auto taken = [&](const BundleFile& file) { return *file.name.begin() == base; };
  while (std::ranges::any_of(files, taken)) base += "_";
  return base;
}

// A stage's model and its external data. A compile looked at them already; only of other stages the model is read.
std::vector<stdfs::path> files_of_stage(fs::FileSystem& fs, const Stage& original, const PreparedStage& stage) {
  if (stage.resolution) return stage.resolution->source_files;
  std::vector<stdfs::path> files{original.model};
  const auto facts = model::read_model(fs, original.model);
  if (!facts) return files;  // it is no stage of ours to judge; genai will
  for (const model::ExternalFile& file : facts->external_files) {
    files.push_back(model::resolve_location(original.model, file.location));
  }
  return files;
}

// The models that are replaced, and their external data, unless another stage's model needs that too.
std::set<stdfs::path> replaced_files(const OpenedBundle& opened, const PreparedBundle& prepared, fs::FileSystem& fs) {
  std::set<stdfs::path> replaced;
  std::set<stdfs::path> needed;
  for (std::size_t i = 0; i < prepared.stages.size(); ++i) {
    const PreparedStage& stage = prepared.stages[i];
    std::set<stdfs::path>& to = stage.compiled() ? replaced : needed;
    for (const stdfs::path& file : files_of_stage(fs, opened.bundle.stages[i], stage)) {
      to.insert(file.lexically_relative(opened.bundle.folder).lexically_normal());
    }
  }
  for (const stdfs::path& path : needed) replaced.erase(path);
  replaced.insert(stdfs::path(kConfigName));
  return replaced;
}

// QNN finds no backend of its own where there is no Snapdragon. A bare name, so that the bundle can be moved.
void name_backend(fs::FileSystem& fs, const ort::FoundEp& ep, StageRoute& stage) {
  constexpr const char* kBackend = "libQnnHtp.so";
  if (ep.name != "QNNExecutionProvider" || stage.options.contains("backend_path")) return;
  if (stage.options.contains("backend_type") || !fs::exists(fs, ep.library.parent_path() / kBackend)) return;
  stage.options["backend_path"] = kBackend;
  for (Provider& provider : stage.providers) {
    if (provider.ep == ep.name) provider.options["backend_path"] = kBackend;
  }
}

// That the EP has a device here as the stage wants it; genai alone might run it elsewhere, or say it less clearly.
Result<ort::Target> bind_stage(ort::Catalog& catalog, const ort::FoundEp& ep, const OpenedBundle& opened,
                               const StageRoute& stage) {
  PRECAST_TRY_ASSIGN(const ort::EpDescription description, catalog.describe(ep));
  auto target = ort::bind_target(description, {stage.ep, device_for(opened.route, stage), {}}, stage.options);
  if (target) return target;
  Error& error = target.error();
  error.message = "stage " + util::quoted(stage.stage) + ": " + error.message;
  if (error.hint.find("--ep-options") != std::string::npos) {
    error.hint = "to run for another machine, name it in the stage's provider_options: soc_model (60), htp_arch (73)";
  }
  return target;
}

// Compiled for one EP, a stage runs on no other; genai only says that there is no kernel for a node.
Result<void> check_compiled_stages(fs::FileSystem& fs, const OpenedBundle& opened) {
  for (std::size_t i = 0; i < opened.route.stages.size(); ++i) {
    const StageRoute& route = opened.route.stages[i];
    if (!route.rerouted) continue;
    const auto facts = model::read_model(fs, opened.bundle.stages[i].model);
    if (!facts) continue;  // genai says what is wrong with it
    for (const model::EpContextNode& node : facts->ep_context_nodes) {
      const ort::EpSpec* const source = ort::find_ep(node.source);
      if (node.source.empty() || node.source == route.ep || (source != nullptr && source->name == route.ep)) continue;
      return fail(ErrorCode::bad_input,
                  stage_of(opened.bundle, route.stage) + " is compiled for " + util::quoted(node.source) +
                      " already: it cannot run on " + (route.ep.empty() ? "the CPU" : route.ep),
                  opened.bundle.stages[i].model, "use the bundle that it was compiled from, or leave --ep out");
    }
  }
  return {};
}

class Preparing {
 public:
  Preparing(compile::Resolver& resolver, const OpenedBundle& opened, const PrepareOptions& options)
      : services_(resolver.services()), fs_(services_.file_system), opened_(opened), options_(options) {}

  Result<void> run(PreparedBundle& prepared) {
    for (std::size_t i = 0; i < prepared.stages.size(); ++i) {
      prepared.stages[i].file = opened_.bundle.stages[i].filename;  // where nothing takes its place
    }
    if (!prepared.any_compiled()) {
      PRECAST_TRY_ASSIGN(const auto config, patched_config(opened_.bundle, prepared.route, {}));
      if (config) return view(prepared);
      prepared.folder = opened_.bundle.folder;
      prepared.is_original = true;
      return {};
    }
    PRECAST_TRY(write_recipe(prepared));
    return can_store(prepared) ? derive(prepared) : view(prepared);
  }

 private:
  [[nodiscard]] bool can_store(const PreparedBundle& prepared) const {
    if (options_.request.no_cache || services_.store == nullptr || !services_.store->writable()) return false;
    return std::ranges::none_of(prepared.stages, [](const PreparedStage& stage) {
      return stage.resolution && stage.resolution->private_generation;
    });
  }

  Result<void> write_recipe(PreparedBundle& prepared) {
    BundleRecipe& recipe = prepared.recipe.emplace();
    recipe.original = opened_.bundle.folder;
    PRECAST_TRY_ASSIGN(recipe.files,
                       files_of_bundle(fs_, opened_.bundle.folder, replaced_files(opened_, prepared, fs_)));
    const std::string base = free_base(recipe.files);
    std::vector<StageFile> replacements;
    for (std::size_t i = 0; i < prepared.stages.size(); ++i) {
      PreparedStage& stage = prepared.stages[i];
      if (!stage.compiled()) continue;
      const compile::Resolution& resolution = *stage.resolution;
      const std::string place = place_of(base, i, stage.name);
      PRECAST_TRY_ASSIGN(auto artifacts, artifacts_of(resolution));
      recipe.stages.push_back(
          {place, resolution.path.parent_path(), resolution.key, resolution.generation, std::move(artifacts)});
      stage.file = place + "/" + resolution.path.filename().string();
      replacements.push_back({stage.name, stage.file, true});
      if (recipe.ep.empty()) recipe.ep = resolution.target.ep.found.name;
      if (recipe.device.empty()) recipe.device = ort::to_string(resolution.target.device.device_class);
    }
    PRECAST_TRY_ASSIGN(const auto config, patched_config(opened_.bundle, prepared.route, replacements));
    if (!config) return fail(ErrorCode::internal, "a compiled bundle has the configuration of its original");
    recipe.config = *config;
    return {};
  }

  // A private generation is described by no marker.
  Result<std::vector<store::Artifact>> artifacts_of(const compile::Resolution& resolution) {
    if (!resolution.artifacts.empty()) return resolution.artifacts;
    PRECAST_TRY_ASSIGN(const auto entries, fs_.list(resolution.path.parent_path()));
    std::vector<store::Artifact> artifacts;
    for (const fs::DirEntry& entry : entries) {
      if (entry.name != store::kLogName) artifacts.push_back({entry.name, 0, {}});
    }
    return artifacts;
  }

  Result<void> derive(PreparedBundle& prepared) {
    fs::Lock::WaitOptions wait;
    wait.timeout = options_.request.lock_timeout;
    wait.cancel = services_.cancel;
    PRECAST_TRY_ASSIGN(prepared.derived, derive_bundle(*services_.store, *prepared.recipe, wait));
    prepared.folder = prepared.derived->folder;
    return {};
  }

  Result<void> view(PreparedBundle& prepared) {
    PRECAST_TRY_ASSIGN(auto work, compile::WorkFolder::temporary(fs_));
    prepared.view = std::make_shared<compile::WorkFolder>(std::move(work));
    std::vector<StageFile> replacements;
    std::vector<ViewedStage> viewed;
    for (std::size_t i = 0; i < prepared.stages.size(); ++i) {
      PreparedStage& stage = prepared.stages[i];
      if (!stage.compiled()) {
        stage.file = std::string(kOriginalInView) + "/" + opened_.bundle.stages[i].filename;
        replacements.push_back({stage.name, stage.file, false});
        continue;
      }
      const std::string place = place_of("precast", i, stage.name);
      viewed.push_back({place, stage.resolution->path.parent_path()});
      stage.file = place + "/" + stage.resolution->path.filename().string();
      replacements.push_back({stage.name, stage.file, true});
    }
    PRECAST_TRY_ASSIGN(const auto config, patched_config(opened_.bundle, prepared.route, replacements));
    PRECAST_TRY_ASSIGN(prepared.folder, make_view(fs_, *prepared.view, opened_.bundle.folder,
                                                  config.value_or(opened_.bundle.config_text), viewed));
    return {};
  }

  const compile::Services& services_;
  fs::FileSystem& fs_;
  const OpenedBundle& opened_;
  const PrepareOptions& options_;
};

}  // namespace

Result<void> check_store_place(const stdfs::path& root, const stdfs::path& bundle) {
  std::error_code error;  // what is not there is judged by those who need it
  stdfs::path folder = stdfs::canonical(bundle, error);
  if (!error && !stdfs::is_directory(folder, error)) folder = folder.parent_path();
  const stdfs::path place = stdfs::weakly_canonical(root, error);
  if (error || !fs::is_within(folder, place)) return {};
  return fail(ErrorCode::bad_input, "the cache " + util::quoted(place) + " lies in the bundle " + util::quoted(folder),
              place, "name another folder with --cache-dir or PRECAST_CACHE_DIR");
}

bool PreparedBundle::any_compiled() const {
  return std::ranges::any_of(stages, &PreparedStage::compiled);
}

Result<OpenedBundle> open_bundle(fs::FileSystem& fs, const stdfs::path& path, const PrepareOptions& options) {
  OpenedBundle opened;
  PRECAST_TRY_ASSIGN(opened.bundle, read_bundle(fs, path));
  RouteRequest request;
  request.ep = options.ep;
  request.device = options.device;
  request.forbid_cpu_fallback = options.forbid_cpu_fallback;
  request.require_effect = options.require_effect;
  PRECAST_TRY_ASSIGN(opened.route, route_bundle(opened.bundle, request));
  PRECAST_TRY(check_compiled_stages(fs, opened));
  return opened;
}

Result<void> find_eps(fs::FileSystem& fs, ort::Catalog& catalog, OpenedBundle& opened) {
  std::map<std::string, const ort::FoundEp*> found;
  std::map<std::string, stdfs::path> libraries;
  for (StageRoute& stage : opened.route.stages) {
    if (stage.ep.empty()) continue;
    PRECAST_TRY_ASSIGN(const ort::FoundEp* const ep,
                       ort::select_ep(catalog.found(), ort::parse_ep_reference(ep_reference(opened.route, stage))));
    found[stage.ep] = ep;
    libraries[stage.ep] = ep->library;
    name_backend(fs, *ep, stage);
  }
  PRECAST_TRY(check_options(fs, opened.route, libraries));
  std::set<ort::DeviceClass> devices;
  for (const StageRoute& stage : opened.route.stages) {
    if (stage.ep.empty()) continue;
    PRECAST_TRY_ASSIGN(const ort::Target target, bind_stage(catalog, *found.at(stage.ep), opened, stage));
    devices.insert(target.device.device_class);
  }
  // What binds, whatever a library's name says (QNN's simulator).
  if (devices.size() == 1) opened.route.effective_device = *devices.begin();
  if (devices.size() > 1) opened.route.effective_device.reset();
  return {};
}

Result<PreparedBundle> prepare_bundle(compile::Resolver& resolver, const OpenedBundle& opened,
                                      const PrepareOptions& options, const StageObserver& observer,
                                      EarlierAttempt earlier) {
  PreparedBundle prepared;
  prepared.route = opened.route;
  prepared.warnings = opened.route.warnings;
  const store::Store* const store = resolver.services().store;
  if (options.compile && store != nullptr) {
    PRECAST_TRY(check_store_place(store->layout().root(), opened.bundle.folder));
  }
  if (!earlier.stages.empty()) {
    prepared.stages = std::move(earlier.stages);
    for (PreparedStage& stage : prepared.stages) {
      const auto why = earlier.not_loaded.find(stage.name);
      if (why == earlier.not_loaded.end()) continue;
      stage.outcome = StageOutcome::failed;
      stage.reason = "its compiled model does not load: " + why->second;
      stage.resolution->error = Error{ErrorCode::compile_failed, stage.reason, {}, "--rebuild compiles it again"};
      stage.nodes.clear();
    }
  } else if (options.compile) {
    PRECAST_TRY_ASSIGN(prepared.stages, compile_stages(resolver, opened, options, observer));
  } else {
    for (const StageRoute& stage : opened.route.stages) {
      prepared.stages.push_back({.name = stage.stage,
                                 .ep = stage.ep,
                                 .outcome = StageOutcome::original,
                                 .reason = stage.ep.empty() ? "it runs on the CPU" : "not asked to compile",
                                 .resolution = std::nullopt});
    }
  }
  if (options.require_compiled) PRECAST_TRY(require_stages(opened.bundle, prepared));
  if (options.forbid_cpu_fallback) PRECAST_TRY(refuse_unsafe_stages(opened.bundle, prepared));
  take_back(prepared, earlier.on_cpu, !options.forbid_cpu_fallback);
  PRECAST_TRY(Preparing(resolver, opened, options).run(prepared));
  return prepared;
}

}  // namespace precast::genai
