#include "identity/hashing_digester.hpp"

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <unistd.h>

#include "identity/links.hpp"
#include "support.hpp"

namespace precast::identity::test {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

class Hashing : public TempFolder {
 protected:
  Result<FileEvidence> one(const stdfs::path& path) {
    auto evidence = digester_.digest(std::span(&path, 1), "test");
    if (!evidence) return std::unexpected(evidence.error());
    return evidence->front();
  }
  HashingDigester digester_{fs::FileSystem::posix()};
};

TEST_F(Hashing, DigestIsTheSha256OfTheBytes) {
  const auto evidence = one(write("a", "abc"));
  ASSERT_TRUE(evidence);
  EXPECT_EQ(evidence->sha256, kAbc);
  EXPECT_EQ(evidence->stat.size, 3U);
  EXPECT_TRUE(evidence->links.empty());
}

TEST_F(Hashing, SeveralBlocksAndManyFilesKeepTheirOrder) {
  std::vector<stdfs::path> paths;
  std::vector<std::string> expected;
  for (int i = 0; i < 6; ++i) {
    const std::string bytes(static_cast<std::size_t>((6 - i) * 1'500'000 + 1), static_cast<char>('a' + i));
    paths.push_back(write("f" + std::to_string(i), bytes));
    const auto alone = hash_file(fs::FileSystem::posix(), paths.back());
    ASSERT_TRUE(alone);
    expected.push_back(alone->sha256);
  }
  const auto together = digester_.digest(paths, "test");
  ASSERT_TRUE(together);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    EXPECT_EQ((*together)[i].path, paths[i]);
    EXPECT_EQ((*together)[i].sha256, expected[i]);
  }
}

TEST_F(Hashing, ThereAndBackByRenameIsOtherEvidenceOfTheSameDigest) {
  const stdfs::path path = write("a", "abc");
  const auto before = one(path);
  write("b", "xyz");
  stdfs::rename(folder_ / "b", path);
  write("c", "abc");
  stdfs::rename(folder_ / "c", path);
  const auto after = one(path);
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->sha256, after->sha256);
  EXPECT_NE(*before, *after);
}

TEST_F(Hashing, UntouchedFileIsEqualEvidence) {
  const stdfs::path path = write("a", "abc");
  EXPECT_EQ(*one(path), *one(path));
}

TEST_F(Hashing, EveryLinkOnThePathIsEvidence) {
  write("real/blobs/data", "abc");
  stdfs::create_directory_symlink("real", folder_ / "outer");
  stdfs::create_symlink("blobs/data", folder_ / "real" / "m");
  const auto evidence = one(folder_ / "outer" / "m");
  ASSERT_TRUE(evidence);
  ASSERT_EQ(evidence->links.size(), 2U);
  EXPECT_EQ(evidence->links[0].path, folder_ / "outer");
  EXPECT_EQ(evidence->links[1].path, folder_ / "outer" / "m");
  EXPECT_EQ(evidence->sha256, kAbc);
}

TEST_F(Hashing, RetargetingALinkToEqualBytesIsOtherEvidence) {
  write("one", "abc");
  stdfs::create_hard_link(folder_ / "one", folder_ / "two");
  stdfs::create_symlink("one", folder_ / "link");
  const auto before = one(folder_ / "link");
  stdfs::create_symlink("two", folder_ / "new");
  stdfs::rename(folder_ / "new", folder_ / "link");
  const auto after = one(folder_ / "link");
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->stat, after->stat);
  EXPECT_NE(before->links, after->links);
}

TEST_F(Hashing, LinkLoopIsAnErrorThatNamesThePath) {
  stdfs::create_symlink("b", folder_ / "a");
  stdfs::create_symlink("a", folder_ / "b");
  const auto links = links_on_path(fs::FileSystem::posix(), folder_ / "a");
  ASSERT_FALSE(links);
  EXPECT_THAT(links.error().message, HasSubstr((folder_ / "a").string()));
}

TEST_F(Hashing, AnythingButARegularFileIsAnErrorThatNamesIt) {
  stdfs::create_directory(folder_ / "dir");
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  for (const char* name : {"dir", "fifo", "missing"}) {
    const auto evidence = one(folder_ / name);
    ASSERT_FALSE(evidence) << name;
    EXPECT_THAT(evidence.error().message, HasSubstr((folder_ / name).string()));
  }
  EXPECT_TRUE(fs::is_not_found(one(folder_ / "missing").error()));
}

TEST_F(Hashing, FirstErrorInTheOrderOfPathsIsReported) {
  const std::vector<stdfs::path> paths = {write("a", "x"), folder_ / "no-1", folder_ / "no-2"};
  const auto evidence = digester_.digest(paths, "test");
  ASSERT_FALSE(evidence);
  EXPECT_THAT(evidence.error().message, HasSubstr("no-1"));
}

TEST(LogicalAbsolute, KeepsDotDotAndDropsDots) {
  EXPECT_EQ(logical_absolute("/a/./b//../c"), "/a/b/../c");
  EXPECT_EQ(logical_absolute("x"), stdfs::current_path() / "x");
}

TEST_F(Hashing, EndsWhenCancelled) {
  util::CancelToken cancel;
  HashingDigester digester(fs::FileSystem::posix(), &cancel);
  const std::vector<stdfs::path> paths = {write("a", "x"), write("b", "y")};
  EXPECT_TRUE(digester.digest(paths, "test"));
  cancel.cancel();
  const auto evidence = digester.digest(paths, "test");
  ASSERT_FALSE(evidence);
  EXPECT_EQ(evidence.error().code, ErrorCode::cancelled);
  EXPECT_THAT(evidence.error().message, HasSubstr("interrupted while reading '" + paths[0].string()));
}

}  // namespace
}  // namespace precast::identity::test
