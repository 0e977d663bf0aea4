#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "fs/held_locks_posix.hpp"
#include "fs/lock.hpp"
#include "fs/lock_holder.hpp"
#include "fs/posix_calls.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::fs {

struct Lock::State {
  State(FileSystem& file_system, stdfs::path lock_path, LockKind lock_kind)
      : fs(file_system), path(std::move(lock_path)), kind(lock_kind) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  [[nodiscard]] int descriptor() const { return held.file.descriptor(); }
  Result<void> open(OpenMode mode);
  // Whether the path still names the open file.
  Result<bool> is_current();

  FileSystem& fs;
  stdfs::path path;
  LockKind kind;
  posix::HeldFile held;
  bool locked = false;
  bool announced = false;
};

namespace {

using std::chrono::milliseconds;

// More than this many replacements of the file between open and lstat is not a race any more.
constexpr int kMaxReplacements = 100;
constexpr milliseconds kShortestPause{1};
constexpr milliseconds kLongestPause{50};
constexpr milliseconds kReportEvery{1000};

std::string shown(const stdfs::path& path) {
  return util::escape_to_line(path.native());
}

void pause_for(milliseconds pause, const util::CancelToken* cancel) {
  if (cancel == nullptr || cancel->descriptor() < 0) {
    std::this_thread::sleep_for(pause);
    return;
  }
  // Whatever it returns, the loop looks at the token and the lock again.
  pollfd cancelled = {cancel->descriptor(), POLLIN, 0};
  ::poll(&cancelled, 1, static_cast<int>(pause.count()));
}

// How long somebody has waited, and whom to tell.
class Wait {
 public:
  Wait(const stdfs::path& path, const Lock::WaitOptions& options)
      : path_(path),
        options_(options),
        clock_(options.clock != nullptr ? *options.clock : util::Clock::system()),
        start_(clock_.steady()) {}

  Result<void> check_cancelled() const {
    if (options_.cancel == nullptr || !options_.cancel->cancelled()) return {};
    return fail(ErrorCode::cancelled, fmt::format("interrupted while waiting for the lock '{}'", shown(path_)), path_);
  }

  // After an attempt that failed.
  Result<void> step(FileSystem& fs) {
    const auto waited = std::chrono::duration_cast<milliseconds>(clock_.steady() - start_);
    if (options_.timeout && waited >= *options_.timeout) return give_up(fs, waited);
    if (options_.on_wait && waited >= next_report_) {
      options_.on_wait(waited, read_lock_holder(fs, path_));
      next_report_ = waited + kReportEvery;
    }
    pause_for(options_.timeout ? std::min(pause_, *options_.timeout - waited) : pause_, options_.cancel);
    pause_ = std::min(pause_ * 2, kLongestPause);
    return {};
  }

 private:
  std::unexpected<Error> give_up(FileSystem& fs, milliseconds waited) const {
    const auto holder = read_lock_holder(fs, path_);
    const std::string who = holder ? fmt::format("process {} ('{}')", holder->pid, holder->note) : "somebody else";
    return fail(ErrorCode::busy,
                fmt::format("'{}' is locked by {}; gave up after {}", shown(path_), who, util::format_duration(waited)),
                path_, "try again later, or wait longer (--lock-timeout)");
  }

  const stdfs::path& path_;
  const Lock::WaitOptions& options_;
  const util::Clock& clock_;
  util::SteadyTime start_;
  milliseconds next_report_{0};
  milliseconds pause_ = kShortestPause;
};

}  // namespace

Lock::State::~State() {
  // In a forked child the file is closed, and neither note nor lock are the child's to touch.
  if (descriptor() >= 0) {
    // The note is for display; one that outlives its writer misleads nobody for long.
    if (announced) (void)!::ftruncate(descriptor(), 0);
    if (locked) fs.unlock(held.file);
  }
  posix::remove_held(held);
}

Result<void> Lock::State::open(OpenMode mode) {
  PRECAST_TRY_ASSIGN(const auto guard, posix::forbid_fork());
  PRECAST_TRY_ASSIGN(held.file, fs.open(path, mode));
  posix::add_held(guard, held);
  return {};
}

Result<bool> Lock::State::is_current() {
  PRECAST_TRY_ASSIGN(const FileStat opened, fs.stat(held.file));
  if (opened.kind != FileKind::regular) {
    return fail(ErrorCode::io, fmt::format("lock file '{}' is not a regular file", shown(path)), path, "delete it");
  }
  PRECAST_TRY_ASSIGN(const FileStat named, fs.lstat(path));
  return opened.device == named.device && opened.inode == named.inode;
}

Lock::Lock(std::unique_ptr<State> state) : state_(std::move(state)) {}
Lock::Lock() noexcept = default;
Lock::~Lock() = default;
Lock::Lock(Lock&&) noexcept = default;
Lock& Lock::operator=(Lock&&) noexcept = default;

void Lock::release() noexcept {
  state_.reset();
}

bool Lock::held() const {
  return state_ != nullptr && state_->descriptor() >= 0;
}

Result<std::optional<Lock>> Lock::try_acquire(FileSystem& fs, const stdfs::path& path, LockKind kind, bool create) {
  for (int replacements = 0; replacements < kMaxReplacements; ++replacements) {
    auto state = std::make_unique<State>(fs, path, kind);
    const auto opened = state->open(create ? OpenMode::lock : OpenMode::lock_existing);
    if (!opened) {
      if (!create || !is_not_found(opened.error())) return std::unexpected<Error>(opened.error());
      const stdfs::path folder = path.has_parent_path() ? path.parent_path() : stdfs::path(".");
      PRECAST_TRY(make_directories(fs, folder, 0700, Durability::none));
      continue;
    }
    PRECAST_TRY_ASSIGN(state->locked, fs.try_lock(state->held.file, kind));
    if (!state->locked) return std::optional<Lock>();
    const auto current = state->is_current();
    // Unlinked by the one who held it before us.
    if (!current && create && is_not_found(current.error())) continue;
    if (!current) return std::unexpected<Error>(current.error());
    if (*current) return Lock(std::move(state));
  }
  return std::optional<Lock>();  // somebody keeps replacing it: that is as good as held
}

Result<Lock> Lock::acquire(FileSystem& fs, const stdfs::path& path, LockKind kind, const WaitOptions& options) {
  Wait wait(path, options);
  for (;;) {
    PRECAST_TRY(wait.check_cancelled());
    PRECAST_TRY_ASSIGN(auto lock, try_acquire(fs, path, kind));
    if (lock) return *std::move(lock);
    PRECAST_TRY(wait.step(fs));
  }
}

void Lock::inherit_on_exec() {
  // Without the lock the program would still run; its entry would only be less protected.
  if (held()) (void)::fcntl(state_->descriptor(), F_SETFD, 0);
}

void Lock::announce(std::string_view note) {
  if (!held() || state_->kind != LockKind::exclusive) return;
  const std::string text = format_lock_holder({::getpid(), util::Clock::system().now(), std::string(note)});
  // Written first, cut afterwards: a reader in between sees the new lines and then rests, never an empty file. Failure
  // (a full disk, a read-only store) only means that those who wait cannot say for whom.
  if (::pwrite(state_->descriptor(), text.data(), text.size(), 0) < 0) return;
  (void)!::ftruncate(state_->descriptor(), static_cast<off_t>(text.size()));
  state_->announced = true;
}

Result<void> Lock::unlink_while_held() {
  if (!held() || state_->kind != LockKind::exclusive) {
    return fail(ErrorCode::internal, "a lock file may be deleted only under its exclusive lock",
                state_ ? state_->path : stdfs::path());
  }
  // Somebody may have deleted the whole store beneath us, and somebody else made it again: then the path is theirs.
  const auto current = state_->is_current();
  if (!current) {
    if (is_not_found(current.error())) return {};
    return std::unexpected<Error>(current.error());
  }
  return *current ? state_->fs.unlink(state_->path) : Result<void>();
}

}  // namespace precast::fs
