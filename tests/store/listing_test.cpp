#include <sys/stat.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "store/support.hpp"

namespace precast::store {
namespace {

using namespace std::chrono_literals;
using testing::marker_for;

class ListingTest : public ::testing::Test {
 protected:
  ListingTest() : store_(testing::open_store(fs_, folder_ / "root", &clock_)) {}
  Marker compile(const std::string& name) {
    clock_.advance(1h);
    return testing::must_commit(*store_, marker_for(name));
  }
  std::vector<std::string> listed() {
    std::vector<std::string> keys;
    const auto entries = store_->list();
    EXPECT_TRUE(entries);
    for (const Entry& entry : *entries) keys.push_back(entry.marker.key);
    return keys;
  }
  std::vector<std::string> verified() {
    std::vector<std::string> lines;
    const auto findings = store_->verify({});
    EXPECT_TRUE(findings);
    for (const Finding& one : *findings) {
      lines.push_back(std::string(one.damaged ? "damage " : "note ") + one.path.string() + ": " + one.message);
    }
    return lines;
  }
  [[nodiscard]] std::filesystem::path file(const Marker& marker, std::string_view name) const {
    return store_->layout().generation(marker.generation) / name;
  }

  testing::TemporaryFolder folder_;
  testing::TestFileSystem fs_;
  testing::TestClock clock_;
  std::unique_ptr<Store> store_;
};

using Lines = std::vector<std::string>;

TEST_F(ListingTest, AnEmptyStoreListsNothing) {
  EXPECT_TRUE(listed().empty());
  EXPECT_TRUE(verified().empty());
}

TEST_F(ListingTest, TheMostRecentlyUsedComesFirst) {
  const Marker a = compile("a");
  const Marker b = compile("b");
  EXPECT_EQ(listed(), (Lines{b.key, a.key}));
  clock_.advance(1h);
  const std::string now = util::format_rfc3339(clock_.now());
  store_->record({.kind = "hit", .time = now, .key = a.key, .generation = a.generation});
  EXPECT_EQ(listed(), (Lines{a.key, b.key}));
  const auto entries = store_->list().value();
  EXPECT_EQ(entries[0].last_used, now);
  EXPECT_EQ(entries[1].last_used, b.created);
  EXPECT_EQ(entries[0].marker, a);
  EXPECT_TRUE(entries[0].current);
}

TEST_F(ListingTest, OneInodeCountsOnce) {
  const Marker a = compile("a");
  const std::uint64_t before = store_->list()->at(0).bytes;
  EXPECT_GT(before, 0U);
  std::filesystem::create_hard_link(file(a, "npu.bin"), file(a, "twin.bin"));
  EXPECT_EQ(store_->list()->at(0).bytes, before);
}

TEST_F(ListingTest, WhatEntriesShareCountsInEachAndOnceInAll) {
  const Marker a = compile("a");
  const Marker b = compile("b");
  const auto alone = store_->list().value();
  EXPECT_EQ(store_->bytes_together(alone), alone[0].bytes + alone[1].bytes);
  std::filesystem::remove(file(b, "npu.bin"));
  std::filesystem::create_hard_link(file(a, "npu.bin"), file(b, "npu.bin"));
  const auto sharing = store_->list().value();
  EXPECT_EQ(sharing[0].bytes, alone[0].bytes);
  EXPECT_EQ(sharing[1].bytes, alone[1].bytes);
  struct stat shared{};
  ASSERT_EQ(::stat(file(a, "npu.bin").c_str(), &shared), 0);
  EXPECT_EQ(store_->bytes_together(sharing),
            alone[0].bytes + alone[1].bytes - static_cast<std::uint64_t>(shared.st_blocks) * 512);
  EXPECT_EQ(store_->bytes_together({}), 0U);
}

TEST_F(ListingTest, WhatIsDamagedIsPassedOver) {
  const Marker a = compile("a");
  const Marker b = compile("b");
  const Marker c = compile("c");
  testing::put(store_->layout().marker(a.key), "garbage");
  std::filesystem::remove_all(store_->layout().generation(b.generation));
  std::filesystem::create_directories(store_->layout().keys() / "zz" / "what");
  EXPECT_EQ(listed(), Lines{c.key});
}

TEST_F(ListingTest, FindsByKeyAndByPrefix) {
  const Marker a = compile("a");
  compile("b");
  EXPECT_EQ(store_->find(a.key)->marker, a);
  EXPECT_EQ(store_->find(a.key.substr(0, 4))->marker, a);
  EXPECT_EQ(store_->find(a.key.substr(0, 63))->marker, a);
}

TEST_F(ListingTest, SaysWhyAKeyIsNotFound) {
  const Marker a = compile("a");
  for (const std::string& prefix : {std::string(), a.key.substr(0, 3), std::string("xyzw"), a.key + "0",
                                    std::string("../.."), std::string("ABCD")}) {
    EXPECT_EQ(store_->find(prefix).error().code, ErrorCode::bad_input) << prefix;
  }
  const auto missing = store_->find(testing::key_for("b"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_NE(missing.error().message.find(testing::key_for("b")), std::string::npos);
}

TEST_F(ListingTest, AnAmbiguousPrefixNamesTheCandidates) {
  // Two keys that begin alike are made, not searched for.
  const Marker a = compile("a");
  std::string first;
  std::string second;
  std::map<std::string, std::string> seen;
  for (int i = 0; second.empty(); ++i) {
    const std::string key = testing::key_for(std::to_string(i));
    const auto [place, is_new] = seen.try_emplace(key.substr(0, 4), std::to_string(i));
    if (!is_new) {
      first = place->second;
      second = std::to_string(i);
    }
  }
  const Marker one = compile(first);
  const Marker two = compile(second);
  const auto found = store_->find(one.key.substr(0, 4));
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::bad_input);
  EXPECT_NE(found.error().hint.find(one.key), std::string::npos);
  EXPECT_NE(found.error().hint.find(two.key), std::string::npos);
  EXPECT_EQ(store_->find(two.key)->marker, two);
}

TEST_F(ListingTest, AWholeStoreVerifies) {
  const Marker a = compile("a");
  compile("b");
  ASSERT_TRUE(store_->write_failed({.key = a.key, .kind = "crashed", .time = "2026-11-29T16:38:35Z"}));
  std::uint64_t last = 0;
  std::uint64_t all = 0;
  const auto findings = store_->verify([&](std::uint64_t done, std::uint64_t total) {
    EXPECT_GT(done, last);
    last = done;
    all = total;
  });
  ASSERT_TRUE(findings);
  EXPECT_TRUE(findings->empty());
  EXPECT_EQ(all, 4U * 14);
  EXPECT_EQ(last, all);
}

TEST_F(ListingTest, VerifyFindsAByteFlippedBehindTheKernelsBack) {
  const Marker a = compile("a");
  const fs::FileStat before = fs_.lstat(file(a, "npu.bin")).value();
  testing::change_quietly(file(a, "npu.bin"));
  fs_.set_stat_change([&](fs::FileStat& stat) {
    if (stat.inode == before.inode) stat = before;
  });
  EXPECT_TRUE(store_->look_up(a.key)->hit);  // the documented limit
  EXPECT_EQ(verified(), Lines{"damage generations/" + a.generation + "/npu.bin: has other bytes than were stored"});
}

TEST_F(ListingTest, VerifyNamesEachKindOfDamage) {
  const Marker a = compile("a");
  const std::string generation = "damage generations/" + a.generation + "/";
  std::filesystem::permissions(file(a, "npu.bin"), std::filesystem::perms(0600));
  testing::put(file(a, "npu.bin"), "short");
  std::filesystem::remove(file(a, "model.onnx"));
  std::filesystem::remove(file(a, kManifestName));
  testing::put(file(a, "surprise"), "");
  EXPECT_EQ(
      verified(),
      (Lines{generation + "manifest.1.json: the manifest is missing", generation + "model.onnx: the file is missing",
             generation + "npu.bin: has 5 bytes, not the 14 that were stored",
             "note generations/" + a.generation + "/surprise: not a file of this generation; nothing refers to it"}));
}

TEST_F(ListingTest, VerifyNamesDamagedRecords) {
  const Marker a = compile("a");
  const Marker b = compile("b");
  const std::string folder = "damage keys/" + a.key.substr(0, 2) + "/" + a.key;
  testing::put(store_->layout().failed(a.key), "{");
  testing::put(store_->layout().marker(a.key), testing::contents(store_->layout().marker(b.key)));
  EXPECT_EQ(verified(), (Lines{folder + "/failed.1.json: not a record of a failure: it is not JSON",
                               folder + "/marker.1.json: the marker of another key",
                               "note generations/" + a.generation +
                                   ": no entry names it; it is deleted when nobody uses it any more"}));
}

TEST_F(ListingTest, VerifyNamesAMissingGeneration) {
  const Marker a = compile("a");
  std::filesystem::remove_all(store_->layout().generation(a.generation));
  EXPECT_EQ(verified(), Lines{"damage generations/" + a.generation + ": the generation is missing"});
}

TEST_F(ListingTest, VerifyOnlyNotesWhatAnotherVersionWrote) {
  const Marker a = compile("a");
  const Marker b = compile("b");
  const Layout& layout = store_->layout();
  std::filesystem::rename(layout.marker(a.key), layout.key_folder(a.key) / "marker.2.json");
  std::filesystem::rename(file(a, kManifestName), file(a, "manifest.2.json"));
  testing::put(layout.marker(b.key), R"({"schema": 3})");
  for (const std::string& line : verified()) EXPECT_TRUE(line.starts_with("note ")) << line;
  EXPECT_EQ(verified().size(), 4U);
}

TEST_F(ListingTest, VerifyHoldsSharedLeasesAndWaitsForNobody) {
  const Marker a = compile("a");
  const auto in_use = store_->look_up(a.key);
  EXPECT_TRUE(verified().empty());
  const auto path = store_->layout().lease(a.generation);
  bool looked = false;
  fs_.set_hook([&](std::string_view operation, const std::filesystem::path& read) -> std::optional<Error> {
    if (operation == "read" && read == file(a, "model.onnx")) {
      looked = true;
      EXPECT_FALSE(fs::Lock::try_acquire(fs::FileSystem::posix(), path, fs::LockKind::exclusive).value());
    }
    EXPECT_NE(operation, "exclude");
    return std::nullopt;
  });
  EXPECT_TRUE(verified().empty());
  EXPECT_TRUE(looked);
}

TEST_F(ListingTest, EarlierCompilesAreRemembered) {
  EXPECT_FALSE(store_->earlier_compile_seconds("s", "E"));
  const std::string time = "2026-11-29T16:38:35Z";
  store_->record({.kind = "compile", .time = time, .source_sha256 = "s", .ep = "E", .seconds = 10});
  store_->record({.kind = "compile", .time = time, .source_sha256 = "s", .ep = "E", .seconds = 12});
  store_->record({.kind = "compile", .time = time, .source_sha256 = "s", .ep = "F", .seconds = 99});
  store_->record({.kind = "hit", .time = time, .source_sha256 = "s", .ep = "E"});
  EXPECT_EQ(store_->earlier_compile_seconds("s", "E"), 12.0);
  EXPECT_FALSE(store_->earlier_compile_seconds("t", "E"));
}

TEST_F(ListingTest, OnlyTheEndOfLongStatisticsIsRead) {
  const std::string time = "2026-11-29T16:38:35Z";
  store_->record({.kind = "compile", .time = time, .source_sha256 = "early", .ep = "E", .seconds = 1});
  testing::put(store_->layout().stats(),
               testing::contents(store_->layout().stats()) + std::string(5 << 20, 'x') + "\n");
  store_->record({.kind = "compile", .time = time, .source_sha256 = "late", .ep = "E", .seconds = 2});
  EXPECT_FALSE(store_->earlier_compile_seconds("early", "E"));
  EXPECT_EQ(store_->earlier_compile_seconds("late", "E"), 2.0);
}

TEST(Family, IsOfModelEpAndDevice) {
  const Marker a = marker_for("a");
  Marker b = marker_for("b");
  EXPECT_EQ(family_of(a), family_of(b));
  b.model = a.model + a.ep.substr(0, 1);
  b.ep = a.ep.substr(1);
  EXPECT_NE(family_of(a), family_of(b));
}

TEST_F(ListingTest, VerifyNamesALeaseThatIsNoneAndGoesOn) {
  const Marker a = compile("a");
  const Marker b = compile("b");
  const Marker c = compile("c");
  const auto lease = [&](const Marker& marker) { return store_->layout().lease(marker.generation); };
  for (const Marker& marker : {a, b, c}) std::filesystem::remove(lease(marker));
  std::filesystem::create_directory(lease(a));
  ASSERT_EQ(::mkfifo(lease(b).c_str(), 0600), 0);
  std::filesystem::create_symlink("nowhere", lease(c));
  const Lines lines = verified();
  ASSERT_EQ(lines.size(), 3U) << ::testing::PrintToString(lines);
  for (const Marker& marker : {a, b, c}) {
    const std::string wanted = "damage leases/" + marker.generation + ": not a lease: ";
    EXPECT_TRUE(std::ranges::any_of(lines, [&](const std::string& line) { return line.starts_with(wanted); }))
        << wanted;
    const auto found = store_->look_up(marker.key);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->miss_reason, "its lease is not a file");
  }
}

TEST_F(ListingTest, VerifyAndHashingEndWhenCancelled) {
  const Marker a = compile("a");
  util::CancelToken cancel;
  StoreOptions options;
  options.root = store_->layout().root();
  options.cancel = &cancel;
  auto store = Store::open(fs_, options);
  ASSERT_TRUE(store);
  EXPECT_TRUE((*store)->verify({}));
  cancel.cancel();
  EXPECT_EQ((*store)->verify({}).error().code, ErrorCode::cancelled);
  const std::filesystem::path model = file(a, "model.onnx");
  EXPECT_EQ((*store)->memo().digest_afresh(std::span(&model, 1), "group").error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace precast::store
