#include "fs/counting_file_system.hpp"

#include <array>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fs/temporary_folder.hpp"

namespace precast::fs {
namespace {

using testing::put;
using testing::TemporaryFolder;

TEST(CountingFileSystem, counts_calls_bytes_locks_and_syncs) {
  const TemporaryFolder folder;
  put(folder / "file", "12345");
  CountingFileSystem fs(FileSystem::posix());
  {
    File file = fs.open(folder / "file", OpenMode::read).value();
    std::array<std::byte, 4> buffer{};
    ASSERT_TRUE(fs.read(file, buffer));
    ASSERT_TRUE(fs.read(file, buffer));
    ASSERT_TRUE(fs.read_at(file, buffer, 3));
    ASSERT_TRUE(fs.try_lock(file, LockKind::shared));
    fs.unlock(file);
    ASSERT_TRUE(fs.try_lock(file, LockKind::exclusive));
    ASSERT_TRUE(fs.sync(file));
    ASSERT_TRUE(fs.sync_directory(folder.path()));
    ASSERT_TRUE(fs.close(file));
  }
  const CallCounts counts = fs.counts();
  EXPECT_EQ(counts.calls.at("open"), 1U);
  EXPECT_EQ(counts.calls.at("read"), 2U);
  EXPECT_EQ(counts.calls.at("read_at"), 1U);
  EXPECT_EQ(counts.calls.at("try_lock"), 2U);
  EXPECT_EQ(counts.bytes_read.at(folder / "file"), 7U);
  EXPECT_EQ(counts.exclusive_locks, 1U);
  EXPECT_EQ(counts.syncs, 2U);
  EXPECT_EQ(counts.total(), 10U);
  fs.reset();
  EXPECT_EQ(fs.counts().total(), 0U);
  EXPECT_EQ(fs.counts().syncs, 0U);
}

TEST(CountingFileSystem, passes_every_operation_on) {
  const TemporaryFolder folder;
  CountingFileSystem fs(FileSystem::posix());
  EXPECT_TRUE(fs.make_directory(folder / "d", 0700));
  File file = fs.open(folder / "d/a", OpenMode::create_new).value();
  EXPECT_TRUE(fs.write(file, std::as_bytes(std::span("x", 1))));
  EXPECT_EQ(fs.stat(file).value().size, 1U);
  EXPECT_TRUE(fs.clone(folder / "d/a", folder / "d/b"));
  EXPECT_TRUE(fs.link(folder / "d/b", folder / "d/e"));
  EXPECT_EQ(fs.stat(folder / "d/e").value().link_count, 2U);
  EXPECT_FALSE(fs.link(folder / "d/a", folder / "d/e"));
  EXPECT_TRUE(fs.unlink(folder / "d/e"));
  EXPECT_TRUE(fs.rename(folder / "d/b", folder / "d/c"));
  EXPECT_FALSE(fs.rename_new(folder / "d/a", folder / "d/c"));
  EXPECT_TRUE(fs.exchange(folder / "d/a", folder / "d/c").value());
  EXPECT_TRUE(fs.exchange(folder / "d/a", folder / "d/c").value());
  EXPECT_TRUE(fs.change_mode(folder / "d/c", 0400));
  EXPECT_EQ(fs.stat(folder / "d/c").value().mode, 0400U);
  EXPECT_EQ(fs.lstat(folder / "d/c").value().size, 1U);
  EXPECT_EQ(fs.list(folder / "d").value().size(), 2U);
  EXPECT_TRUE(fs.has_no_links(stdfs::canonical(folder.path())).value());
  EXPECT_FALSE(fs.read_link(folder / "d/a"));
  EXPECT_TRUE(fs.volume(folder.path()));
  File reading = fs.open(folder / "d/c", OpenMode::read).value();
  EXPECT_EQ(fs.check_writers(reading), FileSystem::WriterCheck::none);
  EXPECT_TRUE(fs.unlink(folder / "d/a"));
  EXPECT_TRUE(fs.unlink(folder / "d/c"));
  EXPECT_TRUE(fs.remove_directory(folder / "d"));
  EXPECT_EQ(fs.counts().calls.size(), 18U);
}

TEST(CountingFileSystem, loses_no_count_of_any_thread) {
  const TemporaryFolder folder;
  CountingFileSystem fs(FileSystem::posix());
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 250; ++n) EXPECT_TRUE(fs.lstat(folder.path()));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(fs.counts().calls.at("lstat"), 1000U);
}

}  // namespace
}  // namespace precast::fs
