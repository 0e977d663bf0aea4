#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "store/memo_rules.hpp"
#include "store/store_state.hpp"
#include "store/work_state.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::store {
namespace {

struct Output {
  // Relative to the output's folder.
  std::vector<std::filesystem::path> artifacts;  // the main file first
  std::vector<std::filesystem::path> files;      // all, with the log
  std::set<std::filesystem::path> folders;       // below the output's own
  std::int64_t last_change_ns = 0;
};

Result<void> require_storable(const std::filesystem::path& folder, const fs::TreeEntry& entry) {
  const std::string name = util::escape_invalid_utf8(entry.path.native());
  if (entry.kind != fs::FileKind::regular) {
    return fail(ErrorCode::corrupt, fmt::format("the compile left '{}', which is not a regular file", name),
                folder / entry.path);
  }
  if (!util::is_utf8(entry.path.native()) || entry.path.native().find('\\') != std::string::npos) {
    return fail(ErrorCode::corrupt, fmt::format("the compile left '{}', whose name cannot be stored", name),
                folder / entry.path);
  }
  return {};
}

// EPs write files beside each other; a folder that one made was not meant for the store.
Result<std::vector<fs::TreeEntry>> list_output(fs::FileSystem& fs, const std::filesystem::path& folder,
                                               std::string_view main_file) {
  if (main_file == kBundleConfig) return fs::list_tree(fs, folder);
  PRECAST_TRY_ASSIGN(const auto entries, fs.list(folder));
  std::vector<fs::TreeEntry> files;
  files.reserve(entries.size());
  for (const fs::DirEntry& entry : entries) {
    PRECAST_TRY_ASSIGN(const fs::FileStat stat, fs.lstat(folder / entry.name));
    files.push_back({entry.name, stat.kind});
  }
  return files;
}

Result<Output> look_at_output(fs::FileSystem& fs, const std::filesystem::path& folder, std::string_view main_file) {
  PRECAST_TRY_ASSIGN(const auto entries, list_output(fs, folder, main_file));
  Output output;
  bool has_main = false;
  for (const fs::TreeEntry& entry : entries) {
    PRECAST_TRY(require_storable(folder, entry));
    if (entry.path == kManifestName) continue;  // replaced below
    output.files.push_back(entry.path);
    for (auto at = entry.path.parent_path(); !at.empty(); at = at.parent_path()) output.folders.insert(at);
    if (entry.path == kLogName) continue;
    output.artifacts.push_back(entry.path);
    if (entry.path == main_file) {
      has_main = true;
      std::swap(output.artifacts.front(), output.artifacts.back());
    }
  }
  if (!has_main) {
    return fail(ErrorCode::corrupt, fmt::format("the compile left no {}", main_file), folder / main_file);
  }
  std::sort(output.artifacts.begin() + 1, output.artifacts.end());
  return output;
}

Result<void> sync_file(fs::FileSystem& fs, const std::filesystem::path& path) {
  PRECAST_TRY_ASSIGN(fs::File file, fs.open(path, fs::OpenMode::read));
  PRECAST_TRY(fs.sync(file));
  return fs.close(file);
}

// Read-only, and on the disk.
Result<void> settle_files(fs::FileSystem& fs, const std::filesystem::path& folder, Output& output) {
  for (const auto& path : output.files) PRECAST_TRY(fs.change_mode(folder / path, kStoredFileMode));
  for (const auto& path : output.files) {
    PRECAST_TRY(sync_file(fs, folder / path));
    PRECAST_TRY_ASSIGN(const fs::FileStat stat, fs.lstat(folder / path));
    output.last_change_ns = std::max(output.last_change_ns, stat.ctime_ns);
  }
  for (const auto& below : output.folders) PRECAST_TRY(fs.sync_directory(folder / below));
  return fs.sync_directory(folder);
}

// A digest taken less than one margin after the last change would not be remembered, and the first hit would hash.
void wait_out_the_margin(const util::Clock& clock, std::int64_t last_change_ns) {
  constexpr std::chrono::nanoseconds kLongest = std::chrono::milliseconds(20);
  const auto age = clock.now().time_since_epoch() - std::chrono::nanoseconds(last_change_ns);
  const auto left = ctime_margin(last_change_ns) - age;
  // Where stamps have no nanoseconds the first hit had better hash than every compile wait for two seconds.
  if (left > std::chrono::nanoseconds::zero()) std::this_thread::sleep_for(std::min(left, kLongest));
}

Result<std::vector<Artifact>> hash_artifacts(Store::State& state, const std::filesystem::path& folder,
                                             const Output& output, const std::string& uuid) {
  wait_out_the_margin(state.clock(), output.last_change_ns);
  std::vector<std::filesystem::path> paths;
  paths.reserve(output.artifacts.size());
  for (const auto& path : output.artifacts) paths.push_back(folder / path);
  PRECAST_TRY_ASSIGN(const auto evidence, state.memo.digest_afresh(paths, group_of(uuid)));
  std::vector<Artifact> artifacts;
  artifacts.reserve(evidence.size());
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    artifacts.push_back({output.artifacts[i].string(), evidence[i].stat.size, evidence[i].sha256});
  }
  return artifacts;
}

Result<void> require_known(const std::filesystem::path& folder, const std::vector<Artifact>& artifacts,
                           std::span<const Artifact> known) {
  for (const Artifact& one : known) {
    const auto found = std::ranges::find(artifacts, one.path, &Artifact::path);
    if (found != artifacts.end() && found->sha256 == one.sha256) continue;
    return fail(ErrorCode::corrupt, util::quoted(one.path) + " has other bytes than were stored", folder / one.path,
                "precast cache verify shows what is damaged");
  }
  return {};
}

// What is published must be readable for every later look-up; a defect shows here and not as a miss for ever.
Result<std::string> marker_text(const Marker& marker) {
  std::string text = serialize(marker);
  if (const auto readable = parse_marker(text); !readable) {
    return fail(ErrorCode::internal, "a marker that could not be read again: " + readable.error().message);
  }
  return text;
}

Result<void> write_manifest(fs::FileSystem& fs, const std::filesystem::path& folder, const std::string& text) {
  const auto manifest = folder / kManifestName;
  PRECAST_TRY(fs::write_file_atomically(fs, manifest, text, fs::Durability::none));
  PRECAST_TRY(fs.change_mode(manifest, kStoredFileMode));
  PRECAST_TRY(sync_file(fs, manifest));
  return fs.sync_directory(folder);
}

Result<void> move_in(fs::FileSystem& fs, const Layout& layout, const std::filesystem::path& output,
                     const std::string& uuid) {
  PRECAST_TRY(fs::make_directories(fs, layout.generations(), kFolderMode, fs::Durability::durable));
  return fs.rename_new(output, layout.generation(uuid));
}

// From here on the generation is complete; what fails keeps it from being found, not from being used.
Result<void> publish_marker(fs::FileSystem& fs, const Layout& layout, const Marker& marker, const std::string& text) {
  PRECAST_TRY(fs.sync_directory(layout.generations()));
  PRECAST_TRY(fs.sync_directory(layout.tmp()));
  const auto path = layout.marker(marker.key);
  PRECAST_TRY(fs::make_directories(fs, path.parent_path(), kFolderMode, fs::Durability::durable));
  // The key's lock may have made them first, and not durably.
  for (const auto& folder : {layout.root(), layout.keys(), path.parent_path().parent_path()}) {
    PRECAST_TRY(fs.sync_directory(folder));
  }
  PRECAST_TRY(fs::write_file_atomically(fs, path, text, fs::Durability::durable));
  (void)fs.unlink(layout.failed(marker.key));  // success ends it; a marker counts before a record of failure
  return {};
}

}  // namespace

Result<Store::Committed> Store::commit(Work work, Marker marker) {
  return commit(std::move(work), std::move(marker), kModelName, {});
}

Result<Store::Committed> Store::commit_bundle(Work work, Marker marker, std::span<const Artifact> known) {
  return commit(std::move(work), std::move(marker), kBundleConfig, known);
}

Result<Store::Committed> Store::commit(Work work, Marker marker, std::string_view main_file,
                                       std::span<const Artifact> known) {
  PRECAST_TRY(require_key(marker.key));
  fs::FileSystem& fs = state_->fs;
  const Layout& layout = state_->layout;
  const auto folder = work.output_folder();
  StoreTimings timings;
  util::Stopwatch watch(state_->clock());

  PRECAST_TRY_ASSIGN(Output output, look_at_output(fs, folder, main_file));
  PRECAST_TRY(settle_files(fs, folder, output));
  timings.sync_ms += watch.lap_ms();
  marker.generation = work.uuid();
  PRECAST_TRY_ASSIGN(marker.artifacts, hash_artifacts(*state_, folder, output, marker.generation));
  PRECAST_TRY(require_known(folder, marker.artifacts, known));
  marker.created = util::format_rfc3339(state_->clock().now());
  timings.hash_ms += watch.lap_ms();
  PRECAST_TRY_ASSIGN(const std::string text, marker_text(marker));
  PRECAST_TRY(write_manifest(fs, folder, text));
  PRECAST_TRY(move_in(fs, layout, folder, marker.generation));

  // The work's lease becomes the generation's; the rest of its folder goes, and if it stays, a sweep finds it.
  const std::unique_ptr<Work::State> done = std::move(work).release();
  (void)fs::remove_tree(fs, layout.work(marker.generation));
  Lease lease(std::move(done->lease), marker.generation);
  const auto published = publish_marker(fs, layout, marker, text);
  timings.sync_ms += watch.lap_ms();
  std::optional<Error> marker_error;
  if (!published) marker_error = published.error();
  const auto generation = layout.generation(marker.generation);
  return Committed{.hit = Hit{std::move(marker), std::move(lease), generation, generation / main_file},
                   .timings = timings,
                   .marker_error = std::move(marker_error)};
}

Result<void> Store::hash_again(const std::string& generation, std::span<const Artifact> artifacts) {
  const auto folder = state_->layout.generation(generation);
  std::vector<std::filesystem::path> paths;
  paths.reserve(artifacts.size());
  for (const Artifact& artifact : artifacts) paths.push_back(folder / artifact.path);
  PRECAST_TRY_ASSIGN(const auto evidence, state_->memo.digest_afresh(paths, group_of(generation)));
  for (std::size_t i = 0; i < artifacts.size(); ++i) {
    if (evidence[i].sha256 == artifacts[i].sha256) continue;
    return fail(ErrorCode::corrupt, util::quoted(paths[i]) + " has other bytes than were stored", paths[i],
                "precast cache verify shows what is damaged");
  }
  return {};
}

}  // namespace precast::store
