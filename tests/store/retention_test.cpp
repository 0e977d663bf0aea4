#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "store/support.hpp"
#include "util/sha256.hpp"

namespace precast::store {
namespace {

using namespace std::chrono_literals;
using testing::marker_for;
using testing::TestFileSystem;

class RetentionTest : public ::testing::Test {
 protected:
  RetentionTest() { reopen(1); }
  void reopen(std::uint32_t keep) { store_ = testing::open_store(fs_, folder_ / "root", &clock_, keep); }
  // One compile as the program does it: key lock, work, commit, retention. An hour passes.
  Marker compile(const std::string& name, const std::string& model = "/models/a.onnx") {
    clock_.advance(1h);
    const Marker marker = marker_for(name, model);
    const auto lock = store_->lock_key(marker.key, {});
    EXPECT_TRUE(lock);
    Marker stored = testing::must_commit(*store_, marker);
    store_->retain(stored);
    return stored;
  }
  bool is_there(const Marker& marker) {
    const auto found = store_->look_up(marker.key);
    return found && found->hit;
  }
  void expect_gone(const Marker& marker) {
    const Layout& layout = store_->layout();
    EXPECT_FALSE(std::filesystem::exists(layout.marker(marker.key)));
    EXPECT_FALSE(std::filesystem::exists(layout.key_lock(marker.key)));
    EXPECT_FALSE(std::filesystem::exists(layout.key_folder(marker.key)));
    EXPECT_FALSE(std::filesystem::exists(layout.generation(marker.generation)));
    EXPECT_FALSE(std::filesystem::exists(layout.lease(marker.generation)));
    EXPECT_FALSE(std::filesystem::exists(layout.work(marker.generation)));
    EXPECT_FALSE(std::filesystem::exists(layout.digest_group(util::sha256_hex("generation:" + marker.generation))));
  }
  void expect_kept(const Marker& marker) { EXPECT_TRUE(is_there(marker)) << marker.identity; }
  void use(const Marker& marker) {
    store_->record({.kind = "hit",
                    .time = util::format_rfc3339(clock_.now()),
                    .key = marker.key,
                    .generation = marker.generation});
  }

  testing::TemporaryFolder folder_;
  TestFileSystem fs_;
  testing::TestClock clock_;
  std::unique_ptr<Store> store_;
};

TEST_F(RetentionTest, KeepOneRemovesAllOfTheOldOne) {
  const Marker old = compile("old");
  clock_.advance(25h);
  const Marker newer = compile("newer");
  expect_gone(old);
  expect_kept(newer);
}

TEST_F(RetentionTest, WhatWasUsedInTheLastDayStays) {
  const Marker old = compile("old");
  const Marker newer = compile("newer");
  expect_kept(old);
  clock_.advance(23h + 30min);
  use(newer);
  const Marker third = compile("third");  // old is past its day, newer was used
  expect_gone(old);
  expect_kept(newer);
  expect_kept(third);
}

TEST_F(RetentionTest, TheLeastRecentlyUsedGoFirst) {
  reopen(2);
  const Marker a = compile("a");
  const Marker b = compile("b");
  clock_.advance(48h);
  use(a);
  clock_.advance(48h);
  const Marker c = compile("c");
  expect_kept(a);
  expect_gone(b);
  expect_kept(c);
}

TEST_F(RetentionTest, OtherFamiliesAreLeftAlone) {
  const Marker other_model = compile("m", "/models/a.onnx2");
  Marker other_device = marker_for("d");
  other_device.device = "gpu";
  other_device = testing::must_commit(*store_, other_device);
  Marker other_ep = marker_for("e");
  other_ep.ep = "FakeExecutionProvider2";
  other_ep = testing::must_commit(*store_, other_ep);
  clock_.advance(1000h);
  const Marker mine = compile("mine");
  for (const Marker& marker : {other_model, other_device, other_ep, mine}) expect_kept(marker);
}

TEST_F(RetentionTest, AHeldLeaseSurvives) {
  const Marker old = compile("old");
  auto hit = store_->look_up(old.key);
  ASSERT_TRUE(hit && hit->hit);
  clock_.advance(48h);
  compile("newer");
  expect_kept(old);
  hit->hit->lease.release();
  clock_.advance(48h);
  compile("third");
  expect_gone(old);
}

TEST_F(RetentionTest, AHeldKeyLockSurvives) {
  const Marker old = compile("old");
  auto lock = store_->lock_key(old.key, {});
  ASSERT_TRUE(lock);
  clock_.advance(48h);
  compile("newer");
  expect_kept(old);
}

TEST_F(RetentionTest, KeepNothingKeepsTheNewest) {
  reopen(0);
  expect_kept(compile("only"));
}

TEST_F(RetentionTest, ARememberedFailureOutlivesItsEntry) {
  const Marker old = compile("old");
  ASSERT_TRUE(store_->write_failed({.key = old.key, .kind = "crashed", .time = "2026-11-29T16:38:35Z"}));
  clock_.advance(48h);
  compile("newer");
  EXPECT_FALSE(is_there(old));
  EXPECT_TRUE(store_->read_failed(old.key).value());
}

TEST_F(RetentionTest, AReplacedGenerationGoesAtOnce) {
  const Marker first = testing::must_commit(*store_, marker_for("same"));
  const Marker second = testing::must_commit(*store_, marker_for("same"));
  store_->retain(second, 1000h);
  EXPECT_FALSE(std::filesystem::exists(store_->layout().generation(first.generation)));
  EXPECT_FALSE(std::filesystem::exists(store_->layout().lease(first.generation)));
  expect_kept(second);
}

TEST_F(RetentionTest, AReplacedGenerationThatIsInUseStays) {
  const Marker first = compile("same");
  const auto hit = store_->look_up(first.key);
  ASSERT_TRUE(hit && hit->hit);
  compile("same");
  EXPECT_TRUE(std::filesystem::exists(hit->hit->model));
}

TEST_F(RetentionTest, AMarkerReplacedBeforeTheLockKeepsTheNewGeneration) {
  const Marker old = compile("old");
  clock_.advance(48h);
  TestFileSystem other_process;
  const auto other = testing::open_store(other_process, folder_ / "root");
  Marker rebuilt;
  fs_.set_hook([&](std::string_view operation, const std::filesystem::path& path) -> std::optional<Error> {
    if (operation == "exclude" && path == store_->layout().key_lock(old.key) && rebuilt.key.empty()) {
      rebuilt = testing::must_commit(*other, marker_for("old"), {"rebuilt", "rebuilt"});
    }
    return std::nullopt;
  });
  const Marker newest = testing::must_commit(*store_, marker_for("newest"));
  store_->retain(newest);
  ASSERT_FALSE(rebuilt.key.empty());
  EXPECT_FALSE(std::filesystem::exists(store_->layout().generation(old.generation)));
  expect_kept(rebuilt);
}

TEST_F(RetentionTest, WhereItCannotBeMovedItIsDeletedInPlace) {
  const Marker old = compile("old");
  clock_.advance(48h);
  fs_.set_hook([&](std::string_view operation, const std::filesystem::path& path) -> std::optional<Error> {
    if (operation == "rename_new" && path == store_->layout().work(old.generation)) {
      return Error{ErrorCode::io, "EXDEV", path, {}};
    }
    return std::nullopt;
  });
  compile("newer");
  expect_gone(old);
}

class SweepTest : public RetentionTest {
 protected:
  void sweep(std::chrono::seconds age = 0s) { store_->retain(marker_for("nothing of this"), age); }
};

TEST_F(SweepTest, LeftoversGoByLeaseAndAgeOnlyDelays) {
  const std::string uuid = "01234567-89ab-4cde-8f01-23456789abcd";
  const Layout& layout = store_->layout();
  std::filesystem::create_directories(layout.work(uuid) / "out");
  testing::put(layout.work(uuid) / "out" / "model.onnx", "half");
  sweep(1h);
  EXPECT_TRUE(std::filesystem::exists(layout.work(uuid)));
  clock_.advance(2h);
  {
    const auto held = fs::Lock::try_acquire(fs_, layout.lease(uuid), fs::LockKind::shared);
    sweep(1h);
    EXPECT_TRUE(std::filesystem::exists(layout.work(uuid)));
  }
  sweep(1h);
  EXPECT_FALSE(std::filesystem::exists(layout.work(uuid)));
  EXPECT_FALSE(std::filesystem::exists(layout.lease(uuid)));
}

TEST_F(SweepTest, ALeaseWithoutAnythingGoesWhenOld) {
  const std::string uuid = "01234567-89ab-4cde-8f01-23456789abcd";
  std::filesystem::create_directories(store_->layout().leases());
  testing::put(store_->layout().lease(uuid), "");
  sweep(1h);
  EXPECT_TRUE(std::filesystem::exists(store_->layout().lease(uuid)));
  clock_.advance(2h);
  sweep(1h);
  EXPECT_FALSE(std::filesystem::exists(store_->layout().lease(uuid)));
}

TEST_F(SweepTest, AGenerationThatNoMarkerNamesGoesWhenOldAndUnheld) {
  const Marker marker = compile("a");
  std::filesystem::remove(store_->layout().marker(marker.key));
  sweep(2h);
  EXPECT_TRUE(std::filesystem::exists(store_->layout().generation(marker.generation)));
  clock_.advance(2h);
  sweep(2h);
  EXPECT_FALSE(std::filesystem::exists(store_->layout().generation(marker.generation)));
}

TEST_F(SweepTest, AGenerationWithoutAManifestGoesUnlessAMarkerNamesIt) {
  const Marker marker = compile("a");
  const auto generation = store_->layout().generation(marker.generation);
  std::filesystem::remove(generation / kManifestName);
  sweep();
  EXPECT_TRUE(std::filesystem::exists(generation));
  std::filesystem::remove(store_->layout().marker(marker.key));
  sweep();
  EXPECT_FALSE(std::filesystem::exists(generation));
}

TEST_F(SweepTest, AMarkerThatComesBetweenTheLookAndTheLeaseCounts) {
  for (const bool with_manifest : {true, false}) {
    const Marker marker = compile("a");
    const auto path = store_->layout().marker(marker.key);
    const auto generation = store_->layout().generation(marker.generation);
    if (!with_manifest) std::filesystem::remove(generation / kManifestName);
    std::filesystem::rename(path, folder_ / "marker");
    // All markers have been read; the generations are looked through now.
    fs_.set_hook([&](std::string_view operation, const std::filesystem::path& listed) -> std::optional<Error> {
      if (operation == "list" && listed == store_->layout().generations()) {
        std::filesystem::rename(folder_ / "marker", path);
      }
      return std::nullopt;
    });
    sweep();
    fs_.set_hook({});
    EXPECT_TRUE(std::filesystem::exists(path));
    EXPECT_TRUE(std::filesystem::exists(generation)) << with_manifest;
  }
}

TEST_F(SweepTest, WorkLeftBesideItsCommittedGenerationGoesAlone) {
  const Marker marker = compile("a");
  std::filesystem::create_directories(store_->layout().work(marker.generation) / "work");
  sweep();
  EXPECT_FALSE(std::filesystem::exists(store_->layout().work(marker.generation)));
  EXPECT_TRUE(std::filesystem::exists(store_->layout().lease(marker.generation)));
  expect_kept(marker);
}

TEST_F(SweepTest, AnotherSchemasGenerationIsNeverSwept) {
  const Layout& layout = store_->layout();
  const Marker by_name = compile("a");
  std::filesystem::rename(layout.generation(by_name.generation) / "manifest.1.json",
                          layout.generation(by_name.generation) / "manifest.2.json");
  std::filesystem::rename(layout.marker(by_name.key), layout.key_folder(by_name.key) / "marker.2.json");
  const Marker by_content = compile("b", "/models/b.onnx");
  for (const auto& path : {layout.generation(by_content.generation) / kManifestName, layout.marker(by_content.key)}) {
    auto json = nlohmann::json::parse(testing::contents(path));
    json["schema"] = 2;
    std::filesystem::permissions(path, std::filesystem::perms(0600));
    testing::put(path, json.dump());
  }
  const Marker by_marker = compile("c", "/models/c.onnx");
  testing::put(layout.marker(by_marker.key), R"({"schema": 7})");
  clock_.advance(10000h);
  sweep();
  for (const Marker& marker : {by_name, by_content, by_marker}) {
    EXPECT_TRUE(std::filesystem::exists(layout.generation(marker.generation) / kModelName));
    EXPECT_FALSE(is_there(marker));
  }
}

TEST_F(SweepTest, WhatIsNotOursIsLeftAlone) {
  const Layout& layout = store_->layout();
  std::filesystem::create_directories(layout.tmp() / "mine");
  std::filesystem::create_directories(layout.generations() / "mine");
  std::filesystem::create_directories(layout.leases() / "mine");
  clock_.advance(100h);
  sweep();
  EXPECT_TRUE(std::filesystem::exists(layout.tmp() / "mine"));
  EXPECT_TRUE(std::filesystem::exists(layout.generations() / "mine"));
  EXPECT_TRUE(std::filesystem::exists(layout.leases() / "mine"));
}

TEST_F(SweepTest, OneAtATime) {
  const std::string uuid = "01234567-89ab-4cde-8f01-23456789abcd";
  std::filesystem::create_directories(store_->layout().work(uuid));
  {
    const auto busy = fs::Lock::try_acquire(fs_, store_->layout().locks() / "retention", fs::LockKind::exclusive);
    sweep();
    EXPECT_TRUE(std::filesystem::exists(store_->layout().work(uuid)));
  }
  sweep();
  EXPECT_FALSE(std::filesystem::exists(store_->layout().work(uuid)));
}

TEST_F(SweepTest, WhatKilledWritersLeftGoesWhenOldAndUnlocked) {
  const Marker marker = compile("a");
  const Layout& layout = store_->layout();
  const std::string name = ".precast-01234567-89ab-4cde-8f01-23456789abcd.tmp";
  std::filesystem::create_directories(layout.digests() / "ab");
  std::filesystem::create_directories(layout.facts() / "cd");
  const std::vector<std::filesystem::path> left = {layout.root() / name, layout.key_folder(marker.key) / name,
                                                   layout.digests() / "ab" / name, layout.facts() / "cd" / name};
  const auto other = layout.root() / ".precast-mine.tmp";  // no name of ours
  for (const auto& path : left) testing::put(path, "half");
  testing::put(other, "");
  sweep(24h);
  for (const auto& path : left) EXPECT_TRUE(std::filesystem::exists(path)) << path;
  clock_.advance(48h);
  auto writer = fs_.open(left.front(), fs::OpenMode::lock_existing);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(*fs_.try_lock(*writer, fs::LockKind::exclusive));
  sweep(24h);
  EXPECT_TRUE(std::filesystem::exists(left.front())) << "somebody writes it";
  for (std::size_t i = 1; i < left.size(); ++i) EXPECT_FALSE(std::filesystem::exists(left[i])) << left[i];
  ASSERT_TRUE(fs_.close(*writer));
  sweep(24h);
  EXPECT_FALSE(std::filesystem::exists(left.front()));
  EXPECT_TRUE(std::filesystem::exists(other));
}

}  // namespace
}  // namespace precast::store
