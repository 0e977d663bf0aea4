#include <cerrno>

#include <sys/mman.h>

#include <fcntl.h>
#include <gtest/gtest.h>

#include "fs/file_system.hpp"
#include "fs/posix_calls.hpp"
#include "fs/temporary_folder.hpp"

namespace precast::fs {
namespace {

using testing::in_child;
using testing::in_unprivileged_child;
using testing::put;
using testing::TemporaryFolder;
using WriterCheck = FileSystem::WriterCheck;

class CheckWriters : public ::testing::Test {
 protected:
  FileSystem& fs_ = FileSystem::posix();
  TemporaryFolder folder_;
};

TEST_F(CheckWriters, a_file_that_nobody_writes_has_no_writers) {
  put(folder_ / "file", "x");
  File file = fs_.open(folder_ / "file", OpenMode::read).value();
  EXPECT_EQ(fs_.check_writers(file), WriterCheck::none);
  EXPECT_EQ(fcntl(file.descriptor(), F_GETLEASE), F_UNLCK);
}

TEST_F(CheckWriters, a_writer_that_comes_during_the_check_does_not_end_the_process) {
  put(folder_ / "file", "x");
  EXPECT_EQ(in_child([this] {
              const File file = fs_.open(folder_ / "file", OpenMode::read).value();
              if (posix::take_read_lease(file) != WriterCheck::none) return 1;
              const auto open_for_writing = [this] { return open((folder_ / "file").c_str(), O_WRONLY | O_NONBLOCK); };
              if (open_for_writing() >= 0 || errno != EWOULDBLOCK) return 2;
              posix::give_back_lease(file);
              return open_for_writing() >= 0 ? 0 : 3;
            }),
            0);
}

TEST_F(CheckWriters, an_open_writer_is_seen) {
  put(folder_ / "file", "x");
  File file = fs_.open(folder_ / "file", OpenMode::read).value();
  {
    const File writer = fs_.open(folder_ / "file", OpenMode::read_write).value();
    EXPECT_EQ(fs_.check_writers(file), WriterCheck::writable);
  }
  EXPECT_EQ(fs_.check_writers(file), WriterCheck::none);
}

TEST_F(CheckWriters, a_shared_writable_mapping_is_seen_after_its_file_is_closed) {
  put(folder_ / "file", "x");
  File file = fs_.open(folder_ / "file", OpenMode::read).value();
  void* mapping = nullptr;
  {
    const File writer = fs_.open(folder_ / "file", OpenMode::read_write).value();
    mapping = mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, writer.descriptor(), 0);
    ASSERT_NE(mapping, MAP_FAILED);
  }
  EXPECT_EQ(fs_.check_writers(file), WriterCheck::writable);
  ASSERT_EQ(munmap(mapping, 1), 0);
  EXPECT_EQ(fs_.check_writers(file), WriterCheck::none);
}

TEST_F(CheckWriters, writers_of_another_users_file_are_unknown) {
  const int check = in_unprivileged_child(folder_.path(), [&] {
    File file = fs_.open("/etc/passwd", OpenMode::read).value();
    return static_cast<int>(fs_.check_writers(file));
  });
  EXPECT_EQ(check, static_cast<int>(WriterCheck::unknown));
}

}  // namespace
}  // namespace precast::fs
