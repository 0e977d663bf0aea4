#include "store/digest_memo.hpp"

#include <fstream>
#include <thread>

#include <sys/mman.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "identity/hashing_digester.hpp"
#include "store/support.hpp"
#include "util/sha256.hpp"

namespace precast::store {
namespace {

using namespace std::chrono_literals;
using testing::TestFileSystem;
using util::sha256_hex;

const std::string kBoot = "11111111-2222-4333-8444-555555555555";

class DigestMemoTest : public ::testing::Test {
 protected:
  DigestMemoTest() {
    std::filesystem::create_directory(folder_ / "root");
    testing::put(file_, "bytes of the file");
    clock_.advance(1h);  // all files are old
  }

  DigestMemo memo(VerifyMode verify = VerifyMode::automatic, std::string boot = kBoot, bool persistent = true) {
    return {fs_,
            Layout(folder_ / "root"),
            {.verify = verify, .persistent = persistent, .clock = &clock_, .boot_id = std::move(boot)}};
  }
  std::string digest(DigestMemo& memo) { return digest(memo, file_); }
  std::string digest(DigestMemo& memo, const std::filesystem::path& path) {
    const auto evidence = memo.digest(std::span(&path, 1), "group");
    return evidence ? evidence->at(0).sha256 : evidence.error().message;
  }
  // In a new process, as far as the memo can tell.
  std::string digest_anew() {
    auto fresh = memo();
    return digest(fresh);
  }
  std::uint64_t read_by(const std::function<void()>& act) {
    const std::uint64_t before = fs_.bytes_read(file_);
    act();
    return fs_.bytes_read(file_) - before;
  }
  bool hashes_anew() {
    return read_by([&] { EXPECT_EQ(digest_anew(), sha256_hex(testing::contents(file_))); }) > 0;
  }

  testing::TemporaryFolder folder_;
  TestFileSystem fs_;
  testing::TestClock clock_;
  std::filesystem::path file_ = folder_ / "model.onnx";
};

TEST_F(DigestMemoTest, ASecondProcessReadsNoByte) {
  EXPECT_TRUE(hashes_anew());
  EXPECT_FALSE(hashes_anew());
}

TEST_F(DigestMemoTest, EvidenceIsTheSameWhetherHashedOrRemembered) {
  auto first = memo();
  auto second = memo();
  const auto hashed = first.digest(std::span(&file_, 1), "group");
  const auto remembered = second.digest(std::span(&file_, 1), "group");
  ASSERT_TRUE(hashed && remembered);
  EXPECT_EQ(*hashed, *remembered);
  EXPECT_EQ(*hashed, identity::hash_files(fs_, std::span(&file_, 1)).value());
}

TEST_F(DigestMemoTest, ChangesAreSeen) {
  EXPECT_TRUE(hashes_anew());
  testing::put(file_, "other");
  EXPECT_TRUE(hashes_anew());
  EXPECT_FALSE(hashes_anew());
}

TEST_F(DigestMemoTest, AChangeWithSizeAndMtimeRestoredIsSeenByItsCtime) {
  auto running = memo();
  const std::string before = digest(running);
  const auto written = std::filesystem::last_write_time(file_);
  testing::change_quietly(file_);
  EXPECT_EQ(std::filesystem::last_write_time(file_), written);
  EXPECT_NE(digest(running), before);
  EXPECT_EQ(digest_anew(), sha256_hex(testing::contents(file_)));
}

TEST_F(DigestMemoTest, AFileRenamedOverItIsSeen) {
  EXPECT_TRUE(hashes_anew());
  const auto written = std::filesystem::last_write_time(file_);
  testing::put(folder_ / "other", "BYTES OF THE FILE");
  std::filesystem::last_write_time(folder_ / "other", written);
  std::filesystem::rename(folder_ / "other", file_);
  EXPECT_TRUE(hashes_anew());
}

TEST_F(DigestMemoTest, WhatChangedJustNowIsHashedAgain) {
  clock_.freeze(testing::ctime_of(file_) + 19'999'999);
  EXPECT_TRUE(hashes_anew());
  EXPECT_TRUE(hashes_anew());
  clock_.freeze(testing::ctime_of(file_) + 20'000'000);
  EXPECT_TRUE(hashes_anew());
  EXPECT_FALSE(hashes_anew());
}

TEST_F(DigestMemoTest, ACtimeInTheFutureIsHashedAgain) {
  clock_.freeze(testing::ctime_of(file_) - 1'000'000'000);
  EXPECT_TRUE(hashes_anew());
  EXPECT_TRUE(hashes_anew());
}

TEST_F(DigestMemoTest, WithoutNanosecondsInCtimeTwoSecondsMustHavePassed) {
  const std::int64_t second = testing::ctime_of(file_) / 1'000'000'000 * 1'000'000'000;
  fs_.set_stat_change([&](fs::FileStat& stat) { stat.ctime_ns = second; });
  clock_.freeze(second + 1'999'999'999);
  EXPECT_TRUE(hashes_anew());
  EXPECT_TRUE(hashes_anew());
  clock_.freeze(second + 2'000'000'000);
  EXPECT_TRUE(hashes_anew());
  EXPECT_FALSE(hashes_anew());
}

TEST_F(DigestMemoTest, ADigestOfAYoungFileEndsWithTheBoot) {
  clock_.freeze(testing::ctime_of(file_) + 59'000'000'000);
  EXPECT_TRUE(hashes_anew());
  EXPECT_FALSE(hashes_anew());
  auto next_boot = memo(VerifyMode::automatic, "22222222-2222-4333-8444-555555555555");
  EXPECT_GT(read_by([&] { (void)digest(next_boot); }), 0U);
}

TEST_F(DigestMemoTest, ADigestOfAnOldFileOutlivesTheBoot) {
  EXPECT_TRUE(hashes_anew());
  auto next_boot = memo(VerifyMode::automatic, "22222222-2222-4333-8444-555555555555");
  EXPECT_EQ(read_by([&] { (void)digest(next_boot); }), 0U);
}

TEST_F(DigestMemoTest, OnAnUntrustedVolumeAllIsHashed) {
  for (const std::uint64_t magic : {0x01021994UL, 0x6969UL, 0x65735546UL}) {
    fs_.set_volume({.magic = magic});
    EXPECT_TRUE(hashes_anew());
    EXPECT_TRUE(hashes_anew());
  }
}

TEST_F(DigestMemoTest, NothingIsBelievedOnceTheVolumeIsNotTrusted) {
  EXPECT_TRUE(hashes_anew());
  EXPECT_FALSE(hashes_anew());
  fs_.set_volume({.magic = 0x01021994});
  EXPECT_TRUE(hashes_anew());
}

TEST_F(DigestMemoTest, OnOverlayAndReadOnlyMountsADigestEndsWithTheMount) {
  const fs::FileSystem::Volume volumes[] = {{.magic = 0x794C7630}, {.magic = 0xEF53, .read_only = true}};
  std::uint64_t mount = 5000;
  for (const auto& volume : volumes) {
    fs_.set_volume(volume);
    ++mount;
    fs_.set_stat_change([=](fs::FileStat& stat) { stat.mount_id = mount; });
    EXPECT_TRUE(hashes_anew());
    EXPECT_FALSE(hashes_anew());
    ++mount;
    fs_.set_stat_change([=](fs::FileStat& stat) { stat.mount_id = mount; });
    EXPECT_TRUE(hashes_anew());
    EXPECT_FALSE(hashes_anew());
    auto next_boot = memo(VerifyMode::automatic, "22222222-2222-4333-8444-555555555555");
    EXPECT_GT(read_by([&] { (void)digest(next_boot); }), 0U);
  }
}

TEST_F(DigestMemoTest, WhatSomebodyHasOpenForWritingIsServedAndNotRemembered) {
  {
    const std::ofstream writer(file_, std::ios::in | std::ios::out);
    EXPECT_TRUE(hashes_anew());
    EXPECT_TRUE(hashes_anew());
  }
  EXPECT_TRUE(hashes_anew());
  EXPECT_FALSE(hashes_anew());
}

TEST_F(DigestMemoTest, WhatSomebodyHasMappedForWritingIsServedAndNotRemembered) {
  const int descriptor = ::open(file_.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  void* const mapped = ::mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  ::close(descriptor);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_TRUE(hashes_anew());
  EXPECT_TRUE(hashes_anew());
  ::munmap(mapped, 8);
  EXPECT_TRUE(hashes_anew());
  EXPECT_FALSE(hashes_anew());
}

TEST_F(DigestMemoTest, AFileWhoseWritersAreUnknownIsAccepted) {
  fs_.set_writers(fs::FileSystem::WriterCheck::unknown);
  EXPECT_TRUE(hashes_anew());
  EXPECT_FALSE(hashes_anew());
}

TEST_F(DigestMemoTest, VerifyAlwaysHashesAndRemembers) {
  auto strict = memo(VerifyMode::always);
  EXPECT_GT(read_by([&] { (void)digest(strict); }), 0U);
  EXPECT_GT(read_by([&] { (void)digest(strict); }), 0U);
  EXPECT_FALSE(hashes_anew());
}

TEST_F(DigestMemoTest, VerifyAlwaysDoesNotBelieveAWrongMemo) {
  EXPECT_TRUE(hashes_anew());
  const fs::FileStat before = fs_.lstat(file_).value();
  testing::change_quietly(file_);
  fs_.set_stat_change([&](fs::FileStat& stat) {
    if (stat.inode == before.inode) stat = before;  // a disk that flips bits
  });
  EXPECT_NE(digest_anew(), sha256_hex(testing::contents(file_)));
  auto strict = memo(VerifyMode::always);
  EXPECT_EQ(digest(strict), sha256_hex(testing::contents(file_)));
}

TEST_F(DigestMemoTest, DigestAfreshMendsAWrongMemo) {
  auto running = memo();
  EXPECT_TRUE(hashes_anew());
  EXPECT_GT(read_by([&] { EXPECT_TRUE(running.digest_afresh(std::span(&file_, 1), "group")); }), 0U);
}

TEST_F(DigestMemoTest, ADamagedMemoCostsTimeOnly) {
  EXPECT_TRUE(hashes_anew());
  std::filesystem::path group_file;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_ / "root" / "digests")) {
    if (entry.is_regular_file()) group_file = entry.path();
  }
  EXPECT_EQ(group_file,
            folder_ / "root" / "digests" / sha256_hex("group").substr(0, 2) / (sha256_hex("group") + ".1.json"));
  const std::string good = testing::contents(group_file);
  std::string forged = good;
  const std::string digest_text = sha256_hex(testing::contents(file_));
  forged.replace(forged.find(digest_text), 64, sha256_hex("forged"));
  for (const std::string& bad : {std::string(), std::string("garbage"), good.substr(0, good.size() / 2), forged}) {
    testing::put(group_file, bad);
    EXPECT_TRUE(hashes_anew());
    EXPECT_FALSE(hashes_anew());  // mended
  }
}

TEST_F(DigestMemoTest, LinksAreEvidence) {
  testing::put(folder_ / "second", "second");
  std::filesystem::create_symlink(file_, folder_ / "link");
  auto running = memo();
  const std::filesystem::path link = folder_ / "link";
  const auto first = running.digest(std::span(&link, 1), "group").value();
  const auto again = running.digest(std::span(&link, 1), "group").value();
  EXPECT_EQ(first, again);
  ASSERT_EQ(first[0].links.size(), 1U);
  EXPECT_EQ(first[0].links[0].path, link);
  std::filesystem::remove(link);
  std::filesystem::create_symlink(folder_ / "second", link);
  const auto other = running.digest(std::span(&link, 1), "group").value();
  EXPECT_EQ(other[0].sha256, sha256_hex("second"));
  EXPECT_NE(other[0].links, first[0].links);
}

TEST_F(DigestMemoTest, AFolderThatIsALinkIsEvidence) {
  std::filesystem::create_directory(folder_ / "real");
  testing::put(folder_ / "real" / "m", "m");
  std::filesystem::create_directory_symlink(folder_ / "real", folder_ / "alias");
  auto running = memo();
  const std::filesystem::path path = folder_ / "alias" / "m";
  const auto first = running.digest(std::span(&path, 1), "group").value();
  ASSERT_EQ(first[0].links.size(), 1U);
  EXPECT_EQ(running.digest(std::span(&path, 1), "group").value(), first);
}

TEST_F(DigestMemoTest, WhatIsNotARegularFileIsAnErrorThatNamesIt) {
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  auto running = memo();
  for (const char* name : {"fifo", "root", "missing"}) {
    const std::filesystem::path path = folder_ / name;
    const auto evidence = running.digest(std::span(&path, 1), "group");
    ASSERT_FALSE(evidence) << name;
    EXPECT_NE(evidence.error().message.find(path.string()), std::string::npos) << evidence.error().message;
  }
}

TEST_F(DigestMemoTest, StoredFilesMayNotBeLinks) {
  std::filesystem::create_symlink(file_, folder_ / "link");
  for (const VerifyMode verify : {VerifyMode::automatic, VerifyMode::always}) {
    auto running = memo(verify);
    const std::filesystem::path link = folder_ / "link";
    EXPECT_TRUE(running.digest_stored(std::span(&file_, 1), "group"));
    const auto evidence = running.digest_stored(std::span(&link, 1), "group");
    ASSERT_FALSE(evidence);
    EXPECT_EQ(evidence.error().code, ErrorCode::corrupt);
  }
}

TEST_F(DigestMemoTest, WithoutAWritableStoreItRemembersInThisProcess) {
  auto running = memo(VerifyMode::automatic, kBoot, /*persistent=*/false);
  EXPECT_GT(read_by([&] { (void)digest(running); }), 0U);
  EXPECT_EQ(read_by([&] { (void)digest(running); }), 0U);
  running.remember_facts("model-1", "facts");
  EXPECT_EQ(running.facts("model-1"), "facts");
  EXPECT_EQ(testing::entries_in(folder_ / "root"), 0U);
}

TEST_F(DigestMemoTest, AGroupLargerThanTheLimitIsStillWarm) {
  std::vector<std::filesystem::path> paths;
  for (int i = 0; i < 300; ++i) {
    paths.push_back(folder_ / ("part" + std::to_string(i)));
    testing::put(paths.back(), std::to_string(i));
  }
  auto first = memo();
  ASSERT_TRUE(first.digest(paths, "many"));
  auto second = memo();
  ASSERT_TRUE(second.digest(paths, "many"));
  for (const auto& path : paths) EXPECT_EQ(fs_.bytes_read(path), testing::contents(path).size());
}

TEST_F(DigestMemoTest, AGroupForgetsItsOldest) {
  auto running = memo();
  for (int batch = 0; batch < 3; ++batch) {
    std::vector<std::filesystem::path> paths;
    for (int i = batch * 100; i < (batch + 1) * 100; ++i) {
      paths.push_back(folder_ / ("part" + std::to_string(i)));
      testing::put(paths.back(), std::to_string(i));
    }
    ASSERT_TRUE(running.digest(paths, "group"));
  }
  auto second = memo();
  EXPECT_EQ(digest(second, folder_ / "part0"), sha256_hex("0"));
  EXPECT_EQ(digest(second, folder_ / "part299"), sha256_hex("299"));
  EXPECT_EQ(fs_.bytes_read(folder_ / "part0"), 2U);
  EXPECT_EQ(fs_.bytes_read(folder_ / "part299"), 3U);
}

TEST_F(DigestMemoTest, FactsComeBackAndDamageIsNoFact) {
  const std::string text("lines\nand \0 bytes", 17);
  memo().remember_facts("model-abc", text);
  EXPECT_EQ(memo().facts("model-abc"), text);
  EXPECT_FALSE(memo().facts("model-abd"));
  const auto path = folder_ / "root" / "facts" / sha256_hex("model-abc").substr(0, 2) / "model-abc";
  const std::string framed = testing::contents(path);
  for (std::size_t length = 0; length < framed.size(); ++length) {
    testing::put(path, framed.substr(0, length));
    EXPECT_FALSE(memo().facts("model-abc")) << length;
  }
  for (std::size_t at = 0; at < framed.size(); ++at) {
    std::string other = framed;
    other[at] = static_cast<char>(other[at] ^ 1);
    testing::put(path, other);
    EXPECT_FALSE(memo().facts("model-abc")) << at;
  }
}

TEST_F(DigestMemoTest, FactNamesStayInTheirFolder) {
  for (const char* name : {"", "../x", "a/b", "A", ".", "a b"}) {
    memo().remember_facts(name, "text");
    EXPECT_FALSE(memo().facts(name)) << name;
  }
  EXPECT_EQ(testing::entries_in(folder_ / "root"), 0U);
}

TEST_F(DigestMemoTest, ManyThreadsGetTheSameDigests) {
  std::vector<std::filesystem::path> paths;
  for (int i = 0; i < 16; ++i) {
    paths.push_back(folder_ / ("part" + std::to_string(i)));
    testing::put(paths.back(), std::string(1000, static_cast<char>('a' + i)));
  }
  auto running = memo();
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 5; ++round) {
        const auto evidence = running.digest(paths, "shared");
        ASSERT_TRUE(evidence);
        for (std::size_t i = 0; i < paths.size(); ++i) {
          EXPECT_EQ((*evidence)[i].sha256, sha256_hex(std::string(1000, static_cast<char>('a' + i))));
        }
      }
    });
  }
}

}  // namespace
}  // namespace precast::store
