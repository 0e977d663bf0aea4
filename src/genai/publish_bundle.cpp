#include "genai/publish_bundle.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <thread>

#include <nlohmann/json.hpp>

#include "identity/hashing_digester.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::genai {

namespace {

namespace stdfs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kLargestRecord = std::uint64_t{16} << 20U;
constexpr std::uint32_t kFolderMode = 0755;
constexpr std::uint32_t kFileMode = 0644;
constexpr const char* kLeaseName = ".precast-lease";

// As far as it exists, without links: a folder may be reached by several names.
stdfs::path real(const stdfs::path& path) {
  std::error_code ignored;  // what does not exist keeps its name
  stdfs::path resolved = stdfs::weakly_canonical(path, ignored);
  return resolved.empty() ? path : resolved;
}

// Name -> SHA-256 of every file below `folder` but the record itself.
using Files = std::map<std::string, std::string>;

Result<Files> hash_folder(fs::FileSystem& fs, const stdfs::path& folder, const util::CancelToken* cancel) {
  PRECAST_TRY_ASSIGN(const auto entries, fs::list_tree(fs, folder));
  Files files;
  for (const fs::TreeEntry& entry : entries) {
    if (entry.path == kPublishedName || entry.path == kLeaseName) continue;
    if (entry.kind != fs::FileKind::regular) {
      files[entry.path.string()] = "not a regular file";
      continue;
    }
    PRECAST_TRY_ASSIGN(const auto hashed, identity::hash_file(fs, folder / entry.path, cancel));
    files[entry.path.string()] = hashed.sha256;
  }
  return files;
}

std::string record_text(const Files& files) {
  return json{{"schema", 1}, {"precast_version", PRECAST_VERSION}, {"files", files}}.dump(1) + "\n";
}

// What precast put there; nullopt: it did not, or somebody changed the record.
std::optional<Files> published_files(fs::FileSystem& fs, const stdfs::path& folder) {
  const auto text = fs::read_small_file(fs, folder / kPublishedName, kLargestRecord);
  if (!text) return std::nullopt;
  const json record = json::parse(*text, nullptr, false);
  if (!record.is_object() || record.value("schema", json()) != 1 || !record.contains("files")) return std::nullopt;
  Files files;
  if (!record["files"].is_object()) return std::nullopt;
  for (const auto& [name, sha256] : record["files"].items()) {
    if (!sha256.is_string()) return std::nullopt;
    files[name] = sha256.get<std::string>();
  }
  return files;
}

std::unexpected<Error> in_the_way(const stdfs::path& output, const std::string& what, const char* hint) {
  return fail(ErrorCode::bad_input, util::quoted(output) + " " + what, output, hint);
}

// Publications into one folder look at it and rename one after the other. The folder itself is locked: a lock file
// would stay in it. Where folders cannot be locked (some network file systems) the drafts' leases and the renames have
// to do.
class ParentLock {
 public:
  static Result<ParentLock> take(fs::FileSystem& fs, const stdfs::path& parent, const util::CancelToken* cancel) {
    constexpr std::chrono::milliseconds kPause{5};
    ParentLock lock;
    auto opened = fs.open(parent, fs::OpenMode::read);
    if (!opened) return lock;
    for (;;) {
      const auto locked = fs.try_lock(*opened, fs::LockKind::exclusive);
      if (!locked) return lock;
      if (*locked) break;
      if (cancel != nullptr && cancel->cancelled()) {
        return fail(ErrorCode::cancelled, "interrupted while others publish in " + util::quoted(parent), parent);
      }
      std::this_thread::sleep_for(kPause);
    }
    lock.folder_ = *std::move(opened);
    return lock;
  }

 private:
  ParentLock() = default;
  fs::File folder_;  // closing it unlocks it
};

enum class There : std::uint8_t { nothing, empty, ours };

Result<There> look_at(fs::FileSystem& fs, const PublishBundle& request) {
  const auto stat = fs.lstat(request.output);
  if (!stat && fs::is_not_found(stat.error())) return There::nothing;
  if (!stat) return std::unexpected(stat.error());
  if (stat->kind == fs::FileKind::symlink) return in_the_way(request.output, "is a link", "name a folder");
  if (stat->kind != fs::FileKind::directory) return in_the_way(request.output, "is not a folder", "name a folder");
  PRECAST_TRY_ASSIGN(const auto entries, fs.list(request.output));
  if (entries.empty()) return There::empty;
  const auto recorded = published_files(fs, request.output);
  if (!recorded) {
    return in_the_way(request.output, "is not empty, and precast did not publish a bundle there",
                      "name another folder, or empty it yourself");
  }
  PRECAST_TRY_ASSIGN(const Files found, hash_folder(fs, request.output, request.cancel));
  for (const auto& [name, sha256] : found) {
    const auto one = recorded->find(name);
    if (one != recorded->end() && one->second == sha256) continue;
    return in_the_way(request.output,
                      "has a file that precast did not publish, or that was changed since: " + util::quoted(name),
                      "move it away, or name another folder");
  }
  return There::ours;
}

Result<void> check_place(fs::FileSystem& fs, const PublishBundle& request) {
  const stdfs::path output = real(request.output);
  const std::pair<stdfs::path, const char*> others[] = {{real(request.original), "the bundle"},
                                                        {real(request.store), "the cache"}};
  for (const auto& [other, name] : others) {
    if (!fs::is_within(other, output) && !fs::is_within(output, other)) continue;
    return in_the_way(request.output, std::string("is, or lies in or around, ") + name,
                      "name a folder of its own with -o");
  }
  for (stdfs::path at = output; at.has_relative_path();) {
    at = at.parent_path();
    if (!fs::exists(fs, at / kPublishedName)) continue;
    return in_the_way(request.output, "lies in a bundle that precast published, " + util::quoted(at),
                      "name a folder of its own with -o");
  }
  return {};
}

// A folder beside the output, with a lease while it is written; it goes with its object unless it got its name.
class Draft {
 public:
  Draft(fs::FileSystem& fs, const stdfs::path& output) : fs_(fs), folder_(fs::new_temporary(output.parent_path())) {}
  ~Draft() {
    if (!folder_.empty()) (void)fs::remove_tree(fs_, folder_);  // what stays is removed by the next publication
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  [[nodiscard]] const stdfs::path& folder() const { return folder_; }
  Result<void> make() {
    constexpr int kAttempts = 4;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      PRECAST_TRY(fs_.make_directory(folder_, kFolderMode));
      PRECAST_TRY_ASSIGN(const bool leased, take_lease());
      if (leased) return {};
      folder_ = fs::new_temporary(folder_.parent_path());
    }
    return fail(ErrorCode::busy, "others clear up " + util::quoted(folder_.parent_path()) + " all the time",
                folder_.parent_path(), "try again");
  }
  // Also sees that all of it is there still.
  Result<void> make_durable(const Files& files) {
    PRECAST_TRY_ASSIGN(const auto entries, fs::list_tree(fs_, folder_));
    std::set<stdfs::path> folders{stdfs::path()};
    std::size_t found = 0;
    for (const fs::TreeEntry& entry : entries) {
      if (entry.path == kLeaseName) continue;
      found += files.contains(entry.path.string()) ? 1 : 0;
      PRECAST_TRY(fs_.change_mode(folder_ / entry.path, kFileMode));
      PRECAST_TRY_ASSIGN(fs::File file, fs_.open(folder_ / entry.path, fs::OpenMode::read));
      PRECAST_TRY(fs_.sync(file));
      for (stdfs::path at = entry.path.parent_path(); !at.empty(); at = at.parent_path()) folders.insert(at);
    }
    if (found != files.size()) {
      return fail(ErrorCode::busy, "somebody deletes files in " + util::quoted(folder_) + " while they are written",
                  folder_, "try again");
    }
    for (const stdfs::path& one : folders) {
      PRECAST_TRY(fs_.change_mode(folder_ / one, kFolderMode));
      PRECAST_TRY(fs_.sync_directory(folder_ / one));
    }
    return {};
  }
  // What is there becomes the draft, to be removed with this object.
  Result<void> move_to(const stdfs::path& output, There there) {
    if (there == There::nothing) {
      PRECAST_TRY(fs_.rename_new(folder_, output));
      folder_.clear();
    } else {
      PRECAST_TRY_ASSIGN(const bool exchanged, fs_.exchange(folder_, output));
      if (!exchanged) PRECAST_TRY(replace(output));
    }
    // Not before: another publication would take the draft for one that was left. What stays is of no file of the
    // bundle.
    (void)fs_.unlink(output / kLeaseName);
    PRECAST_TRY(fs_.sync_directory(output));
    PRECAST_TRY(fs_.sync_directory(output.parent_path()));
    return {};
  }

 private:
  // For file systems that cannot exchange two names: for a moment there is nothing.
  Result<void> replace(const stdfs::path& output) {
    const stdfs::path old = fs::new_temporary(output.parent_path());
    PRECAST_TRY(fs_.rename_new(output, old));
    if (auto moved = fs_.rename_new(folder_, output); !moved) {
      (void)fs_.rename_new(old, output);  // as it was, if that is possible
      return moved;
    }
    folder_ = old;
    return {};
  }

  // false: another publication took the folder for one that was left, before it had its lease.
  Result<bool> take_lease() {
    auto lease = fs_.open(folder_ / kLeaseName, fs::OpenMode::lock);
    if (!lease && fs::is_not_found(lease.error())) return false;
    if (!lease) return std::unexpected(lease.error());
    PRECAST_TRY_ASSIGN(const bool locked, fs_.try_lock(*lease, fs::LockKind::shared));
    if (!locked) return false;
    PRECAST_TRY_ASSIGN(const fs::FileStat mine, fs_.stat(*lease));
    const auto there = fs_.lstat(folder_ / kLeaseName);
    if (!there && fs::is_not_found(there.error())) return false;
    if (!there) return std::unexpected(there.error());
    lease_ = *std::move(lease);
    return there->inode == mine.inode;
  }

  fs::FileSystem& fs_;
  stdfs::path folder_;
  fs::File lease_;
};

// What killed publications left: folders of ours whose lease nobody holds, drafts and replaced bundles. Nobody else has
// such names.
void remove_left_drafts(fs::FileSystem& fs, const stdfs::path& parent) {
  const auto entries = fs.list(parent);
  if (!entries) return;
  for (const fs::DirEntry& entry : *entries) {
    const stdfs::path folder = parent / entry.name;
    const auto stat = fs.lstat(folder);
    if (!fs::is_temporary(entry.name) || !stat || stat->kind != fs::FileKind::directory) continue;
    auto lease = fs.open(folder / kLeaseName, fs::OpenMode::lock_existing);
    if (!lease && !fs::is_not_found(lease.error())) continue;
    const auto locked = lease ? fs.try_lock(*lease, fs::LockKind::exclusive) : Result<bool>(true);
    if (locked && *locked) (void)fs::remove_tree(fs, folder);  // what stays is tried again next time
  }
}

// The stages' files are exactly the stored ones.
Result<void> check_stages(const BundleRecipe& recipe, const Files& files, const stdfs::path& folder) {
  for (const StoredStage& stage : recipe.stages) {
    for (const store::Artifact& artifact : stage.artifacts) {
      const std::string name = (stage.place / artifact.path).string();
      const auto file = files.find(name);
      if (artifact.sha256.empty() || (file != files.end() && file->second == artifact.sha256)) continue;
      return fail(ErrorCode::corrupt, "the copy of " + util::quoted(name) + " has other bytes than were stored",
                  folder / name, "precast cache verify shows what is damaged");
    }
  }
  return {};
}

}  // namespace

Result<void> check_bundle_output(fs::FileSystem& fs, const PublishBundle& request) {
  PRECAST_TRY(check_place(fs, request));
  PRECAST_TRY_ASSIGN(const ParentLock lock, ParentLock::take(fs, request.output.parent_path(), request.cancel));
  PRECAST_TRY(look_at(fs, request));
  return {};
}

Result<PublishedBundle> publish_bundle(fs::FileSystem& fs, const PreparedBundle& prepared,
                                       const PublishBundle& request) {
  if (!prepared.recipe) return fail(ErrorCode::internal, "no stage is compiled: there is nothing to publish");
  PRECAST_TRY(check_place(fs, request));
  const stdfs::path parent = request.output.parent_path();
  PRECAST_TRY(fs::make_directories(fs, parent, kFolderMode, fs::Durability::durable));
  Draft draft(fs, request.output);
  {
    PRECAST_TRY_ASSIGN(const ParentLock lock, ParentLock::take(fs, parent, request.cancel));
    remove_left_drafts(fs, parent);
    PRECAST_TRY(draft.make());
  }
  PRECAST_TRY(assemble(fs, *prepared.recipe, draft.folder(), StoredFiles::copy));
  PRECAST_TRY_ASSIGN(const Files files, hash_folder(fs, draft.folder(), request.cancel));
  PRECAST_TRY(check_stages(*prepared.recipe, files, draft.folder()));
  PRECAST_TRY(fs::write_file_atomically(fs, draft.folder() / kPublishedName, record_text(files), fs::Durability::none));
  PRECAST_TRY(draft.make_durable(files));
  PRECAST_TRY_ASSIGN(const ParentLock lock, ParentLock::take(fs, parent, request.cancel));
  PRECAST_TRY_ASSIGN(const There there, look_at(fs, request));
  if (there == There::ours) {
    if (published_files(fs, request.output) == files) {
      const stdfs::path left = request.output / kLeaseName;  // by whoever was killed before deleting it
      if (fs::exists(fs, left)) PRECAST_TRY(fs.unlink(left));
      return PublishedBundle{request.output, Publication::same};
    }
    if (!request.overwrite) {
      return in_the_way(request.output, "has another bundle that precast published", "replace it with --overwrite");
    }
    const bool failed = std::ranges::any_of(
        prepared.stages, [](const PreparedStage& stage) { return stage.outcome == StageOutcome::failed; });
    if (failed) return PublishedBundle{request.output, Publication::kept};
  }
  PRECAST_TRY(draft.move_to(request.output, there));
  return PublishedBundle{request.output, Publication::written};
}

}  // namespace precast::genai
