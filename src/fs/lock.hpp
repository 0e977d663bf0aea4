// Kernel locks on lock files (flock on an own O_CLOEXEC descriptor per holder). Released when the object dies or the
// process does. Never converted: drop, take again, re-check. Lock files may be unlinked only while held exclusively;
// whoever acquires compares the descriptor's inode with the path's and tries again when they differ; a vanished folder
// is made again. A symbolic link, or anything else that is not a regular file, is refused. A pthread_atfork child
// handler closes the descriptors, so a forked child holds nothing.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "fs/file_system.hpp"
#include "util/cancel.hpp"

namespace precast::fs {

// Who wrote itself into a lock file: for display only, never for decisions.
struct LockHolder {
  std::int64_t pid = 0;
  util::WallTime since{};
  std::string note;  // e.g. what is being compiled
};

// The FileSystem must outlive it. Any thread may release; one thread at a time uses one Lock.
class Lock {
 public:
  Lock() noexcept;
  ~Lock();
  Lock(Lock&&) noexcept;
  Lock& operator=(Lock&&) noexcept;

  // nullopt = held by somebody else. Makes the file (and its folder) when missing and `create`; without `create` a
  // missing file is not_found.
  [[nodiscard]] static Result<std::optional<Lock>> try_acquire(FileSystem& fs, const stdfs::path& path, LockKind kind,
                                                               bool create = true);

  struct WaitOptions {
    std::optional<std::chrono::milliseconds> timeout;  // none = for ever
    const util::CancelToken* cancel = nullptr;
    // Called about once a second while waiting, with the time waited and the holder if its note can be read.
    std::function<void(std::chrono::milliseconds waited, const std::optional<LockHolder>&)> on_wait;
    const util::Clock* clock = nullptr;  // null = the system's
  };
  // Polls try_acquire with pauses from 1 to 50 ms. timed_out and cancelled as error codes `busy` and `cancelled`.
  [[nodiscard]] static Result<Lock> acquire(FileSystem& fs, const stdfs::path& path, LockKind kind,
                                            const WaitOptions& options);

  // Writes pid, start time and note into the lock file (exclusive holders only). Failure is harmless and ignored.
  void announce(std::string_view note);
  // For a process that is about to become another program (execve): that program then holds the lock until it ends.
  void inherit_on_exec();
  // Unlinks the lock file; only while held exclusively.
  [[nodiscard]] Result<void> unlink_while_held();
  void release() noexcept;
  // False in a child made by fork, which holds none of its parent's locks.
  [[nodiscard]] bool held() const;

 private:
  struct State;
  explicit Lock(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::optional<LockHolder> read_lock_holder(FileSystem& fs, const stdfs::path& path);

}  // namespace precast::fs
