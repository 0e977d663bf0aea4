#include <sys/stat.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "store/support.hpp"

namespace precast::store {
namespace {

using testing::marker_for;
using testing::TestFileSystem;

class LookUpTest : public ::testing::Test {
 protected:
  LookUpTest() : store_(testing::open_store(fs_, folder_ / "root")) {
    marker_ = testing::must_commit(*store_, marker_for("a"));
  }
  // As another process would see it.
  LookUp look_up(const std::string& key) {
    const auto store = testing::open_store(fs_, folder_ / "root");
    auto found = store->look_up(key);
    EXPECT_TRUE(found) << found.error().message;
    // The lease may not outlive its store's file system, which is the test's.
    return found ? *std::move(found) : LookUp{};
  }
  std::string miss() {
    const LookUp found = look_up(marker_.key);
    EXPECT_FALSE(found.hit);
    return found.miss_reason;
  }
  [[nodiscard]] std::filesystem::path marker_path() const { return store_->layout().marker(marker_.key); }
  [[nodiscard]] std::filesystem::path generation() const { return store_->layout().generation(marker_.generation); }
  void overwrite(const std::filesystem::path& path, std::string_view bytes) {
    ::chmod(path.c_str(), 0600);
    testing::put(path, bytes);
  }

  testing::TemporaryFolder folder_;
  TestFileSystem fs_;
  std::unique_ptr<Store> store_;
  Marker marker_;
};

TEST_F(LookUpTest, FindsWhatWasStored) {
  const LookUp found = look_up(marker_.key);
  ASSERT_TRUE(found.hit) << found.miss_reason;
  EXPECT_EQ(found.hit->marker, marker_);
  EXPECT_EQ(found.hit->folder, generation());
  EXPECT_EQ(found.hit->model, generation() / "model.onnx");
  EXPECT_TRUE(found.hit->lease.held());
  EXPECT_EQ(found.hit->lease.generation(), marker_.generation);
  EXPECT_EQ(testing::contents(found.hit->model), "compiled model");
}

TEST_F(LookUpTest, AnUnknownKeyIsAMiss) {
  EXPECT_EQ(look_up(testing::key_for("b")).miss_reason, "no entry for this identity");
}

TEST_F(LookUpTest, WhatIsNotAKeyIsBadInput) {
  for (const std::string& key :
       {std::string(), std::string("abc"), std::string(64, 'X'), "../" + std::string(61, 'a')}) {
    EXPECT_EQ(store_->look_up(key).error().code, ErrorCode::bad_input);
  }
}

TEST_F(LookUpTest, AMarkerThatIsNotOneIsAMiss) {
  const std::string good = testing::contents(marker_path());
  for (const std::string& bad : {std::string(), std::string("[]"), std::string("garbage"), std::string("{}"),
                                 good.substr(0, good.size() - 3), good + good, std::string(5 << 20, ' ')}) {
    overwrite(marker_path(), bad);
    EXPECT_NE(miss(), "");
  }
  overwrite(marker_path(), good);
  EXPECT_TRUE(look_up(marker_.key).hit);
}

TEST_F(LookUpTest, AFolderInPlaceOfTheMarkerIsAMiss) {
  std::filesystem::remove(marker_path());
  std::filesystem::create_directory(marker_path());
  EXPECT_NE(miss().find("not a regular file"), std::string::npos);
}

TEST_F(LookUpTest, AMarkerOfAnotherSchemaIsAMiss) {
  auto json = nlohmann::json::parse(testing::contents(marker_path()));
  json["schema"] = 2;
  overwrite(marker_path(), json.dump(1) + "\n");
  EXPECT_NE(miss().find("schema 2"), std::string::npos);
}

TEST_F(LookUpTest, AMarkerOfAnotherKeyIsAMiss) {
  const Marker other = testing::must_commit(*store_, marker_for("b"), {"other model", "other binary"});
  overwrite(marker_path(), testing::contents(store_->layout().marker(other.key)));
  EXPECT_EQ(miss(), "its marker is of another key");
}

TEST_F(LookUpTest, AMarkerThatNamesAnotherKeysGenerationIsAMiss) {
  // Even one with the same bytes.
  const Marker other = testing::must_commit(*store_, marker_for("b"));
  Marker forged = marker_;
  forged.generation = other.generation;
  overwrite(marker_path(), serialize(forged));
  EXPECT_NE(miss().find("of another entry"), std::string::npos);
}

TEST_F(LookUpTest, AMissingGenerationIsAMiss) {
  std::filesystem::remove_all(generation());
  EXPECT_NE(miss(), "");
  std::filesystem::remove(store_->layout().lease(marker_.generation));
  EXPECT_NE(miss().find("is not there"), std::string::npos);
}

TEST_F(LookUpTest, AMissingFileIsAMiss) {
  for (const char* name : {"model.onnx", "npu.bin", "manifest.1.json"}) {
    std::filesystem::rename(generation() / name, folder_ / "aside");
    EXPECT_NE(miss(), "") << name;
    std::filesystem::rename(folder_ / "aside", generation() / name);
    EXPECT_TRUE(look_up(marker_.key).hit) << name;
  }
}

TEST_F(LookUpTest, AShortFileIsAMiss) {
  overwrite(generation() / "npu.bin", "context");
  EXPECT_EQ(miss(), "npu.bin has 7 bytes, not the 14 that were stored");
}

TEST_F(LookUpTest, AFlippedByteWithRestoredTimesIsAMiss) {
  for (const char* name : {"model.onnx", "npu.bin"}) {
    testing::change_quietly(generation() / name);
    EXPECT_EQ(miss(), std::string(name) + " has other bytes than were stored");
    testing::change_quietly(generation() / name);  // and back
    EXPECT_TRUE(look_up(marker_.key).hit);
  }
}

TEST_F(LookUpTest, ARunningProcessSeesItToo) {
  EXPECT_TRUE(store_->look_up(marker_.key)->hit);
  testing::change_quietly(generation() / "npu.bin");
  EXPECT_EQ(store_->look_up(marker_.key)->miss_reason, "npu.bin has other bytes than were stored");
}

TEST_F(LookUpTest, AFileReplacedByALinkToTheSameBytesIsAMiss) {
  std::filesystem::rename(generation() / "npu.bin", folder_ / "npu.bin");
  std::filesystem::create_symlink(folder_ / "npu.bin", generation() / "npu.bin");
  EXPECT_NE(miss().find("not a regular file"), std::string::npos);
}

TEST_F(LookUpTest, ADamagedManifestIsAMiss) {
  overwrite(generation() / "manifest.1.json", "{}");
  EXPECT_NE(miss(), "");
}

TEST_F(LookUpTest, AGenerationThatIsBeingDeletedIsAMissAfterThreeLooks) {
  auto deleting = fs::Lock::try_acquire(fs_, store_->layout().lease(marker_.generation), fs::LockKind::exclusive);
  ASSERT_TRUE(deleting && *deleting);
  int looks = 0;
  fs_.set_hook([&](std::string_view operation, const std::filesystem::path&) -> std::optional<Error> {
    if (operation == "share") ++looks;
    return std::nullopt;
  });
  EXPECT_NE(miss().find("replaced or deleted"), std::string::npos);
  EXPECT_EQ(looks, 3);
}

TEST_F(LookUpTest, AnEntryReplacedDuringTheLookIsFoundNew) {
  bool replaced = false;
  Marker newer;
  TestFileSystem other_process;
  const auto other = testing::open_store(other_process, folder_ / "root");
  fs_.set_hook([&](std::string_view operation, const std::filesystem::path& path) -> std::optional<Error> {
    // The marker is open already: the old one is read.
    if (operation == "read" && path == marker_path() && !replaced) {
      replaced = true;
      newer = testing::must_commit(*other, marker_for("a"), {"newer model", "newer binary"});
    }
    return std::nullopt;
  });
  const auto found = store_->look_up(marker_.key);
  ASSERT_TRUE(found);
  ASSERT_TRUE(found->hit) << found->miss_reason;
  EXPECT_TRUE(replaced);
  EXPECT_EQ(found->hit->marker, newer);
}

TEST_F(LookUpTest, AnEntryReplacedAndCleanedUpDuringTheLookIsFoundNew) {
  bool replaced = false;
  Marker newer;
  TestFileSystem other_process;
  const auto other = testing::open_store(other_process, folder_ / "root");
  fs_.set_hook([&](std::string_view operation, const std::filesystem::path& path) -> std::optional<Error> {
    if (operation == "read" && path == marker_path() && !replaced) {
      replaced = true;
      newer = testing::must_commit(*other, marker_for("a"), {"newer model", "newer binary"});
      other->retain(newer);
    }
    return std::nullopt;
  });
  const auto found = store_->look_up(marker_.key);
  ASSERT_TRUE(found && found->hit);
  EXPECT_TRUE(replaced);
  EXPECT_EQ(found->hit->marker, newer);
}

TEST_F(LookUpTest, TroubleOfTheDiskIsAnErrorNotAMiss) {
  fs_.set_hook([&](std::string_view operation, const std::filesystem::path& path) -> std::optional<Error> {
    if (operation == "read" && path == marker_path()) return Error{ErrorCode::io, "EIO", path, {}};
    return std::nullopt;
  });
  EXPECT_EQ(store_->look_up(marker_.key).error().code, ErrorCode::io);
}

TEST_F(LookUpTest, HitsRunSideBySideUnderSharedLeases) {
  const auto first = store_->look_up(marker_.key);
  const auto second = store_->look_up(marker_.key);
  ASSERT_TRUE(first->hit && second->hit);
  const auto path = store_->layout().lease(marker_.generation);
  EXPECT_FALSE(fs::Lock::try_acquire(fs_, path, fs::LockKind::exclusive).value());
}

TEST_F(LookUpTest, AMovedStoreStillServes) {
  store_.reset();
  std::filesystem::rename(folder_ / "root", folder_ / "moved");
  const auto moved = testing::open_store(fs_, folder_ / "moved");
  const auto found = moved->look_up(marker_.key);
  ASSERT_TRUE(found && found->hit);
  EXPECT_EQ(found->hit->model, folder_ / "moved" / "generations" / marker_.generation / "model.onnx");
}

TEST_F(LookUpTest, VerifyAlwaysReadsTheArtifacts) {
  const auto strict = Store::open(fs_, {.root = folder_ / "root", .verify = VerifyMode::always}).value();
  const std::uint64_t before = fs_.bytes_read(generation() / "npu.bin");
  EXPECT_TRUE(strict->look_up(marker_.key)->hit);
  EXPECT_EQ(fs_.bytes_read(generation() / "npu.bin") - before, std::string("context binary").size());
}

}  // namespace
}  // namespace precast::store
