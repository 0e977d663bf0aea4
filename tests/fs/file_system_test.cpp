#include "fs/file_system.hpp"

#include <array>
#include <csignal>
#include <set>
#include <string>

#include <sys/resource.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "fs/posix_calls.hpp"
#include "fs/temporary_folder.hpp"
#include "util/text.hpp"

namespace precast::fs {
namespace {

using testing::contents;
using ::testing::HasSubstr;
using testing::in_child;
using testing::in_unprivileged_child;
using testing::put;
using testing::TemporaryFolder;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

class PosixFileSystem : public ::testing::Test {
 protected:
  FileSystem& fs_ = FileSystem::posix();
  TemporaryFolder folder_;
};

TEST_F(PosixFileSystem, stat_follows_links_and_lstat_does_not) {
  put(folder_ / "file", "12345");
  stdfs::create_symlink("file", folder_ / "link");
  const auto file = fs_.stat(folder_ / "file").value();
  EXPECT_EQ(file.kind, FileKind::regular);
  EXPECT_EQ(file.size, 5U);
  EXPECT_EQ(file.uid, geteuid());
  EXPECT_EQ(file.link_count, 1U);
  EXPECT_GT(file.mtime_ns, 1'000'000'000'000'000'000);
  EXPECT_EQ(fs_.stat(folder_ / "link").value(), file);
  EXPECT_EQ(fs_.lstat(folder_ / "link").value().kind, FileKind::symlink);
  EXPECT_EQ(fs_.stat(folder_.path()).value().kind, FileKind::directory);
  EXPECT_EQ(fs_.stat("/dev/null").value().kind, FileKind::other);
  const File opened = fs_.open(folder_ / "file", OpenMode::read).value();
  EXPECT_EQ(fs_.stat(opened).value(), file);
}

TEST_F(PosixFileSystem, stat_agrees_with_stat_2) {
  put(folder_ / "file", std::string(10'000, 'x'));
  ASSERT_EQ(chmod((folder_ / "file").c_str(), 0640), 0);
  struct stat expected = {};
  ASSERT_EQ(::stat((folder_ / "file").c_str(), &expected), 0);
  const auto got = fs_.stat(folder_ / "file").value();
  EXPECT_EQ(got.device, expected.st_dev);
  EXPECT_EQ(got.inode, expected.st_ino);
  EXPECT_EQ(got.mode, 0640U);
  EXPECT_EQ(got.mtime_ns, expected.st_mtim.tv_sec * 1'000'000'000 + expected.st_mtim.tv_nsec);
  EXPECT_EQ(got.ctime_ns, expected.st_ctim.tv_sec * 1'000'000'000 + expected.st_ctim.tv_nsec);
  EXPECT_EQ(got.block_bytes, static_cast<std::uint64_t>(expected.st_blocks) * 512);
}

TEST_F(PosixFileSystem, a_restored_size_and_mtime_still_shows_in_the_stat) {
  const auto path = folder_ / "file";
  put(path, "before");
  const auto before = fs_.stat(path).value();
  auto after = before;
  // Time stamps move in steps of some milliseconds.
  for (int i = 0; i < 1'000'000 && after.ctime_ns == before.ctime_ns; ++i) {
    put(path, "after!");
    const std::array<timespec, 2> times = {
        {{0, UTIME_OMIT}, {before.mtime_ns / 1'000'000'000, before.mtime_ns % 1'000'000'000}}};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times.data(), 0), 0);
    after = fs_.stat(path).value();
  }
  EXPECT_EQ(after.mtime_ns, before.mtime_ns);
  EXPECT_EQ(after.size, before.size);
  EXPECT_NE(after, before);
}

TEST_F(PosixFileSystem, mounts_have_different_ids) {
  const auto here = fs_.stat(folder_.path()).value();
  const auto proc = fs_.stat("/proc").value();
  EXPECT_NE(here.mount_id, 0U);
  EXPECT_NE(here.mount_id, proc.mount_id);
}

TEST_F(PosixFileSystem, errors_name_the_path_and_what_the_system_says) {
  const auto missing = fs_.open(folder_ / "missing", OpenMode::read);
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_EQ(missing.error().path, folder_ / "missing");
  EXPECT_EQ(missing.error().message, "cannot open '" + (folder_ / "missing").string() + "': No such file or directory");

  put(folder_ / "file", "");
  EXPECT_EQ(fs_.stat(folder_ / "file/below").error().code, ErrorCode::not_found);
  EXPECT_EQ(fs_.open(folder_ / "file", OpenMode::create_new).error().code, ErrorCode::io);
  EXPECT_THAT(fs_.rename(folder_ / "a", folder_ / "b").error().message, HasSubstr("/a' to '"));
}

TEST_F(PosixFileSystem, messages_are_utf8_whatever_the_name_is) {
  const auto path = folder_ / "na\xFFme\x1B";
  const auto error = fs_.stat(path).error();
  EXPECT_TRUE(util::is_utf8(error.message));
  EXPECT_THAT(error.message, HasSubstr("na\\xffme\\x1b"));
  EXPECT_EQ(error.path, path);
}

TEST_F(PosixFileSystem, what_permissions_forbid_is_an_io_error) {
  put(folder_ / "secret", "x");
  stdfs::permissions(folder_ / "secret", stdfs::perms::none);
  const int failed = in_unprivileged_child(folder_.path(), [&] {
    const auto opened = fs_.open(folder_ / "secret", OpenMode::read);
    if (opened) return 1;
    return opened.error().code == ErrorCode::io && opened.error().message.ends_with("Permission denied") ? 0 : 2;
  });
  EXPECT_EQ(failed, 0);
}

TEST_F(PosixFileSystem, links_are_read_whatever_their_length) {
  const std::string target = "/" + std::string(200, 'a') + "/" + std::string(200, 'b') + "/" + std::string(200, 'c');
  stdfs::create_symlink(target, folder_ / "long");
  stdfs::create_symlink("x", folder_ / "short");
  EXPECT_EQ(fs_.read_link(folder_ / "long").value(), target);
  EXPECT_EQ(fs_.read_link(folder_ / "short").value(), "x");
  put(folder_ / "file", "");
  EXPECT_EQ(fs_.read_link(folder_ / "file").error().code, ErrorCode::io);
}

using LinkCheck = Result<bool> (*)(const stdfs::path&);

class HasNoLinks : public ::testing::TestWithParam<LinkCheck> {
 protected:
  TemporaryFolder folder_;
};

TEST_P(HasNoLinks, sees_a_link_in_every_place) {
  const LinkCheck has_no_links = GetParam();
  const stdfs::path root = stdfs::canonical(folder_.path());
  stdfs::create_directories(root / "real/inner");
  put(root / "real/inner/file", "");
  stdfs::create_directory_symlink("real", root / "folder_link");
  stdfs::create_symlink("file", root / "real/inner/file_link");
  EXPECT_TRUE(has_no_links(root / "real/inner/file").value());
  EXPECT_TRUE(has_no_links(root / "real/inner/../inner/./file").value());
  EXPECT_TRUE(has_no_links(root / "real/").value());
  EXPECT_FALSE(has_no_links(root / "folder_link/inner/file").value());
  EXPECT_FALSE(has_no_links(root / "real/inner/file_link").value());
  EXPECT_FALSE(has_no_links(root / "folder_link").value());
  EXPECT_FALSE(has_no_links(root / "folder_link/").value());
  EXPECT_EQ(has_no_links(root / "real/missing").error().code, ErrorCode::not_found);
  EXPECT_EQ(has_no_links("").error().code, ErrorCode::not_found);
}

INSTANTIATE_TEST_SUITE_P(BothWays, HasNoLinks,
                         ::testing::Values(LinkCheck{[](const stdfs::path& path) {
                                             return FileSystem::posix().has_no_links(path);
                                           }},
                                           LinkCheck{&posix::has_no_links_stepwise}));

TEST_F(PosixFileSystem, list_is_sorted_and_knows_kinds) {
  put(folder_ / "b", "");
  stdfs::create_directory(folder_ / "a");
  stdfs::create_symlink("nowhere", folder_ / "c");
  ASSERT_EQ(mkfifo((folder_ / ".d").c_str(), 0600), 0);
  const auto entries = fs_.list(folder_.path()).value();
  ASSERT_EQ(entries.size(), 4U);
  EXPECT_EQ(entries[0].name, ".d");
  EXPECT_EQ(entries[0].kind, FileKind::other);
  EXPECT_EQ(entries[1].name, "a");
  EXPECT_EQ(entries[1].kind, FileKind::directory);
  EXPECT_EQ(entries[2].name, "b");
  EXPECT_EQ(entries[2].kind, FileKind::regular);
  EXPECT_EQ(entries[3].name, "c");
  EXPECT_EQ(entries[3].kind, FileKind::symlink);
  EXPECT_EQ(fs_.list(folder_ / "b").error().code, ErrorCode::not_found);
}

TEST_F(PosixFileSystem, opening_a_fifo_does_not_hang) {
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  const auto file = fs_.open(folder_ / "fifo", OpenMode::read);
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(fs_.stat(*file).value().kind, FileKind::other);
  EXPECT_TRUE(fs_.open(folder_ / "fifo", OpenMode::lock).has_value());
}

TEST_F(PosixFileSystem, every_descriptor_is_closed_by_exec) {
  put(folder_ / "file", "");
  for (const auto& [name, mode] :
       {std::pair{"file", OpenMode::read}, std::pair{"new", OpenMode::create_new}, std::pair{"file", OpenMode::append},
        std::pair{"lock", OpenMode::lock}, std::pair{"lock", OpenMode::lock_existing},
        std::pair{"file", OpenMode::read_write}}) {
    const auto file = fs_.open(folder_ / name, mode);
    ASSERT_TRUE(file.has_value()) << name;
    EXPECT_NE(fcntl(file->descriptor(), F_GETFD) & FD_CLOEXEC, 0) << name;
  }
}

TEST_F(PosixFileSystem, new_files_are_private) {
  for (const auto& [name, mode] : {std::pair{"new", OpenMode::create_new}, std::pair{"append", OpenMode::append},
                                   std::pair{"lock", OpenMode::lock}}) {
    ASSERT_TRUE(fs_.open(folder_ / name, mode).has_value());
    EXPECT_EQ(fs_.stat(folder_ / name).value().mode, 0600U) << name;
  }
}

TEST_F(PosixFileSystem, what_was_written_is_read) {
  const std::string text(100'000, 'x');
  File file = fs_.open(folder_ / "file", OpenMode::create_new).value();
  ASSERT_TRUE(fs_.write(file, bytes_of(text)));
  ASSERT_TRUE(fs_.write(file, bytes_of("end")));
  ASSERT_TRUE(fs_.sync(file));
  ASSERT_TRUE(fs_.close(file));
  EXPECT_EQ(file.descriptor(), -1);
  ASSERT_TRUE(fs_.sync_directory(folder_.path()));
  EXPECT_EQ(contents(folder_ / "file"), text + "end");

  File reading = fs_.open(folder_ / "file", OpenMode::read).value();
  std::array<std::byte, 8> buffer{};
  EXPECT_EQ(fs_.read_at(reading, buffer, 100'000).value(), 3U);
  EXPECT_EQ(buffer[0], std::byte{'e'});
  EXPECT_EQ(fs_.read_at(reading, buffer, 100'003).value(), 0U);
  EXPECT_EQ(fs_.read_at(reading, buffer, ~std::uint64_t{0}).value(), 0U);
  EXPECT_EQ(fs_.read(reading, buffer).value(), 8U);
  EXPECT_EQ(fs_.write(reading, bytes_of("x")).error().code, ErrorCode::io);
}

TEST_F(PosixFileSystem, append_goes_to_the_end) {
  put(folder_ / "file", "one ");
  File first = fs_.open(folder_ / "file", OpenMode::append).value();
  File second = fs_.open(folder_ / "file", OpenMode::append).value();
  ASSERT_TRUE(fs_.write(first, bytes_of("two ")));
  ASSERT_TRUE(fs_.write(second, bytes_of("three")));
  EXPECT_EQ(contents(folder_ / "file"), "one two three");
}

TEST_F(PosixFileSystem, a_full_disk_is_no_space) {
  const int failed = in_child([&] {
    (void)std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {4096, 4096};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    File file = fs_.open(folder_ / "file", OpenMode::create_new).value();
    const auto written = fs_.write(file, bytes_of(std::string(10'000, 'x')));
    return !written && written.error().code == ErrorCode::no_space && !written.error().hint.empty() ? 0 : 2;
  });
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(posix::fail_call(ENOSPC, "write", "/x").error().code, ErrorCode::no_space);
  EXPECT_EQ(posix::fail_call(EDQUOT, "write", "/x").error().code, ErrorCode::no_space);
}

TEST_F(PosixFileSystem, make_directory_accepts_one_that_is_there) {
  ASSERT_TRUE(fs_.make_directory(folder_ / "a", 0700));
  EXPECT_EQ(fs_.stat(folder_ / "a").value().mode, 0700U);
  EXPECT_TRUE(fs_.make_directory(folder_ / "a", 0700));
  put(folder_ / "file", "");
  EXPECT_EQ(fs_.make_directory(folder_ / "file", 0700).error().code, ErrorCode::io);
  EXPECT_EQ(fs_.make_directory(folder_ / "missing/a", 0700).error().code, ErrorCode::not_found);
}

TEST_F(PosixFileSystem, rename_replaces_and_rename_new_does_not) {
  put(folder_ / "a", "a");
  put(folder_ / "b", "b");
  EXPECT_FALSE(fs_.rename_new(folder_ / "a", folder_ / "b"));
  EXPECT_EQ(contents(folder_ / "b"), "b");
  EXPECT_TRUE(fs_.rename_new(folder_ / "a", folder_ / "c"));
  EXPECT_TRUE(fs_.rename(folder_ / "c", folder_ / "b"));
  EXPECT_EQ(contents(folder_ / "b"), "a");
  stdfs::create_directory(folder_ / "empty");
  stdfs::create_directory(folder_ / "other");
  EXPECT_FALSE(fs_.rename_new(folder_ / "other", folder_ / "empty"));
}

TEST_F(PosixFileSystem, exchange_swaps_two_names) {
  stdfs::create_directory(folder_ / "one");
  put(folder_ / "one/a", "a");
  stdfs::create_directory(folder_ / "other");
  EXPECT_TRUE(fs_.exchange(folder_ / "one", folder_ / "other").value());
  EXPECT_EQ(contents(folder_ / "other/a"), "a");
  EXPECT_FALSE(stdfs::exists(folder_ / "one/a"));
  EXPECT_EQ(fs_.exchange(folder_ / "one", folder_ / "missing").error().code, ErrorCode::not_found);
}

TEST_F(PosixFileSystem, unlink_and_remove_directory_delete) {
  put(folder_ / "a", "");
  stdfs::create_directory(folder_ / "d");
  EXPECT_TRUE(fs_.unlink(folder_ / "a"));
  EXPECT_EQ(fs_.unlink(folder_ / "a").error().code, ErrorCode::not_found);
  EXPECT_FALSE(fs_.unlink(folder_ / "d"));
  EXPECT_TRUE(fs_.remove_directory(folder_ / "d"));
  EXPECT_EQ(fs_.remove_directory(folder_ / "d").error().code, ErrorCode::not_found);
}

TEST_F(PosixFileSystem, change_mode_changes_it) {
  put(folder_ / "a", "");
  ASSERT_TRUE(fs_.change_mode(folder_ / "a", 0400));
  EXPECT_EQ(fs_.stat(folder_ / "a").value().mode, 0400U);
}

TEST_F(PosixFileSystem, volume_knows_the_file_system) {
  const auto proc = fs_.volume("/proc").value();
  EXPECT_EQ(proc.magic, 0x9FA0U);
  const auto here = fs_.volume(folder_.path()).value();
  EXPECT_FALSE(here.read_only);
  EXPECT_GT(here.bytes_total, 0U);
  EXPECT_LE(here.bytes_free, here.bytes_total);
  EXPECT_EQ(fs_.volume(folder_ / "missing").error().code, ErrorCode::not_found);
}

TEST_F(PosixFileSystem, locks_exclude_other_open_files_only) {
  File one = fs_.open(folder_ / "lock", OpenMode::lock).value();
  File two = fs_.open(folder_ / "lock", OpenMode::lock).value();
  EXPECT_TRUE(fs_.try_lock(one, LockKind::exclusive).value());
  EXPECT_FALSE(fs_.try_lock(two, LockKind::shared).value());
  fs_.unlock(one);
  EXPECT_TRUE(fs_.try_lock(two, LockKind::shared).value());
}

TEST(File, gives_its_descriptor_away_once) {
  const TemporaryFolder folder;
  File file = FileSystem::posix().open(folder / "file", OpenMode::create_new).value();
  const int descriptor = file.descriptor();
  File moved = std::move(file);
  EXPECT_EQ(moved.descriptor(), descriptor);
  EXPECT_EQ(moved.path(), folder / "file");
  File other = FileSystem::posix().open(folder / "other", OpenMode::create_new).value();
  const int replaced = other.descriptor();
  other = std::move(moved);
  EXPECT_EQ(fcntl(replaced, F_GETFD), -1);
  EXPECT_EQ(other.release(), descriptor);
  EXPECT_EQ(other.release(), -1);
  EXPECT_EQ(::close(descriptor), 0);
}

}  // namespace
}  // namespace precast::fs
