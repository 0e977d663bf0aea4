#include <utility>

#include <fmt/format.h>

#include "store/read_record.hpp"
#include "store/store_state.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::store {
namespace {

constexpr int kRounds = 3;  // a lease that is being deleted comes with a marker that is going or new

// What one round found: neither a hit nor a reason means that the entry changed under it.
struct Round {
  std::optional<Hit> hit;
  std::string miss_reason;
};

Round miss(std::string reason) {
  return {.hit = std::nullopt, .miss_reason = std::move(reason)};
}

bool is_damage(const Error& error) {
  return error.code == ErrorCode::corrupt;
}

std::string first_sentence(const Artifact& artifact, std::string_view problem) {
  return fmt::format("{} {}", artifact.path, problem);
}

std::string doubt_about_artifacts(Store::State& state, const Marker& marker) {
  std::vector<std::filesystem::path> paths;
  paths.reserve(marker.artifacts.size());
  for (const Artifact& artifact : marker.artifacts) {
    paths.push_back(state.layout.generation(marker.generation) / artifact.path);
  }
  const auto evidence = state.memo.digest_stored(paths, group_of(marker.generation));
  // Whatever keeps a stored file from being read is a doubt about this entry, and compiling again mends it.
  if (!evidence) return evidence.error().message;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const Artifact& artifact = marker.artifacts[i];
    const identity::FileEvidence& found = (*evidence)[i];
    if (found.stat.size != artifact.size) {
      return first_sentence(artifact,
                            fmt::format("has {} bytes, not the {} that were stored", found.stat.size, artifact.size));
    }
    if (found.sha256 != artifact.sha256) return first_sentence(artifact, "has other bytes than were stored");
  }
  return {};
}

Result<Round> look_up_once(Store::State& state, const std::string& key) {
  const auto path = state.layout.marker(key);
  const auto text = read_record(state.fs, path);
  if (!text && is_damage(text.error())) return miss(text.error().message);
  if (!text) return std::unexpected<Error>(text.error());
  if (!*text) return miss("no entry for this identity");
  auto marker = parse_marker(**text);
  if (!marker) return miss(fmt::format("its marker is not used: {}", marker.error().message));
  if (marker->key != key) return miss("its marker is of another key");

  const auto lease_path = state.layout.lease(marker->generation);
  auto lock = fs::Lock::try_acquire(state.fs, lease_path, fs::LockKind::shared, /*create=*/false);
  if (!lock && !fs::is_not_found(lock.error())) {
    const auto stat = state.fs.lstat(lease_path);
    if (stat && stat->kind != fs::FileKind::regular) return miss("its lease is not a file");
    return std::unexpected<Error>(lock.error());
  }
  if (lock && !*lock) return Round{};  // being deleted
  const auto again = read_record(state.fs, path);
  if (!again || *again != *text) return Round{};  // replaced, going, or for the next round to say
  if (!lock) return miss(fmt::format("its generation {} is not there", marker->generation));

  if (std::string doubt = doubt_about(state, *marker, **text); !doubt.empty()) return miss(std::move(doubt));
  const auto folder = state.layout.generation(marker->generation);
  Lease lease(**std::move(lock), marker->generation);
  const auto main_file = folder / marker->artifacts.front().path;
  return Round{.hit = Hit{*std::move(marker), std::move(lease), folder, main_file}, .miss_reason = {}};
}

}  // namespace

std::string doubt_about(Store::State& state, const Marker& marker, const std::string& marker_text) {
  const auto manifest = read_record(state.fs, state.layout.generation(marker.generation) / kManifestName);
  if (!manifest) return manifest.error().message;
  if (!*manifest) return fmt::format("its generation {} is not complete", marker.generation);
  // The manifest is the marker, byte for byte. One of another key, or of another schema, differs.
  if (**manifest != marker_text) return fmt::format("its generation {} is of another entry", marker.generation);
  return doubt_about_artifacts(state, marker);
}

Result<LookUp> Store::look_up(const std::string& key) {
  PRECAST_TRY(require_key(key));
  for (int round = 0; round < kRounds; ++round) {
    PRECAST_TRY_ASSIGN(Round found, look_up_once(*state_, key));
    if (found.hit || !found.miss_reason.empty()) return LookUp{std::move(found.hit), std::move(found.miss_reason)};
  }
  return LookUp{.hit = std::nullopt, .miss_reason = "its generation is being replaced or deleted"};
}

}  // namespace precast::store
