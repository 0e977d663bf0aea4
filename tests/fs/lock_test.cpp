#include "fs/lock.hpp"

#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "fs/counting_file_system.hpp"
#include "fs/temporary_folder.hpp"

namespace precast::fs {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using testing::contents;
using ::testing::HasSubstr;
using testing::in_unprivileged_child;
using testing::put;
using testing::TemporaryFolder;

// Lets something happen between the opening of a lock file and the locking of it.
class InterruptedFileSystem : public CountingFileSystem {
 public:
  using CountingFileSystem::CountingFileSystem;
  Result<File> open(const stdfs::path& path, OpenMode mode) override {
    if (const auto act = std::exchange(before_open, nullptr)) act();
    return CountingFileSystem::open(path, mode);
  }
  Result<bool> try_lock(File& file, LockKind kind) override {
    if (const auto act = std::exchange(before_lock, nullptr)) act();
    return CountingFileSystem::try_lock(file, kind);
  }
  std::function<void()> before_open;
  std::function<void()> before_lock;
};

// Half a second passes with every look at it.
class TickingClock : public util::Clock {
 public:
  [[nodiscard]] util::WallTime now() const override { return util::WallTime(ticks_.load() * 500ms); }
  [[nodiscard]] util::SteadyTime steady() const override { return util::SteadyTime(ticks_++ * 500ms); }

 private:
  mutable std::atomic<int> ticks_{0};
};

class Locks : public ::testing::Test {
 protected:
  std::optional<Lock> must_try(LockKind kind, bool create = true) {
    auto lock = Lock::try_acquire(fs_, path_, kind, create);
    EXPECT_TRUE(lock.has_value()) << lock.error().message;
    return lock ? std::move(*lock) : std::nullopt;
  }
  Error try_error(LockKind kind, bool create = true) {
    const auto lock = Lock::try_acquire(fs_, path_, kind, create);
    EXPECT_FALSE(lock.has_value());
    return lock ? Error{} : lock.error();
  }

  InterruptedFileSystem fs_{FileSystem::posix()};
  TemporaryFolder folder_;
  stdfs::path path_ = folder_ / "sub/folder/lock";
};

TEST_F(Locks, make_their_file_and_its_folders) {
  const auto lock = must_try(LockKind::exclusive);
  ASSERT_TRUE(lock.has_value());
  EXPECT_TRUE(lock->held());
  EXPECT_EQ(fs_.stat(path_).value().mode, 0600U);
  EXPECT_EQ(fs_.stat(path_.parent_path()).value().mode, 0700U);
}

TEST_F(Locks, shared_ones_go_together_and_exclusive_ones_do_not) {
  using enum LockKind;
  for (const auto& [held, wanted, both] : {std::tuple{shared, shared, true},
                                           {shared, exclusive, false},
                                           {exclusive, shared, false},
                                           {exclusive, exclusive, false}}) {
    const auto first = must_try(held);
    ASSERT_TRUE(first.has_value());
    const auto kind = wanted;
    EXPECT_EQ(must_try(kind).has_value(), both);
    bool in_thread = !both;
    std::thread([&] { in_thread = must_try(kind).has_value(); }).join();
    EXPECT_EQ(in_thread, both);
  }
}

TEST_F(Locks, are_free_again_when_released_moved_over_or_destroyed) {
  auto lock = must_try(LockKind::exclusive);
  lock->release();
  EXPECT_FALSE(lock->held());
  lock->release();
  lock = must_try(LockKind::exclusive);
  ASSERT_TRUE(lock.has_value());
  Lock moved = std::move(*lock);
  EXPECT_TRUE(moved.held());
  EXPECT_FALSE(lock->held());  // NOLINT(bugprone-use-after-move): that is the question
  EXPECT_FALSE(must_try(LockKind::shared).has_value());
  moved = Lock();
  EXPECT_TRUE(must_try(LockKind::exclusive).has_value());
  EXPECT_TRUE(must_try(LockKind::exclusive).has_value());
}

TEST_F(Locks, without_create_a_missing_file_is_not_found) {
  EXPECT_EQ(try_error(LockKind::shared, false).code, ErrorCode::not_found);
  EXPECT_FALSE(stdfs::exists(folder_ / "sub"));
  stdfs::create_directories(path_.parent_path());
  EXPECT_EQ(try_error(LockKind::shared, false).code, ErrorCode::not_found);
  EXPECT_FALSE(stdfs::exists(path_));
  put(path_, "");
  EXPECT_TRUE(must_try(LockKind::shared, false).has_value());
}

TEST_F(Locks, a_file_deleted_before_it_is_locked_is_not_found_without_create) {
  stdfs::create_directories(path_.parent_path());
  put(path_, "");
  fs_.before_lock = [this] { stdfs::remove(path_); };
  EXPECT_EQ(try_error(LockKind::shared, false).code, ErrorCode::not_found);
}

TEST_F(Locks, a_file_deleted_before_it_is_locked_is_made_again) {
  stdfs::create_directories(path_.parent_path());
  fs_.before_lock = [this] { stdfs::remove_all(folder_ / "sub"); };
  const auto lock = must_try(LockKind::exclusive);
  ASSERT_TRUE(lock.has_value());
  EXPECT_FALSE(Lock::try_acquire(FileSystem::posix(), path_, LockKind::shared).value().has_value());
}

TEST_F(Locks, a_file_replaced_before_it_is_locked_does_not_count) {
  std::optional<Lock> others;
  stdfs::create_directories(path_.parent_path());
  fs_.before_lock = [&] {
    stdfs::remove(path_);
    others = must_try(LockKind::exclusive);
  };
  EXPECT_FALSE(must_try(LockKind::exclusive).has_value());
  others.reset();
  EXPECT_TRUE(must_try(LockKind::exclusive).has_value());
}

TEST_F(Locks, a_folder_that_vanishes_is_made_again) {
  stdfs::create_directories(path_.parent_path());
  fs_.before_open = [this] { stdfs::remove_all(folder_ / "sub"); };
  EXPECT_TRUE(must_try(LockKind::exclusive).has_value());
  EXPECT_TRUE(stdfs::exists(path_));
}

TEST_F(Locks, links_and_other_things_are_refused) {
  put(folder_ / "target", "");
  path_ = folder_ / "link";
  stdfs::create_symlink("target", path_);
  EXPECT_THAT(try_error(LockKind::shared).message, HasSubstr("symbolic link"));
  EXPECT_THAT(try_error(LockKind::shared, false).message, HasSubstr("symbolic link"));
  path_ = folder_ / "dangling";
  stdfs::create_symlink("nowhere", path_);
  EXPECT_EQ(try_error(LockKind::exclusive).code, ErrorCode::io);
  EXPECT_FALSE(stdfs::exists(folder_ / "nowhere"));
  path_ = folder_ / "fifo";
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(try_error(LockKind::shared).message, HasSubstr("not a regular file"));
  path_ = folder_.path();
  EXPECT_EQ(try_error(LockKind::shared).code, ErrorCode::io);
}

TEST_F(Locks, work_in_a_store_that_cannot_be_written) {
  path_ = folder_ / "store/lock";
  stdfs::create_directory(folder_ / "store");
  put(path_, "");
  ASSERT_EQ(chmod(path_.c_str(), 0444), 0);
  ASSERT_EQ(chmod((folder_ / "store").c_str(), 0555), 0);
  EXPECT_EQ(in_unprivileged_child(folder_.path(),
                                  [this] {
                                    auto lock = must_try(LockKind::exclusive);
                                    if (!lock) return 1;
                                    lock->announce("cannot be written, and that is no matter");
                                    if (must_try(LockKind::shared)) return 2;
                                    lock.reset();
                                    if (!must_try(LockKind::shared, false)) return 3;
                                    path_ = folder_ / "store/missing";
                                    if (try_error(LockKind::shared, false).code != ErrorCode::not_found) return 4;
                                    return try_error(LockKind::shared).code == ErrorCode::io ? 0 : 5;
                                  }),
            0);
}

TEST_F(Locks, a_warm_one_takes_few_calls) {
  (void)must_try(LockKind::shared);
  fs_.reset();
  (void)must_try(LockKind::shared);
  EXPECT_LE(fs_.counts().total(), 5U);
}

TEST_F(Locks, acquire_gets_a_free_one_at_once) {
  Lock::WaitOptions options;
  options.timeout = 0ms;
  options.on_wait = [](milliseconds, const std::optional<LockHolder>&) { ADD_FAILURE() << "nobody to wait for"; };
  EXPECT_TRUE(Lock::acquire(fs_, path_, LockKind::exclusive, options).value().held());
}

TEST_F(Locks, acquire_waits_until_the_holder_lets_go) {
  auto held = must_try(LockKind::exclusive);
  std::promise<void> waiting;
  Lock::WaitOptions options;
  options.on_wait = [&, told = false](milliseconds, const std::optional<LockHolder>&) mutable {
    if (!std::exchange(told, true)) waiting.set_value();
  };
  auto waiter = std::async(std::launch::async,
                           [&] { return Lock::acquire(FileSystem::posix(), path_, LockKind::exclusive, options); });
  waiting.get_future().wait();
  held.reset();
  EXPECT_TRUE(waiter.get().value().held());
}

TEST_F(Locks, a_waiter_takes_the_file_that_replaced_the_one_it_waited_for) {
  auto held = must_try(LockKind::exclusive);
  Lock::WaitOptions options;
  options.on_wait = [&](milliseconds, const std::optional<LockHolder>&) {
    ASSERT_TRUE(held->unlink_while_held());
    stdfs::remove_all(folder_ / "sub");
  };
  const auto lock = Lock::acquire(FileSystem::posix(), path_, LockKind::exclusive, options);
  ASSERT_TRUE(lock.has_value());
  held.reset();
  EXPECT_FALSE(must_try(LockKind::shared).has_value());
}

TEST_F(Locks, acquire_gives_up_after_its_time_and_reports_every_second) {
  auto held = must_try(LockKind::exclusive);
  held->announce("compiling a.onnx");
  const TickingClock clock;
  std::vector<milliseconds> reports;
  Lock::WaitOptions options;
  options.timeout = 3s;
  options.clock = &clock;
  options.on_wait = [&](milliseconds waited, const std::optional<LockHolder>& holder) {
    reports.push_back(waited);
    ASSERT_TRUE(holder.has_value());
    EXPECT_EQ(holder->pid, getpid());
    EXPECT_EQ(holder->note, "compiling a.onnx");
  };
  const auto lock = Lock::acquire(fs_, path_, LockKind::exclusive, options);
  ASSERT_FALSE(lock.has_value());
  EXPECT_EQ(lock.error().code, ErrorCode::busy);
  EXPECT_EQ(lock.error().path, path_);
  EXPECT_THAT(lock.error().message, HasSubstr("process " + std::to_string(getpid()) + " ('compiling a.onnx')"));
  EXPECT_THAT(lock.error().message, HasSubstr("gave up after 3.0 s"));
  EXPECT_FALSE(lock.error().hint.empty());
  EXPECT_THAT(reports, ::testing::ElementsAre(500ms, 1500ms, 2500ms));
}

TEST_F(Locks, a_waiter_can_be_cancelled) {
  const auto held = must_try(LockKind::shared);
  util::CancelToken cancel;
  Lock::WaitOptions options;
  options.cancel = &cancel;
  options.on_wait = [&](milliseconds, const std::optional<LockHolder>& holder) {
    EXPECT_FALSE(holder.has_value());
    cancel.cancel();
  };
  const auto lock = Lock::acquire(fs_, path_, LockKind::exclusive, options);
  ASSERT_FALSE(lock.has_value());
  EXPECT_EQ(lock.error().code, ErrorCode::cancelled);
  // And who is cancelled already does not begin.
  EXPECT_EQ(Lock::acquire(fs_, folder_ / "free", LockKind::exclusive, options).error().code, ErrorCode::cancelled);
}

TEST_F(Locks, errors_end_the_waiting) {
  path_ = folder_ / "link";
  stdfs::create_symlink("nowhere", path_);
  EXPECT_EQ(Lock::acquire(fs_, path_, LockKind::exclusive, {}).error().code, ErrorCode::io);
}

TEST_F(Locks, an_announcement_can_be_read_until_the_release) {
  auto lock = must_try(LockKind::exclusive);
  EXPECT_FALSE(read_lock_holder(fs_, path_).has_value());
  const auto before = util::Clock::system().now();
  lock->announce("a long first note, and\nwith\xFF two lines");
  EXPECT_EQ(read_lock_holder(fs_, path_).value().note, "a long first note, and with\\xff two lines");
  lock->announce("short");
  const auto holder = read_lock_holder(fs_, path_).value();
  EXPECT_EQ(holder.pid, getpid());
  EXPECT_EQ(holder.note, "short");
  EXPECT_GE(holder.since, before);
  EXPECT_LE(holder.since, util::Clock::system().now());
  lock->announce(std::string(100'000, 'x'));
  EXPECT_EQ(read_lock_holder(fs_, path_).value().note, std::string(1024, 'x'));
  lock->announce("");
  EXPECT_EQ(read_lock_holder(fs_, path_).value().note, "");
  lock->release();
  EXPECT_FALSE(read_lock_holder(fs_, path_).has_value());
}

TEST_F(Locks, shared_holders_do_not_announce) {
  auto lock = must_try(LockKind::shared);
  lock->announce("note");
  EXPECT_EQ(contents(path_), "");
  Lock().announce("note");
}

TEST_F(Locks, what_is_not_a_note_is_nobodys) {
  for (const auto* text : {"", "pid 1\n", "pid 1\nsince 2\n", "pid 1\nsince 2\nnote x", "pid x\nsince 2\nnote x\n",
                           "pid 0\nsince 2\nnote x\n", "pid 1\nsince -\nnote x\n", "pid1\nsince 2\nnote x\n",
                           "since 2\npid 1\nnote x\n", "pid 99999999999999999999\nsince 2\nnote x\n"}) {
    put(folder_ / "lock", text);
    EXPECT_FALSE(read_lock_holder(fs_, folder_ / "lock").has_value()) << text;
  }
  put(folder_ / "lock", "pid 7\nsince 2\nnote x\nrest of a longer one");
  EXPECT_EQ(read_lock_holder(fs_, folder_ / "lock").value().pid, 7);
  EXPECT_FALSE(read_lock_holder(fs_, folder_ / "missing").has_value());
  EXPECT_FALSE(read_lock_holder(fs_, folder_.path()).has_value());
}

TEST_F(Locks, the_file_is_deleted_only_under_an_exclusive_lock) {
  auto shared = must_try(LockKind::shared);
  EXPECT_EQ(shared->unlink_while_held().error().code, ErrorCode::internal);
  EXPECT_TRUE(stdfs::exists(path_));
  shared.reset();
  EXPECT_EQ(Lock().unlink_while_held().error().code, ErrorCode::internal);
  auto exclusive = must_try(LockKind::exclusive);
  EXPECT_TRUE(exclusive->unlink_while_held());
  EXPECT_FALSE(stdfs::exists(path_));
  EXPECT_TRUE(exclusive->unlink_while_held());
}

TEST_F(Locks, a_file_that_somebody_else_made_is_not_deleted) {
  auto lost = must_try(LockKind::exclusive);
  stdfs::remove_all(folder_ / "sub");
  const auto others = must_try(LockKind::exclusive);
  ASSERT_TRUE(others.has_value());
  EXPECT_TRUE(lost->unlink_while_held());
  EXPECT_TRUE(stdfs::exists(path_));
}

}  // namespace
}  // namespace precast::fs
