#include "store/publish_files.hpp"

#include <ranges>
#include <utility>

#include "util/try.hpp"

namespace precast::store {

Result<Temporary> Temporary::create(fs::FileSystem& fs, const std::filesystem::path& folder) {
  const auto path = fs::new_temporary(folder);
  PRECAST_TRY_ASSIGN(fs::File file, fs.open(path, fs::OpenMode::create_new));
  Temporary made(fs, path);
  made.file_ = std::move(file);
  // Where files cannot be locked, the folder's lock has to do.
  (void)fs.try_lock(made.file_, fs::LockKind::exclusive);
  return made;
}

Result<Temporary> Temporary::clone(fs::FileSystem& fs, const std::filesystem::path& from,
                                   const std::filesystem::path& folder) {
  const auto path = fs::new_temporary(folder);
  PRECAST_TRY(fs.clone(from, path));
  Temporary made(fs, path);
  PRECAST_TRY_ASSIGN(made.file_, fs.open(path, fs::OpenMode::lock_existing));
  (void)fs.try_lock(made.file_, fs::LockKind::exclusive);  // as above
  return made;
}

Result<Temporary> Temporary::link(fs::FileSystem& fs, const std::filesystem::path& from,
                                  const std::filesystem::path& folder) {
  const auto path = fs::new_temporary(folder);
  if (!fs.link(from, path)) return clone(fs, from, folder);
  return Temporary(fs, path);
}

Temporary::~Temporary() {
  // Often gone already; what stays is swept by the next publication.
  if (!path_.empty()) (void)fs_.unlink(path_);
}

Temporary::Temporary(Temporary&& other) noexcept
    : fs_(other.fs_), path_(std::exchange(other.path_, {})), file_(std::move(other.file_)) {}

Result<void> Temporary::make_durable(std::uint32_t mode) {
  if (file_.descriptor() < 0) return {};
  PRECAST_TRY(fs_.change_mode(path_, mode));
  return fs_.sync(file_);
}

Result<void> Temporary::rename(const std::filesystem::path& to) {
  PRECAST_TRY(fs_.rename(path_, to));
  // Two names of one file are left as they are by rename(2).
  (void)fs_.unlink(path_);
  path_.clear();
  return {};
}

Result<void> Installation::put(Temporary& file, const std::filesystem::path& to, Old old) {
  Step step{.path = to};
  const auto there = fs_.lstat(to);
  if (!there && !fs::is_not_found(there.error())) return std::unexpected(there.error());
  if (there) {
    const auto folder = to.parent_path();
    PRECAST_TRY_ASSIGN(Temporary backup,
                       old == Old::ours ? Temporary::link(fs_, to, folder) : Temporary::clone(fs_, to, folder));
    PRECAST_TRY(backup.make_durable(there->mode));
    step.backup.push_back(std::move(backup));
  }
  steps_.push_back(std::move(step));
  PRECAST_TRY(file.rename(to));
  steps_.back().done = true;
  return {};
}

void Installation::undo() {
  for (Step& step : std::views::reverse(steps_)) {
    if (!step.done) continue;
    // There is nobody to tell: the failure that led here is the one to report.
    if (step.backup.empty()) {
      (void)fs_.unlink(step.path);
    } else {
      (void)step.backup.front().rename(step.path);
    }
  }
  if (!steps_.empty()) (void)fs_.sync_directory(steps_.front().path.parent_path());
  steps_.clear();
}

}  // namespace precast::store
