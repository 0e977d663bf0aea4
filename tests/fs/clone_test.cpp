#include <csignal>
#include <string>

#include <sys/resource.h>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "fs/file_system.hpp"
#include "fs/posix_calls.hpp"
#include "fs/temporary_folder.hpp"

namespace precast::fs {
namespace {

using testing::contents;
using testing::in_child;
using testing::put;
using testing::TemporaryFolder;

class Clone : public ::testing::Test {
 protected:
  FileSystem& fs_ = FileSystem::posix();
  TemporaryFolder folder_;
};

TEST_F(Clone, a_clone_has_the_bytes_and_no_link_to_the_source) {
  std::string text(3 << 20U, 'x');
  for (std::size_t i = 0; i < text.size(); i += 4099) text[i] = static_cast<char>(i);
  put(folder_ / "from", text);
  const auto before = fs_.stat(folder_ / "from").value();
  ASSERT_TRUE(fs_.clone(folder_ / "from", folder_ / "to"));
  EXPECT_EQ(contents(folder_ / "to"), text);
  const auto to = fs_.stat(folder_ / "to").value();
  EXPECT_EQ(to.link_count, 1U);
  EXPECT_EQ(to.mode, 0600U);
  EXPECT_NE(to.inode, before.inode);
  EXPECT_EQ(fs_.stat(folder_ / "from").value(), before);
}

TEST_F(Clone, a_clone_never_replaces_and_leaves_nothing_when_it_fails) {
  put(folder_ / "from", std::string(10'000, 'x'));
  put(folder_ / "to", "mine");
  EXPECT_EQ(fs_.clone(folder_ / "from", folder_ / "to").error().code, ErrorCode::io);
  EXPECT_EQ(contents(folder_ / "to"), "mine");
  EXPECT_EQ(fs_.clone(folder_ / "missing", folder_ / "new").error().code, ErrorCode::not_found);
  EXPECT_EQ(fs_.clone(folder_.path(), folder_ / "new").error().code, ErrorCode::bad_input);
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(fs_.clone(folder_ / "fifo", folder_ / "new").error().code, ErrorCode::bad_input);
  const int failed = in_child([&] {
    (void)std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {4096, 4096};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    const auto cloned = fs_.clone(folder_ / "from", folder_ / "new");
    // A reflink needs no room and may succeed.
    return cloned || cloned.error().code == ErrorCode::no_space ? 0 : 2;
  });
  EXPECT_EQ(failed, 0);
  EXPECT_TRUE(!stdfs::exists(folder_ / "new") || contents(folder_ / "new").size() == 10'000);
}

TEST_F(Clone, a_clone_of_a_file_without_a_known_size_is_whole) {
  ASSERT_TRUE(fs_.clone("/proc/version", folder_ / "version"));
  EXPECT_EQ(contents(folder_ / "version"), contents("/proc/version"));
  EXPECT_FALSE(contents(folder_ / "version").empty());
}

TEST_F(Clone, the_fallback_copy_equals_its_source) {
  std::string text((1 << 20U) + 17, 'x');
  for (std::size_t i = 0; i < text.size(); i += 1021) text[i] = static_cast<char>(i);
  put(folder_ / "from", text);
  const File in = fs_.open(folder_ / "from", OpenMode::read).value();
  File out = fs_.open(folder_ / "to", OpenMode::create_new).value();
  ASSERT_TRUE(posix::copy_bytes(in, out));
  EXPECT_EQ(contents(folder_ / "to"), text);
  // To O_APPEND the kernel does not copy: the loop of reads and writes has to.
  File appending = fs_.open(folder_ / "appended", OpenMode::append).value();
  const File again = fs_.open(folder_ / "from", OpenMode::read).value();
  ASSERT_TRUE(posix::copy_bytes(again, appending));
  EXPECT_EQ(contents(folder_ / "appended"), text);
}

}  // namespace
}  // namespace precast::fs
