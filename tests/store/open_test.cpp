#include <sys/stat.h>
#include <sys/wait.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include "store/machine.hpp"
#include "store/support.hpp"

namespace precast::store {
namespace {

using testing::TestFileSystem;

class OpenTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Store>> open(bool allow_network = false) {
    return Store::open(fs_, {.root = root_, .allow_network = allow_network});
  }
  void refuses(std::string_view message, std::string_view hint) {
    const auto store = open();
    ASSERT_FALSE(store);
    EXPECT_NE(store.error().message.find(message), std::string::npos) << store.error().message;
    EXPECT_NE(store.error().hint.find(hint), std::string::npos) << store.error().hint;
  }

  testing::TemporaryFolder folder_;
  TestFileSystem fs_;
  std::filesystem::path root_ = folder_ / "home" / ".cache" / "precast";
};

TEST_F(OpenTest, MakesAPrivateRootWithTagAndVersion) {
  const auto store = open();
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_TRUE((*store)->writable());
  EXPECT_EQ(fs_.lstat(root_)->mode & 07777, 0700U);
  EXPECT_EQ(testing::contents(root_ / "version"), "precast-store 1\n");
  EXPECT_TRUE(testing::contents(root_ / "CACHEDIR.TAG").starts_with("Signature: 8a477f597d28d172789f06886806bc55\n"));
  EXPECT_EQ(fs_.lstat(root_ / "version")->mode & 07777, 0600U);
}

TEST_F(OpenTest, OpensAgain) {
  ASSERT_TRUE(open());
  const std::int64_t made = testing::ctime_of(root_ / "version");
  ASSERT_TRUE(open());
  EXPECT_EQ(testing::ctime_of(root_ / "version"), made);
}

TEST_F(OpenTest, RefusesAFolderThatHoldsOtherThingsAndLeavesItAlone) {
  std::filesystem::create_directories(root_);
  testing::put(root_ / "thesis.txt", "precious");
  const auto store = open();
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::bad_input);
  EXPECT_NE(store.error().message.find("thesis.txt"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(root_ / "CACHEDIR.TAG"));
  EXPECT_FALSE(std::filesystem::exists(root_ / "version"));
}

// Somebody deleted the store while a process was at work, which then made some of it again.
TEST_F(OpenTest, TakesWhatHoldsOnlyItsOwnNamesAndRefusesTheSameNamesWithOtherThings) {
  const std::string uuid = "01234567-89ab-4cde-8f01-23456789abcd";
  std::filesystem::create_directories(root_ / "keys" / "ab" / std::string(64, 'a'));
  std::filesystem::create_directories(root_ / "tmp" / uuid);
  std::filesystem::create_directories(root_ / "locks");
  testing::put(root_ / "locks" / "slot.0", "");
  testing::put(root_ / "locks" / ("publish." + testing::key_for("a")), "");
  std::filesystem::create_directories(root_ / "publish");
  testing::put(root_ / "publish" / (testing::key_for("a") + ".1.json"), "");
  testing::put(root_ / "stats.1", "");
  testing::put(root_ / "tmp" / "thesis.txt", "precious");
  refuses("holds other files ('tmp')", "choose");
  std::filesystem::remove(root_ / "tmp" / "thesis.txt");
  EXPECT_TRUE(open());
}

TEST_F(OpenTest, FinishesWhatAKilledOpenBegan) {
  std::filesystem::create_directories(root_);
  testing::put(root_ / "stats.1", "");
  testing::put(root_ / "CACHEDIR.TAG", "Signature");
  ASSERT_TRUE(open());
  EXPECT_TRUE(std::filesystem::exists(root_ / "version"));
  EXPECT_GT(testing::contents(root_ / "CACHEDIR.TAG").size(), 20U);
}

TEST_F(OpenTest, MayBeReachedThroughALink) {
  std::filesystem::create_directories(folder_ / "elsewhere");
  std::filesystem::create_directories(root_.parent_path());
  std::filesystem::create_directory_symlink(folder_ / "elsewhere", root_);
  const auto store = open();
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_TRUE(std::filesystem::exists(folder_ / "elsewhere" / "version"));
  testing::must_commit(**store, testing::marker_for("a"));
  EXPECT_TRUE((*store)->look_up(testing::key_for("a"))->hit);
}

TEST_F(OpenTest, RefusesNoRootAndARelativeOne) {
  root_ = "";
  refuses("there is no folder for the cache", "--cache-dir");
  root_ = "relative";
  refuses("'relative' is not an absolute path", "--cache-dir");
}

TEST_F(OpenTest, RefusesAFile) {
  std::filesystem::create_directories(root_.parent_path());
  testing::put(root_, "a file");
  refuses("is not a folder", "--cache-dir");
}

TEST_F(OpenTest, RefusesARootThatOthersCanWrite) {
  std::filesystem::create_directories(root_);
  for (const mode_t mode : {0770U, 0702U, 01777U}) {
    ASSERT_EQ(::chmod(root_.c_str(), mode), 0);
    refuses("can be written by other users", "chmod go-w '" + root_.string() + "'");
  }
  ASSERT_EQ(::chmod(root_.c_str(), 0755), 0);
  EXPECT_TRUE(open());
}

TEST_F(OpenTest, RefusesARootOfAnotherUser) {
  std::filesystem::create_directories(root_);
  fs_.set_stat_change([](fs::FileStat& stat) { stat.uid = geteuid() + 1; });
  refuses("belongs to user", "chown -R");
}

TEST_F(OpenTest, RefusesNetworkAndFuseUnlessAllowed) {
  for (const std::uint64_t magic : {0x6969UL, 0x65735546UL}) {
    fs_.set_volume({.magic = magic});
    refuses("network or FUSE", "--allow-network-store");
    EXPECT_TRUE(open(/*allow_network=*/true));
  }
}

TEST_F(OpenTest, RefusesAnotherVersionAndLeavesItAsItIs) {
  for (const std::string_view version : {"precast-store 2\n", "", "garbage \xff\n", "precast-store 1"}) {
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_);
    testing::put(root_ / "version", version);
    refuses("made by another precast", "--cache-dir");
    EXPECT_EQ(testing::contents(root_ / "version"), version);
    EXPECT_EQ(testing::entries_in(root_), 1U);
  }
}

TEST_F(OpenTest, ARootThatCannotBeWrittenServesHits) {
  {
    const auto store = open();
    ASSERT_TRUE(store);
    testing::must_commit(**store, testing::marker_for("a"));
  }
  fs_.set_volume({.magic = 0xEF53, .read_only = true});
  fs_.set_hook([](std::string_view operation, const std::filesystem::path& path) -> std::optional<Error> {
    for (const std::string_view writing : {"write", "sync", "make_directory", "rename", "rename_new", "unlink",
                                           "remove_directory", "change_mode", "clone", "link"}) {
      if (operation == writing) return Error{ErrorCode::io, "wrote to " + path.string(), path, {}};
    }
    return std::nullopt;
  });
  const auto store = open();
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_FALSE((*store)->writable());
  const auto found = (*store)->look_up(testing::key_for("a"));
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->hit) << found->miss_reason;
  const auto work = (*store)->begin_work();
  ASSERT_FALSE(work);
  EXPECT_EQ(work.error().code, ErrorCode::io);
  EXPECT_NE(work.error().message.find("mounted read-only"), std::string::npos) << work.error().message;
  (*store)->record({.kind = "hit"});
  (*store)->retain(testing::marker_for("a"));
}

TEST_F(OpenTest, PermissionsAloneStopWritingNotReading) {
  {
    const auto store = open();
    ASSERT_TRUE(store);
    testing::must_commit(**store, testing::marker_for("a"));
  }
  constexpr uid_t kNobody = 65534;
  const bool is_root = geteuid() == 0;
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) {
    if (entry.is_directory()) {
      ASSERT_EQ(::chmod(entry.path().c_str(), 0500), 0);
    }
    if (entry.is_regular_file()) {
      ASSERT_EQ(::chmod(entry.path().c_str(), 0400), 0);
    }
    if (is_root) {
      ASSERT_EQ(::chown(entry.path().c_str(), kNobody, kNobody), 0);
    }
  }
  ASSERT_EQ(::chmod(root_.c_str(), 0500), 0);
  if (is_root) {
    ASSERT_EQ(::chown(root_.c_str(), kNobody, kNobody), 0);
  }
  for (auto up = root_.parent_path(); up != folder_.path(); up = up.parent_path()) ::chmod(up.c_str(), 0755);
  EXPECT_EQ(testing::in_child([&] {
              if (is_root && setuid(kNobody) != 0) return 10;
              const auto store = open();
              if (!store) return 1;
              if ((*store)->writable()) return 2;
              const auto found = (*store)->look_up(testing::key_for("a"));
              if (!found) return 3;
              return found->hit ? 0 : 4;
            }),
            0);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root_)) ::chmod(entry.path().c_str(), 0700);
  ::chmod(root_.c_str(), 0700);
}

TEST_F(OpenTest, ManyAtOnceAllSucceed) {
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(open() ? 0 : 1);
    children.push_back(child);
  }
  EXPECT_TRUE(open());
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST(CompileSlots, AreAsManyAsMemoryAllowsAndAtLeastOne) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
  EXPECT_EQ(compile_slots(2, 64 * kGiB), 4U);
  EXPECT_EQ(compile_slots(16, 64 * kGiB), 16U);
  EXPECT_EQ(compile_slots(16, 10 * kGiB), 2U);
  EXPECT_EQ(compile_slots(16, kGiB), 1U);
  EXPECT_EQ(compile_slots(0, 0), 1U);
  EXPECT_GE(compile_slots(), 1U);
}

}  // namespace
}  // namespace precast::store
