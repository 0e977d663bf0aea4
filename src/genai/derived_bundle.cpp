#include "genai/derived_bundle.hpp"

#include <nlohmann/json.hpp>

#include "util/sha256.hpp"
#include "util/text.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::genai {

namespace {

namespace stdfs = std::filesystem;
using Evidence = std::vector<identity::FileEvidence>;

constexpr int kAttempts = 3;

Result<Evidence> evidence_of(store::Store& store, const BundleRecipe& recipe) {
  std::vector<stdfs::path> paths;
  paths.reserve(recipe.files.size());
  for (const BundleFile& file : recipe.files) paths.push_back(file.from);
  return store.memo().digest(paths, "bundle:" + recipe.original.native());
}

store::Marker marker_of(const BundleRecipe& recipe, const Evidence& evidence) {
  nlohmann::json stages = nlohmann::json::array();
  for (const StoredStage& stage : recipe.stages) {
    stages.push_back({{"place", stage.place.string()}, {"key", stage.key}, {"generation", stage.generation}});
  }
  nlohmann::json files = nlohmann::json::array();
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    files.push_back({recipe.files[i].name.string(), evidence[i].sha256});
  }
  const std::string config = util::sha256_hex(recipe.config);
  store::Marker marker;
  marker.identity =
      nlohmann::json{{"schema", 1}, {"kind", "bundle"}, {"config", config}, {"stages", stages}, {"files", files}}
          .dump();
  marker.key = util::sha256_hex(marker.identity);
  marker.precast_version = PRECAST_VERSION;
  marker.model = util::escape_invalid_utf8(recipe.original.native());
  marker.ep = recipe.ep;
  marker.device = recipe.device;
  marker.source_sha256 = config;
  return marker;
}

// As they are called in the bundle's generation.
std::vector<store::Artifact> stage_files(const BundleRecipe& recipe) {
  std::vector<store::Artifact> files;
  for (const StoredStage& stage : recipe.stages) {
    for (const store::Artifact& artifact : stage.artifacts) {
      files.push_back(
          {(stdfs::path(store::kBundleFolder) / stage.place / artifact.path).string(), artifact.size, artifact.sha256});
    }
  }
  return files;
}

DerivedBundle found(store::Hit hit, bool made) {
  stdfs::path folder = hit.folder / store::kBundleFolder;
  return {.hit = std::move(hit), .folder = std::move(folder), .made = made};
}

void record_use(store::Store& store, const store::Marker& marker) {
  store.record({"use",
                util::format_rfc3339(util::Clock::system().now()),
                marker.key,
                marker.generation,
                marker.source_sha256,
                marker.ep,
                {},
                0});
}

// nullopt: a file changed while it was copied.
Result<std::optional<DerivedBundle>> make(store::Store& store, const BundleRecipe& recipe, const store::Marker& marker,
                                          const Evidence& before) {
  PRECAST_TRY_ASSIGN(store::Work work, store.begin_work());
  PRECAST_TRY(assemble(store.file_system(), recipe, work.output_folder() / store::kBundleFolder, StoredFiles::link));
  PRECAST_TRY_ASSIGN(const Evidence after, evidence_of(store, recipe));
  if (after != before) return std::optional<DerivedBundle>();
  PRECAST_TRY_ASSIGN(auto committed, store.commit_bundle(std::move(work), marker, stage_files(recipe)));
  // Their second names changed the stages' files' times.
  for (const StoredStage& stage : recipe.stages) PRECAST_TRY(store.hash_again(stage.generation, stage.artifacts));
  if (committed.marker_error) return std::unexpected(*committed.marker_error);
  return found(std::move(committed.hit), true);
}

}  // namespace

Result<DerivedBundle> derive_bundle(store::Store& store, const BundleRecipe& recipe, const fs::Lock::WaitOptions& wait,
                                    const std::function<void()>& before_copy) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    PRECAST_TRY_ASSIGN(const Evidence evidence, evidence_of(store, recipe));
    const store::Marker marker = marker_of(recipe, evidence);
    PRECAST_TRY_ASSIGN(auto there, store.look_up(marker.key));
    if (!there.hit) {
      PRECAST_TRY_ASSIGN(auto lock, store.lock_key(marker.key, wait));
      lock.announce("preparing " + util::quoted(recipe.original));
      PRECAST_TRY_ASSIGN(there, store.look_up(marker.key));  // somebody may have been quicker
      if (!there.hit) {
        if (before_copy) before_copy();
        PRECAST_TRY_ASSIGN(auto made, make(store, recipe, marker, evidence));
        if (!made) continue;
        lock.release();
        record_use(store, made->hit.marker);
        store.retain(made->hit.marker);
        return *std::move(made);
      }
    }
    record_use(store, there.hit->marker);
    return found(*std::move(there.hit), false);
  }
  return fail(ErrorCode::busy,
              "the files of " + util::quoted(recipe.original) + " kept changing while they were copied",
              recipe.original, "try again when nothing writes to them any more");
}

}  // namespace precast::genai
