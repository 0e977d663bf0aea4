#include "compile/resolver.hpp"

#include "compile/embedding.hpp"
#include "compile/miss.hpp"
#include "identity/hashing_digester.hpp"
#include "identity/links.hpp"
#include "process/child.hpp"
#include "util/text.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::compile {

namespace {

constexpr int kCompileOptimizationLevel = 0;  // DISABLE_ALL, the Compile API's default

struct LookedUp {
  std::optional<store::Hit> hit;
  std::string miss_reason;
  std::string stale;  // a generation that the EP wants compiled again
};

}  // namespace

int compile_level(const Request& request) {
  return request.session.optimization_level.value_or(kCompileOptimizationLevel);
}

identity::Settings make_settings(const Request& request, ort::Catalog& catalog, ort::Target target) {
  identity::Settings settings;
  settings.target = std::move(target);
  settings.ort_library = catalog.runtime().library();
  settings.ort_version = catalog.runtime().version();
  settings.ort_build = catalog.runtime().build_info();
  settings.session_config = request.session.config_entries;
  settings.optimization_level = compile_level(request);
  settings.free_dimensions = request.session.free_dimensions;
  settings.embed = request.embed;
  settings.in_process = request.compiles_here();
  settings.strict_options = request.strict_options;
  settings.extra_file_options = request.extra_file_options;
  settings.extra_files = request.extra_files;
  settings.environment = process::current_environment();
  settings.worker_environment = request.worker_environment;
  return settings;
}

namespace {

// A model that is compiled already says itself for which EP.
ort::TargetRequest target_of_precompiled(const Request& request, const model::ModelFacts& facts) {
  ort::TargetRequest target = request.target;
  if ((target.ep.empty() || target.ep == "auto") && ort::find_ep(facts.ep_context_nodes.front().source) != nullptr) {
    target.ep = facts.ep_context_nodes.front().source;
  }
  return target;
}

// Marker, lease, artifacts, and then the EP's own word on whether it can still load this.
Result<LookedUp> look_up(store::Store& store, ort::Catalog& catalog, const ort::Target& target,
                         const std::string& key) {
  LookedUp result;
  PRECAST_TRY_ASSIGN(auto found, store.look_up(key));
  result.miss_reason = std::move(found.miss_reason);
  if (!found.hit) return result;
  if (!found.hit->marker.compatibility.empty()) {
    // An EP that cannot judge (QNN's, for a target that is not here) leaves it to the identity; opening asks it again.
    const auto answer = ort::check_compatibility(catalog, target, found.hit->marker.compatibility)
                            .value_or(ort::Compatibility::not_applicable);
    if (answer == ort::Compatibility::unsupported || answer == ort::Compatibility::prefer_recompilation) {
      result.stale = found.hit->marker.generation;
      result.miss_reason = answer == ort::Compatibility::unsupported
                               ? "the EP says that it cannot load the stored model any more"
                               : "the EP prefers to compile this model again";
      return result;
    }
  }
  result.hit = std::move(found.hit);
  return result;
}

void record_use(store::Store& store, const Resolution& resolution, const identity::Identity& identity) {
  store.record({resolution.outcome == Outcome::hit ? "hit" : "miss",
                util::format_rfc3339(util::Clock::system().now()),
                resolution.key,
                resolution.generation,
                identity.source_sha256,
                resolution.target.ep.found.name,
                {},
                0});
}

}  // namespace

Resolution source_instead(const Resolution& resolution, const std::filesystem::path& source) {
  Resolution given;
  given.outcome = Outcome::uncached;
  given.reason = resolution.reason;
  given.error = resolution.error;
  given.path = source;
  given.key = resolution.key;
  given.target = resolution.target;
  given.timings = resolution.timings;
  return given;
}

Resolver::Resolver(Services services) : services_(std::move(services)) {}

Result<Resolver::Libraries> Resolver::library_evidence(identity::Digester& digester,
                                                       const identity::Settings& settings) {
  Libraries libraries;
  PRECAST_TRY_ASSIGN(libraries.files, identity::take_library_evidence(services_.file_system, digester, settings));
  std::string set = settings.target.ep.found.library.native();
  for (const identity::FileEvidence& file : libraries.files) set += '\n' + file.path.native();
  const std::lock_guard guard(mutex_);
  const auto [first, inserted] = first_seen_.try_emplace(set, libraries.files);
  libraries.replaced = !inserted && first->second != libraries.files;
  return libraries;
}

Result<identity::ModelEvidence> model_evidence(fs::FileSystem& fs, identity::Digester& digester, const Request& request,
                                               const identity::ModelEvidence* before) {
  if (!request.memory)
    return identity::take_model_evidence(fs, digester,
                                         before != nullptr ? before->model : identity::logical_absolute(request.model));
  return identity::take_memory_evidence(fs, digester, request.memory->bytes, request.memory->external_folder, before);
}

Result<Resolution> Resolver::resolve(const Request& request, const Observer& observer) {
  auto resolution = answer(request, observer);
  // There is no file whose path could be given.
  if (resolution && request.memory && (resolution->outcome == Outcome::precompiled || !resolution->compiled_model())) {
    resolution->path.clear();
  }
  return resolution;
}

Result<Resolution> Resolver::original(const Request& request, const Observer& observer) {
  fs::FileSystem& fs = services_.file_system;
  if (observer) observer({});
  Resolution resolution;
  resolution.path = identity::logical_absolute(request.model);
  PRECAST_TRY_ASSIGN(const model::ModelFacts facts, model::read_model(fs, resolution.path));
  PRECAST_TRY(model::check_external_locations(facts, resolution.path));
  for (const model::ExternalFile& file : facts.external_files) {
    const std::filesystem::path path = model::resolve_location(resolution.path, file.location);
    if (fs.stat(path)) continue;
    return fail(ErrorCode::not_found,
                util::quoted(resolution.path) + " has weights in " + util::quoted(path) + ", which cannot be read",
                path, "put it there; a model travels with its external data");
  }
  const bool precompiled = !facts.ep_context_nodes.empty();
  PRECAST_TRY_ASSIGN(ort::Catalog* const catalog, services_.catalog());
  util::Stopwatch watch;
  PRECAST_TRY_ASSIGN(resolution.target,
                     catalog->choose(fs, precompiled ? target_of_precompiled(request, facts) : request.target,
                                     request.extra_file_options));
  resolution.timings.ep_registration = watch.lap_ms();
  resolution.outcome = precompiled ? Outcome::precompiled : Outcome::uncached;
  resolution.reason = precompiled ? "the model has EPContext nodes already" : "nothing was compiled in advance";
  return resolution;
}

Result<Resolution> Resolver::answer(const Request& request, const Observer& observer) {
  fs::FileSystem& fs = services_.file_system;
  store::Store* store = request.no_cache ? nullptr : services_.store;
  identity::HashingDigester hashing(fs, services_.cancel);
  identity::Digester& digester = store != nullptr ? static_cast<identity::Digester&>(store->memo()) : hashing;
  if (observer) observer({});
  util::Stopwatch watch;
  Known known;
  PRECAST_TRY_ASSIGN(known.model, model_evidence(fs, digester, request, nullptr));
  Resolution resolution;
  resolution.timings.identity = watch.lap_ms();
  resolution.compile_level = ort::optimization_level_name(compile_level(request));
  resolution.path = known.model.model;
  for (const identity::FileEvidence& file : known.model.files) resolution.source_files.push_back(file.path);

  const bool precompiled = !known.model.facts.ep_context_nodes.empty();
  PRECAST_TRY_ASSIGN(ort::Catalog* const catalog, services_.catalog());
  watch.lap_ms();
  PRECAST_TRY_ASSIGN(
      resolution.target,
      catalog->choose(fs, precompiled ? target_of_precompiled(request, known.model.facts) : request.target,
                      request.extra_file_options));
  resolution.timings.ep_registration = watch.lap_ms();
  if (precompiled) {
    resolution.outcome = Outcome::precompiled;
    resolution.reason = "the model has EPContext nodes already";
    if (request.validate) resolution.validation = "not validated: the model that it was compiled from is not known";
    return resolution;
  }
  if (!resolution.target.makes_ep_context()) {
    Error error{ErrorCode::unsupported, resolution.target.ep.found.name + " does not make compiled (EPContext) models",
                known.model.model, "precast eps shows which EPs do, and doctor why one has no device here"};
    return answer_with_source(std::move(resolution), Outcome::nothing_to_compile, known.model.model, std::move(error));
  }

  if (request.embed) PRECAST_TRY(check_embeddable(known.model.facts, resolution.target, known.model.model));
  known.settings = make_settings(request, *catalog, resolution.target);
  PRECAST_TRY_ASSIGN(known.libraries, library_evidence(digester, known.settings));
  PRECAST_TRY_ASSIGN(known.identity,
                     identity::make_identity(fs, digester, known.settings, known.model, known.libraries.files));
  resolution.key = known.identity.key;
  resolution.timings.identity += watch.lap_ms();
  if (known.libraries.replaced) {
    known.identity.uncacheable = "a library was replaced since this process loaded it; restart it to use the new one";
  }
  if (request.session.base) {
    known.identity.uncacheable = "the caller's own session options cannot be compared with those of a stored compile";
  }
  Miss miss(*this, request, observer, digester);
  std::string problem = request.no_cache ? "the cache is not used (--no-cache)" : services_.store_problem;
  if (problem.empty()) problem = known.identity.uncacheable;
  // The store's trouble is never in the way of the model.
  const auto without_store = [&](Error error) -> Result<Resolution> {
    resolution.reason = error.message;
    resolution.error = error;
    if (request.accept_private) return miss.run_private(known, std::move(resolution));
    return answer_with_source(std::move(resolution), Outcome::uncached, known.model.model, std::move(error));
  };
  if (store == nullptr || !known.identity.uncacheable.empty()) {
    return without_store({request.no_cache ? ErrorCode::unsupported : ErrorCode::io, problem, known.model.model, ""});
  }

  LookedUp found;
  found.miss_reason = "--rebuild";
  if (!request.rebuild) {
    auto looked = look_up(*store, *catalog, resolution.target, known.identity.key);
    if (!looked) return without_store(looked.error());
    found = std::move(*looked);
  }
  resolution.timings.lookup = watch.lap_ms();
  if (found.hit) {
    fill_from_hit(resolution, std::move(*found.hit));
    resolution.outcome = Outcome::hit;
    record_use(*store, resolution, known.identity);
    if (request.validate) return miss.validate_hit(known, std::move(resolution));
    return resolution;
  }
  resolution.reason = found.miss_reason;
  const Known before = known;
  if (!store->writable()) {
    return without_store({ErrorCode::io, "the store cannot be written, and has no entry for this model",
                          store->layout().root(), "make it writable, or use another --cache-dir"});
  }
  PRECAST_TRY_ASSIGN(auto done, miss.run(std::move(known), std::move(resolution), found.stale));
  record_use(*store, done, before.identity);
  // Somebody else's compile that this one waited for was not validated, or nobody knows.
  if (request.validate && done.outcome == Outcome::hit) return miss.validate_hit(before, std::move(done));
  return done;
}

}  // namespace precast::compile
