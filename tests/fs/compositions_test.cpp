#include <csignal>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "fs/counting_file_system.hpp"
#include "fs/file_system.hpp"
#include "fs/temporary_folder.hpp"

namespace precast::fs {
namespace {

using testing::contents;
using ::testing::ElementsAre;
using testing::entries_in;
using ::testing::HasSubstr;
using testing::in_child;
using testing::in_unprivileged_child;
using testing::put;
using testing::TemporaryFolder;

// Writes down the order of the calls that matter for durability, and fails the one that is named.
class RecordingFileSystem : public CountingFileSystem {
 public:
  using CountingFileSystem::CountingFileSystem;

  Result<void> write(File& file, std::span<const std::byte> bytes) override {
    return failing("write") ? injected() : CountingFileSystem::write(file, bytes);
  }
  Result<void> sync(File& file) override { return failing("sync") ? injected() : CountingFileSystem::sync(file); }
  Result<void> close(File& file) override { return failing("close") ? injected() : CountingFileSystem::close(file); }
  Result<void> rename(const stdfs::path& from, const stdfs::path& to) override {
    return failing("rename") ? injected() : CountingFileSystem::rename(from, to);
  }
  Result<void> sync_directory(const stdfs::path& directory) override {
    return failing("sync_directory") ? injected() : CountingFileSystem::sync_directory(directory);
  }

  std::vector<std::string> order;
  std::string fail_at;

 private:
  bool failing(const std::string& operation) {
    order.push_back(operation);
    return operation == fail_at;
  }
  static Result<void> injected() { return fail(ErrorCode::no_space, "injected"); }
};

class Compositions : public ::testing::Test {
 protected:
  RecordingFileSystem fs_{FileSystem::posix()};
  TemporaryFolder folder_;
};

TEST_F(Compositions, read_small_file_takes_three_calls) {
  put(folder_ / "file", "12345");
  EXPECT_EQ(read_small_file(fs_, folder_ / "file", 100).value(), "12345");
  EXPECT_EQ(fs_.counts().total(), 3U);
}

TEST_F(Compositions, read_small_file_keeps_to_the_limit) {
  put(folder_ / "file", "12345");
  put(folder_ / "empty", "");
  EXPECT_EQ(read_small_file(fs_, folder_ / "file", 5).value(), "12345");
  EXPECT_EQ(read_small_file(fs_, folder_ / "empty", 0).value(), "");
  const auto too_large = read_small_file(fs_, folder_ / "file", 4);
  ASSERT_FALSE(too_large.has_value());
  EXPECT_EQ(too_large.error().message, "'" + (folder_ / "file").string() + "' is larger than 4 bytes");
  EXPECT_EQ(too_large.error().path, folder_ / "file");
}

TEST_F(Compositions, read_small_file_reads_files_whose_size_is_not_known) {
  EXPECT_EQ(read_small_file(fs_, "/proc/version", 10'000).value(), contents("/proc/version"));
  EXPECT_THAT(read_small_file(fs_, "/proc/version", 10).error().message, HasSubstr("larger than 10 bytes"));
  std::string meminfo = read_small_file(fs_, "/proc/self/limits", 100'000).value();
  EXPECT_EQ(meminfo.size(), contents("/proc/self/limits").size());
}

TEST_F(Compositions, read_small_file_takes_regular_files_only) {
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(read_small_file(fs_, folder_ / "fifo", 10).error().message, HasSubstr("is not a regular file"));
  EXPECT_THAT(read_small_file(fs_, folder_.path(), 10).error().message, HasSubstr("is not a regular file"));
  EXPECT_EQ(read_small_file(fs_, folder_ / "missing", 10).error().code, ErrorCode::not_found);
}

TEST_F(Compositions, an_atomic_write_makes_and_replaces) {
  const auto path = folder_ / "file";
  ASSERT_TRUE(write_file_atomically(fs_, path, "first", Durability::none));
  EXPECT_EQ(contents(path), "first");
  EXPECT_EQ(fs_.stat(path).value().mode, 0600U);
  ASSERT_TRUE(write_file_atomically(fs_, path, "second", Durability::none));
  EXPECT_EQ(contents(path), "second");
  EXPECT_EQ(entries_in(folder_.path()), 1U);
  EXPECT_EQ(fs_.counts().syncs, 0U);
}

TEST_F(Compositions, a_durable_write_syncs_the_file_before_and_the_folder_after_the_rename) {
  ASSERT_TRUE(write_file_atomically(fs_, folder_ / "file", "x", Durability::durable));
  EXPECT_THAT(fs_.order, ElementsAre("write", "sync", "close", "rename", "sync_directory"));
}

TEST_F(Compositions, a_write_that_fails_anywhere_leaves_the_old_file_and_nothing_else) {
  put(folder_ / "file", "old");
  for (const auto* operation : {"write", "sync", "close", "rename"}) {
    fs_.fail_at = operation;
    const auto written = write_file_atomically(fs_, folder_ / "file", "new", Durability::durable);
    ASSERT_FALSE(written.has_value()) << operation;
    EXPECT_EQ(written.error().code, ErrorCode::no_space);
    EXPECT_EQ(contents(folder_ / "file"), "old") << operation;
    EXPECT_EQ(entries_in(folder_.path()), 1U) << operation;
  }
  fs_.fail_at = "sync_directory";
  EXPECT_FALSE(write_file_atomically(fs_, folder_ / "file", "new", Durability::durable));
  EXPECT_EQ(entries_in(folder_.path()), 1U);
}

TEST_F(Compositions, a_full_disk_leaves_the_old_file_and_nothing_else) {
  put(folder_ / "file", "old");
  const int failed = in_child([&] {
    (void)std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {4096, 4096};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    const auto written = write_file_atomically(fs_, folder_ / "file", std::string(10'000, 'x'), Durability::durable);
    return !written && written.error().code == ErrorCode::no_space ? 0 : 2;
  });
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(contents(folder_ / "file"), "old");
  EXPECT_EQ(entries_in(folder_.path()), 1U);
}

TEST_F(Compositions, make_directories_makes_what_is_missing) {
  ASSERT_TRUE(make_directories(fs_, folder_ / "a/b/c", 0700, Durability::none));
  for (const auto* made : {"a", "a/b", "a/b/c"}) EXPECT_EQ(fs_.stat(folder_ / made).value().mode, 0700U) << made;
  EXPECT_EQ(fs_.counts().syncs, 0U);
  fs_.reset();
  ASSERT_TRUE(make_directories(fs_, folder_ / "a/b/c", 0700, Durability::durable));
  EXPECT_EQ(fs_.counts().total(), 1U);
}

TEST_F(Compositions, make_directories_syncs_the_parent_of_each_new_one) {
  ASSERT_TRUE(make_directories(fs_, folder_ / "a/b/c", 0700, Durability::durable));
  EXPECT_EQ(fs_.counts().syncs, 3U);
  ASSERT_TRUE(make_directories(fs_, folder_ / "a/b/d", 0700, Durability::durable));
  EXPECT_EQ(fs_.counts().syncs, 4U);
}

TEST_F(Compositions, make_directories_takes_every_way_to_write_a_path) {
  ASSERT_TRUE(make_directories(fs_, folder_ / "a/b/", 0700, Durability::none));
  EXPECT_TRUE(stdfs::is_directory(folder_ / "a/b"));
  ASSERT_TRUE(make_directories(fs_, "/", 0700, Durability::none));
  EXPECT_EQ(in_child([&] {
              stdfs::current_path(folder_.path());
              return make_directories(fs_, "x/y", 0700, Durability::durable) &&
                             write_file_atomically(fs_, "here", "x", Durability::durable)
                         ? 0
                         : 1;
            }),
            0);
  EXPECT_TRUE(stdfs::is_directory(folder_ / "x/y"));
  EXPECT_EQ(contents(folder_ / "here"), "x");
}

TEST_F(Compositions, make_directories_says_what_is_in_the_way) {
  put(folder_ / "file", "");
  stdfs::create_symlink("nowhere", folder_ / "dangling");
  const auto made = make_directories(fs_, folder_ / "file/below", 0700, Durability::none);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code, ErrorCode::io);
  EXPECT_EQ(made.error().message, "'" + (folder_ / "file").string() + "' is not a folder");
  EXPECT_EQ(make_directories(fs_, folder_ / "dangling/below", 0700, Durability::none).error().code, ErrorCode::io);
}

TEST_F(Compositions, remove_tree_takes_everything_and_follows_no_link) {
  stdfs::create_directories(folder_ / "outside");
  put(folder_ / "outside/kept", "x");
  stdfs::create_directories(folder_ / "tree/a/b");
  put(folder_ / "tree/a/b/file", "x");
  stdfs::create_directory_symlink(folder_ / "outside", folder_ / "tree/link");
  stdfs::create_symlink("nowhere", folder_ / "tree/dangling");
  ASSERT_EQ(mkfifo((folder_ / "tree/fifo").c_str(), 0600), 0);
  ASSERT_TRUE(remove_tree(fs_, folder_ / "tree"));
  EXPECT_FALSE(exists(fs_, folder_ / "tree"));
  EXPECT_EQ(contents(folder_ / "outside/kept"), "x");

  stdfs::create_directory_symlink(folder_ / "outside", folder_ / "link");
  ASSERT_TRUE(remove_tree(fs_, folder_ / "link"));
  EXPECT_EQ(contents(folder_ / "outside/kept"), "x");
  EXPECT_FALSE(exists(fs_, folder_ / "link"));
}

TEST_F(Compositions, remove_tree_takes_files_and_does_not_mind_what_is_missing) {
  put(folder_ / "file", "");
  EXPECT_TRUE(remove_tree(fs_, folder_ / "file"));
  EXPECT_FALSE(exists(fs_, folder_ / "file"));
  EXPECT_TRUE(remove_tree(fs_, folder_ / "file"));
  EXPECT_TRUE(remove_tree(fs_, folder_ / "no/such/thing"));
}

TEST_F(Compositions, remove_tree_copes_with_folders_that_are_read_only) {
  stdfs::create_directories(folder_ / "tree/a/b");
  put(folder_ / "tree/a/b/file", "x");
  for (const auto* name : {"tree/a/b", "tree/a", "tree"}) ASSERT_EQ(chmod((folder_ / name).c_str(), 0500), 0);
  EXPECT_EQ(in_unprivileged_child(folder_.path(), [&] { return remove_tree(fs_, folder_ / "tree") ? 0 : 1; }), 0);
  EXPECT_FALSE(exists(fs_, folder_ / "tree"));
}

TEST_F(Compositions, remove_tree_says_what_it_cannot_delete) {
  stdfs::create_directories(folder_ / "closed/tree");
  ASSERT_EQ(chmod((folder_ / "closed").c_str(), 0500), 0);
  EXPECT_EQ(in_unprivileged_child(folder_.path(),
                                  [&] {
                                    const auto removed = remove_tree(fs_, folder_ / "closed/tree");
                                    return !removed && removed.error().path == folder_ / "closed/tree" ? 0 : 1;
                                  }),
            0);
  EXPECT_TRUE(stdfs::exists(folder_ / "closed/tree"));
}

TEST_F(Compositions, exists_does_not_follow_links) {
  stdfs::create_symlink("nowhere", folder_ / "dangling");
  EXPECT_TRUE(exists(fs_, folder_ / "dangling"));
  EXPECT_FALSE(exists(fs_, folder_ / "nowhere"));
}

TEST_F(Compositions, a_temporary_file_is_known_by_its_name_and_goes_unless_it_is_locked) {
  const std::string name = ".precast-01234567-89ab-4cde-8f01-23456789abcd.tmp";
  EXPECT_TRUE(is_temporary(name));
  for (const char* other : {".precast-.tmp", ".precast-x.tmp", "precast-01234567-89ab-4cde-8f01-23456789abcd.tmp",
                            ".precast-01234567-89ab-4cde-8f01-23456789abcd", ".precast-", ""}) {
    EXPECT_FALSE(is_temporary(other)) << other;
  }
  put(folder_ / name, "half");
  auto writer = fs_.open(folder_ / name, OpenMode::lock_existing);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(*fs_.try_lock(*writer, LockKind::exclusive));
  remove_left_temporary(fs_, folder_ / name);
  EXPECT_TRUE(exists(fs_, folder_ / name));
  ASSERT_TRUE(fs_.close(*writer));
  remove_left_temporary(fs_, folder_ / name);
  EXPECT_FALSE(exists(fs_, folder_ / name));
}

// Deletes what is about to be looked at, as another process may.
class VanishingFileSystem : public CountingFileSystem {
 public:
  using CountingFileSystem::CountingFileSystem;
  Result<FileStat> lstat(const stdfs::path& path) override {
    auto stat = CountingFileSystem::lstat(path);
    if (path == before_lstat) stdfs::remove_all(path);
    if (path == before_lstat) return CountingFileSystem::lstat(path);
    if (path == after_lstat) stdfs::remove_all(path);
    return stat;
  }
  stdfs::path before_lstat;
  stdfs::path after_lstat;
};

class ListTree : public Compositions {
 protected:
  std::vector<std::string> names(FileSystem& fs) {
    const auto tree = list_tree(fs, folder_ / "tree");
    EXPECT_TRUE(tree) << tree.error().message;
    std::vector<std::string> found;
    for (const TreeEntry& entry : tree ? *tree : std::vector<TreeEntry>()) {
      found.push_back(entry.path.string() + (entry.kind == FileKind::regular   ? ""
                                             : entry.kind == FileKind::symlink ? " (link)"
                                                                               : " (other)"));
    }
    return found;
  }
};

TEST_F(ListTree, has_everything_but_folders_in_the_order_of_names_and_follows_no_link) {
  stdfs::create_directories(folder_ / "outside");
  put(folder_ / "outside/file", "x");
  stdfs::create_directories(folder_ / "tree/b/c");
  stdfs::create_directories(folder_ / "tree/empty");
  for (const auto* name : {"z", "a", "b.txt", "b/z", "b/c/file", ".hidden"}) put(folder_ / "tree" / name, "x");
  stdfs::create_directory_symlink(folder_ / "outside", folder_ / "tree/b/folder");
  stdfs::create_symlink("nowhere", folder_ / "tree/dangling");
  stdfs::create_directory_symlink(".", folder_ / "tree/circle");
  ASSERT_EQ(mkfifo((folder_ / "tree/fifo").c_str(), 0600), 0);
  EXPECT_THAT(names(fs_), ElementsAre(".hidden", "a", "b/c/file", "b/folder (link)", "b/z", "b.txt", "circle (link)",
                                      "dangling (link)", "fifo (other)", "z"));
}

TEST_F(ListTree, of_an_empty_folder_is_empty_and_of_none_is_an_error) {
  stdfs::create_directories(folder_ / "tree");
  EXPECT_THAT(names(fs_), ElementsAre());
  EXPECT_EQ(list_tree(fs_, folder_ / "missing").error().code, ErrorCode::not_found);
  put(folder_ / "file", "x");
  EXPECT_FALSE(list_tree(fs_, folder_ / "file"));
}

TEST_F(ListTree, leaves_out_what_vanishes_meanwhile) {
  stdfs::create_directories(folder_ / "tree/gone");
  put(folder_ / "tree/gone/file", "x");
  put(folder_ / "tree/file", "x");
  put(folder_ / "tree/kept", "x");
  VanishingFileSystem fs(FileSystem::posix());
  fs.before_lstat = folder_ / "tree/file";
  fs.after_lstat = folder_ / "tree/gone";  // a folder that is there when it is looked at, and not when it is listed
  EXPECT_THAT(names(fs), ElementsAre("kept"));
}

TEST_F(ListTree, says_what_it_cannot_read) {
  stdfs::create_directories(folder_ / "tree/closed");
  put(folder_ / "tree/closed/file", "x");
  ASSERT_EQ(chmod((folder_ / "tree/closed").c_str(), 0), 0);
  EXPECT_EQ(in_unprivileged_child(folder_.path(),
                                  [&] {
                                    const auto tree = list_tree(fs_, folder_ / "tree");
                                    return !tree && tree.error().path == folder_ / "tree/closed" ? 0 : 1;
                                  }),
            0);
  ASSERT_EQ(chmod((folder_ / "tree/closed").c_str(), 0700), 0);
}

TEST_F(Compositions, a_symbolic_link_is_made_as_written_and_replaces_nothing) {
  ASSERT_TRUE(fs_.symlink("../no/where", folder_ / "link"));
  EXPECT_EQ(fs_.read_link(folder_ / "link").value(), "../no/where");
  EXPECT_EQ(fs_.lstat(folder_ / "link").value().kind, FileKind::symlink);
  put(folder_ / "file", "x");
  const auto taken = fs_.symlink("elsewhere", folder_ / "file");
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().path, folder_ / "file");
  EXPECT_FALSE(fs_.symlink("elsewhere", folder_ / "link"));
  EXPECT_EQ(fs_.read_link(folder_ / "link").value(), "../no/where");
  EXPECT_EQ(contents(folder_ / "file"), "x");
  EXPECT_EQ(fs_.symlink("x", folder_ / "no/folder/link").error().code, ErrorCode::not_found);
  EXPECT_EQ(fs_.counts().calls.at("symlink"), 4U);
}

}  // namespace
}  // namespace precast::fs
