#include "compile/work_folder.hpp"

#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

#include "identity/links.hpp"
#include "util/text.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::compile {

namespace {

constexpr std::string_view kPrefix = "precast-";
constexpr std::string_view kLeaseName = "lease";

void remove_abandoned(fs::FileSystem& fs, const std::filesystem::path& base) {
  const auto entries = fs.list(base);
  if (!entries) return;  // making a folder there will say what is wrong
  for (const fs::DirEntry& entry : *entries) {
    if (!entry.name.starts_with(kPrefix) || !util::is_uuid(std::string_view(entry.name).substr(kPrefix.size())))
      continue;
    const std::filesystem::path folder = base / entry.name;
    const auto stat = fs.lstat(folder);
    if (!stat || stat->kind != fs::FileKind::directory || stat->uid != ::geteuid()) continue;
    auto lease = fs.open(folder / kLeaseName, fs::OpenMode::lock_existing);
    if (!lease) continue;
    const auto locked = fs.try_lock(*lease, fs::LockKind::exclusive);
    if (locked && *locked) (void)fs::remove_tree(fs, folder);  // what stays is tried again next time
  }
}

}  // namespace

Result<WorkFolder> WorkFolder::temporary(fs::FileSystem& fs) {
  // Absolute: the worker has another working directory.
  const char* const variable = std::getenv("TMPDIR");
  const bool given = variable != nullptr && *variable != '\0';
  const std::filesystem::path base = identity::logical_absolute(given ? variable : "/tmp");
  const auto there = fs.stat(base);
  if (!there || there->kind != fs::FileKind::directory) {
    return fail(ErrorCode::io, "the temporary folder " + util::quoted(base) + " is not there", base,
                "set TMPDIR to an existing folder");
  }
  remove_abandoned(fs, base);
  // Another process's look for abandoned folders may come between the making of this one and the locking of its lease.
  constexpr int kAttempts = 16;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    WorkFolder folder(fs, base / (std::string(kPrefix) + util::new_uuid()));
    PRECAST_TRY(fs.make_directory(folder.folder_, 0700));
    PRECAST_TRY_ASSIGN(const bool leased, folder.take_lease());
    if (!leased) continue;
    PRECAST_TRY(fs.make_directory(folder.output_folder(), 0700));
    PRECAST_TRY(fs.make_directory(folder.work_folder(), 0700));
    return folder;
  }
  return fail(ErrorCode::busy, "every new folder in " + util::quoted(base) + " is taken by somebody else", base,
              "try again, or set TMPDIR to another folder");
}

Result<bool> WorkFolder::take_lease() {
  const std::filesystem::path path = folder_ / kLeaseName;
  auto lease = fs_->open(path, fs::OpenMode::lock);
  if (!lease && fs::is_not_found(lease.error())) return false;
  if (!lease) return std::unexpected(lease.error());
  lease_ = std::move(*lease);
  PRECAST_TRY_ASSIGN(const bool locked, fs_->try_lock(lease_, fs::LockKind::shared));
  if (!locked) return false;
  return fs::exists(*fs_, path);
}

WorkFolder::~WorkFolder() {
  // A temporary folder that cannot be removed now is the system's to clean.
  if (fs_ != nullptr && !folder_.empty()) (void)fs::remove_tree(*fs_, folder_);
}

WorkFolder::WorkFolder(WorkFolder&& other) noexcept
    : work_(std::move(other.work_)),
      fs_(std::exchange(other.fs_, nullptr)),
      folder_(std::move(other.folder_)),
      lease_(std::move(other.lease_)) {
  other.folder_.clear();
}

void WorkFolder::inherit_lease_on_exec() {
  // Without the lease the program still runs; its folder would only be less protected.
  if (lease_.descriptor() >= 0) (void)::fcntl(lease_.descriptor(), F_SETFD, 0);
}

std::filesystem::path WorkFolder::output_folder() const {
  return work_ ? work_->output_folder() : folder_ / "out";
}
std::filesystem::path WorkFolder::source_folder() const {
  return work_ ? work_->source_folder() : folder_ / "source";
}
std::filesystem::path WorkFolder::work_folder() const {
  return work_ ? work_->work_folder() : folder_ / "work";
}

}  // namespace precast::compile
