// Locks across processes: fork, death, and many of them at once.
#include <array>
#include <atomic>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "fs/lock.hpp"
#include "fs/temporary_folder.hpp"

namespace precast::fs {
namespace {

using testing::contents;
using testing::in_child;
using testing::put;
using testing::TemporaryFolder;

class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe(ends_.data()), 0); }
  ~Pipe() {
    close_reader();
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void tell() const { EXPECT_EQ(write(ends_[1], "x", 1), 1); }
  // False when all writers are gone.
  [[nodiscard]] bool wait() const {
    char byte = 0;
    return read(ends_[0], &byte, 1) == 1;
  }
  void close_reader() { close_end(0); }
  void close_writer() { close_end(1); }

 private:
  void close_end(std::size_t end) {
    if (ends_[end] >= 0) close(ends_[end]);
    ends_[end] = -1;
  }
  std::array<int, 2> ends_{-1, -1};
};

class LocksOfProcesses : public ::testing::Test {
 protected:
  // Whether this process gets it just now.
  bool is_free(LockKind kind = LockKind::exclusive) {
    return Lock::try_acquire(FileSystem::posix(), path_, kind).value().has_value();
  }
  Lock must_lock(LockKind kind = LockKind::exclusive) {
    return Lock::acquire(FileSystem::posix(), path_, kind, {}).value();
  }

  TemporaryFolder folder_;
  stdfs::path path_ = folder_ / "lock";
};

TEST_F(LocksOfProcesses, exclude_each_other_as_those_of_threads_do) {
  using enum LockKind;
  for (const auto& [held, wanted, both] : {std::tuple{shared, shared, true},
                                           {shared, exclusive, false},
                                           {exclusive, shared, false},
                                           {exclusive, exclusive, false}}) {
    const Lock lock = must_lock(held);
    const auto kind = wanted;
    EXPECT_EQ(in_child([&] { return is_free(kind) ? 1 : 0; }), both ? 1 : 0);
  }
}

TEST_F(LocksOfProcesses, are_released_by_death) {
  const Pipe ready;
  const pid_t child = fork();
  if (child == 0) {
    const Lock lock = must_lock();
    ready.tell();
    pause();
    _exit(1);
  }
  ASSERT_TRUE(ready.wait());
  EXPECT_FALSE(is_free());
  ASSERT_EQ(kill(child, SIGKILL), 0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(is_free());
}

TEST_F(LocksOfProcesses, a_forked_child_holds_none_and_takes_none_away) {
  Lock lock = must_lock();
  EXPECT_EQ(in_child([&] {
              if (lock.held()) return 1;
              lock.announce("not mine");
              if (lock.unlink_while_held()) return 2;
              lock.release();
              return is_free() ? 3 : 0;
            }),
            0);
  EXPECT_TRUE(lock.held());
  EXPECT_EQ(contents(path_), "");
  EXPECT_FALSE(is_free());
}

TEST_F(LocksOfProcesses, a_forked_child_has_no_descriptor_of_them) {
  const Lock first = must_lock(LockKind::shared);
  const Lock second = must_lock(LockKind::shared);
  const Lock third = must_lock(LockKind::shared);
  const auto open_lock_files = [this] {
    int count = 0;
    for (const auto& entry : stdfs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;  // the iterator's own descriptor
      if (stdfs::read_symlink(entry.path(), gone) == path_) ++count;
    }
    return count;
  };
  EXPECT_EQ(open_lock_files(), 3);
  EXPECT_EQ(in_child(open_lock_files), 0);
}

TEST_F(LocksOfProcesses, end_with_their_process_though_its_child_lives_on) {
  Pipe ready;
  Pipe finish;
  const pid_t holder = fork();
  if (holder == 0) {
    const Lock lock = must_lock();
    if (fork() == 0) {
      finish.close_writer();
      ready.tell();
      (void)finish.wait();
      _exit(0);
    }
    ready.tell();
    pause();
    _exit(1);
  }
  ASSERT_TRUE(ready.wait());
  ASSERT_TRUE(ready.wait());
  ASSERT_EQ(kill(holder, SIGKILL), 0);
  ASSERT_EQ(waitpid(holder, nullptr, 0), holder);
  EXPECT_TRUE(is_free());
  finish.close_writer();  // ends the grandchild
}

TEST_F(LocksOfProcesses, a_child_can_use_locks_although_another_thread_was_busy_with_them) {
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) EXPECT_TRUE(Lock::try_acquire(FileSystem::posix(), folder_ / "other", LockKind::exclusive));
  });
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(in_child([&] { return is_free() ? 0 : 1; }), 0);
  }
  stop = true;
  busy.join();
}

// Adds one to the number in `counter` `times` times, each under a lock that is now and then deleted.
int count_up(const stdfs::path& lock_path, const stdfs::path& counter, int times) {
  for (int i = 0; i < times; ++i) {
    auto lock = Lock::acquire(FileSystem::posix(), lock_path, LockKind::exclusive, {});
    if (!lock) return 1;
    const int number = std::stoi(contents(counter));
    std::this_thread::yield();
    put(counter, std::to_string(number + 1));
    if (i % 3 == 0 && !lock->unlink_while_held()) return 2;
  }
  return 0;
}

TEST_F(LocksOfProcesses, many_count_together_and_lose_nothing) {
  constexpr int kProcesses = 4;
  constexpr int kTimes = 50;
  const stdfs::path counter = folder_ / "counter";
  put(counter, "0");
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(fork());
    if (children.back() == 0) _exit(count_up(path_, counter, kTimes));
  }
  std::thread here([&] { EXPECT_EQ(count_up(path_, counter, kTimes), 0); });
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  here.join();
  EXPECT_EQ(contents(counter), std::to_string((kProcesses + 1) * kTimes));
}

}  // namespace
}  // namespace precast::fs
