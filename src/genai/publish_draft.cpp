#include "genai/publish_draft.hpp"

#include <chrono>
#include <set>
#include <thread>
#include <tuple>

#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::genai {

namespace {

namespace stdfs = std::filesystem;

constexpr std::uint32_t kFileMode = 0666;
constexpr std::uint32_t kOwnersFolderMode = 0700;
constexpr std::uint32_t kOwnersFileMode = 0600;

// What tells that it is ours goes last. What stays is removed by the next publication.
void remove_draft(fs::FileSystem& fs, const stdfs::path& folder) {
  const auto entries = fs.list(folder);
  if (!entries) return;
  for (const fs::DirEntry& entry : *entries) {
    if (!is_of_publishing(entry.name) && !fs::remove_tree(fs, folder / entry.name)) return;
  }
  (void)fs::remove_tree(fs, folder);
}

// Just made, or replaced.
bool is_ours_without_lease(fs::FileSystem& fs, const stdfs::path& folder) {
  const auto entries = fs.list(folder);
  return entries && (entries->empty() || fs::exists(fs, folder / kPublishedName));
}

}  // namespace

bool is_of_publishing(const stdfs::path& name) {
  return name == kPublishedName || name == kLeaseName;
}

Result<ParentLock> ParentLock::take(fs::FileSystem& fs, const PublishBundle& request) {
  constexpr std::chrono::milliseconds kPause{5};
  const stdfs::path parent = request.output.parent_path();
  ParentLock lock;
  auto opened = fs.open(parent, fs::OpenMode::read);
  if (!opened) return lock;
  std::chrono::milliseconds waited{0};
  for (;;) {
    const auto locked = fs.try_lock(*opened, fs::LockKind::exclusive);
    if (!locked) return lock;
    if (*locked) break;
    if (request.cancel != nullptr && request.cancel->cancelled()) {
      return fail(ErrorCode::cancelled, "interrupted while others publish in " + util::quoted(parent), parent);
    }
    if (request.lock_timeout && waited >= *request.lock_timeout) {
      return fail(ErrorCode::busy, "somebody else has locked the folder " + util::quoted(parent), parent,
                  "try again later, wait longer (--lock-timeout), or name another folder");
    }
    if (waited == std::chrono::seconds(1) && request.on_wait) request.on_wait(parent);
    std::this_thread::sleep_for(kPause);
    waited += kPause;
  }
  lock.folder_ = *std::move(opened);
  return lock;
}

Draft::Draft(fs::FileSystem& fs, const stdfs::path& output)
    : fs_(fs), folder_(fs::new_temporary(output.parent_path())) {}

Draft::~Draft() {
  if (!folder_.empty()) remove_draft(fs_, folder_);
}

Result<void> Draft::make() {
  constexpr int kAttempts = 4;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    PRECAST_TRY(fs_.make_directory(folder_, kPublishedFolderMode));
    PRECAST_TRY_ASSIGN(const fs::FileStat made, fs_.lstat(folder_));
    mode_ = (made.mode & kPublishedFolderMode) | kOwnersFolderMode;
    PRECAST_TRY(fs_.change_mode(folder_, mode_));
    PRECAST_TRY_ASSIGN(const bool leased, take_lease());
    if (leased) return {};
    folder_ = fs::new_temporary(folder_.parent_path());
  }
  return fail(ErrorCode::busy, "others clear up " + util::quoted(folder_.parent_path()) + " all the time",
              folder_.parent_path(), "try again");
}

Result<void> Draft::make_durable() {
  PRECAST_TRY_ASSIGN(const auto entries, fs::list_tree(fs_, folder_));
  std::set<stdfs::path> folders{stdfs::path()};
  for (const fs::TreeEntry& entry : entries) {
    if (entry.path == kLeaseName) continue;
    PRECAST_TRY(fs_.change_mode(folder_ / entry.path, (mode_ & kFileMode) | kOwnersFileMode));
    PRECAST_TRY_ASSIGN(fs::File file, fs_.open(folder_ / entry.path, fs::OpenMode::read));
    PRECAST_TRY(fs_.sync(file));
    for (stdfs::path at = entry.path.parent_path(); !at.empty(); at = at.parent_path()) folders.insert(at);
  }
  for (const stdfs::path& one : folders) {
    PRECAST_TRY(fs_.change_mode(folder_ / one, mode_));
    PRECAST_TRY(fs_.sync_directory(folder_ / one));
  }
  return {};
}

Result<void> Draft::write_record(const std::string& text) {
  const stdfs::path record = folder_ / kPublishedName;
  PRECAST_TRY(fs::write_file_atomically(fs_, record, text, fs::Durability::durable));
  return fs_.change_mode(record, (mode_ & kFileMode) | kOwnersFileMode);
}

Result<void> Draft::check_untouched(const Files& files) {
  const auto changed = [&](const stdfs::path& what) {
    return fail(ErrorCode::busy, "somebody changes " + util::quoted(what) + " while it is written", what, "try again");
  };
  PRECAST_TRY_ASSIGN(const bool mine, is_mine());
  if (!mine) return changed(folder_);
  PRECAST_TRY_ASSIGN(const auto entries, fs::list_tree(fs_, folder_));
  std::size_t found = 0;
  for (const fs::TreeEntry& entry : entries) {
    if (is_of_publishing(entry.path)) continue;
    const stdfs::path path = folder_ / entry.path;
    const auto file = files.find(entry.path.string());
    if (file == files.end()) return changed(path);
    PRECAST_TRY_ASSIGN(const fs::FileStat now, fs_.lstat(path));
    const fs::FileStat& then = file->second.stat;
    if (std::tie(now.inode, now.size, now.mtime_ns, now.ctime_ns) !=
        std::tie(then.inode, then.size, then.mtime_ns, then.ctime_ns)) {
      return changed(path);
    }
    ++found;
  }
  return found == files.size() ? Result<void>() : changed(folder_);
}

Result<void> Draft::move_to(const stdfs::path& output, There there) {
  if (there == There::nothing) {
    PRECAST_TRY(fs_.rename_new(folder_, output));
    folder_.clear();
  } else {
    PRECAST_TRY_ASSIGN(const bool exchanged, fs_.exchange(folder_, output));
    if (!exchanged) PRECAST_TRY(replace(output, there));
  }
  // Not before: another publication would take the draft for one that was left. What stays is of no file of the
  // bundle.
  (void)fs_.unlink(output / kLeaseName);
  PRECAST_TRY(fs_.sync_directory(output));
  PRECAST_TRY(fs_.sync_directory(output.parent_path()));
  return {};
}

Result<void> Draft::replace(const stdfs::path& output, There there) {
  if (there == There::empty) {
    PRECAST_TRY(fs_.remove_directory(output));
    PRECAST_TRY(fs_.rename_new(folder_, output));
    folder_.clear();
    return {};
  }
  const stdfs::path old = fs::new_temporary(output.parent_path());
  PRECAST_TRY(fs_.rename_new(output, old));
  if (auto moved = fs_.rename_new(folder_, output); !moved) {
    (void)fs_.rename_new(old, output);  // as it was, if that is possible
    return moved;
  }
  folder_ = old;
  return {};
}

Result<bool> Draft::is_mine() {
  PRECAST_TRY_ASSIGN(const fs::FileStat mine, fs_.stat(lease_));
  const auto there = fs_.lstat(folder_ / kLeaseName);
  if (!there && fs::is_not_found(there.error())) return false;
  if (!there) return std::unexpected(there.error());
  return there->inode == mine.inode;
}

Result<bool> Draft::take_lease() {
  auto lease = fs_.open(folder_ / kLeaseName, fs::OpenMode::lock);
  if (!lease && fs::is_not_found(lease.error())) return false;
  if (!lease) return std::unexpected(lease.error());
  PRECAST_TRY_ASSIGN(const bool locked, fs_.try_lock(*lease, fs::LockKind::shared));
  if (!locked) return false;
  lease_ = *std::move(lease);
  return is_mine();
}

void remove_left_drafts(fs::FileSystem& fs, const stdfs::path& parent) {
  const auto entries = fs.list(parent);
  if (!entries) return;
  for (const fs::DirEntry& entry : *entries) {
    const stdfs::path folder = parent / entry.name;
    const auto stat = fs.lstat(folder);
    if (!fs::is_temporary(entry.name) || !stat || stat->kind != fs::FileKind::directory) continue;
    auto lease = fs.open(folder / kLeaseName, fs::OpenMode::lock_existing);
    if (!lease && (!fs::is_not_found(lease.error()) || !is_ours_without_lease(fs, folder))) continue;
    const auto locked = lease ? fs.try_lock(*lease, fs::LockKind::exclusive) : Result<bool>(true);
    if (locked && *locked) remove_draft(fs, folder);
  }
}

}  // namespace precast::genai
