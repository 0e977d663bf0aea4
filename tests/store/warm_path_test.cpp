#include <gtest/gtest.h>

#include "fs/counting_file_system.hpp"
#include "store/support.hpp"

// What makes a hit cheap, counted at the seam.

namespace precast::store {
namespace {

using namespace std::chrono_literals;

class WarmPathTest : public ::testing::Test {
 protected:
  WarmPathTest() {
    std::filesystem::create_directories(folder_ / "models");
    std::filesystem::create_directories(folder_ / "ep" / "libs");
    for (const char* name : {"model.onnx", "weights.bin"}) add(models_, folder_ / "models" / name);
    for (int i = 0; i < 20; ++i) add(libraries_, folder_ / "ep" / "libs" / ("lib" + std::to_string(i) + ".so"));
    clock_.advance(1h);
    const auto store = testing::open_store(plain_, folder_ / "root", &clock_);
    store->memo().remember_facts("model-abc", "facts");
    warm(*store);
    testing::must_commit(*store, testing::marker_for("a"));
    for (int i = 0; i < 30; ++i) testing::must_commit(*store, testing::marker_for("other" + std::to_string(i)));
  }

  void add(std::vector<std::filesystem::path>& files, const std::filesystem::path& path) {
    testing::put(path, std::string(10'000, 'x'));
    files.push_back(path);
  }
  void warm(Store& store) {
    ASSERT_TRUE(store.memo().digest(models_, "model:" + models_[0].string()));
    ASSERT_TRUE(store.memo().digest(libraries_, "ep:" + libraries_[0].string()));
    EXPECT_EQ(store.memo().facts("model-abc"), "facts");
  }
  // Two artifacts in each entry.
  [[nodiscard]] std::uint64_t files() const { return models_.size() + libraries_.size() + 2; }

  testing::TemporaryFolder folder_;
  testing::TestFileSystem plain_;
  fs::CountingFileSystem counting_{plain_};
  testing::TestClock clock_;
  std::vector<std::filesystem::path> models_;
  std::vector<std::filesystem::path> libraries_;
};

TEST_F(WarmPathTest, AHitOfANewProcessReadsNothingAndCallsLittle) {
  const auto store = testing::open_store(counting_, folder_ / "root", &clock_);
  counting_.reset();
  warm(*store);
  const auto found = store->look_up(testing::key_for("a"));
  ASSERT_TRUE(found && found->hit);

  const fs::CallCounts counts = counting_.counts();
  EXPECT_EQ(counts.syncs, 0U);
  EXPECT_EQ(counts.exclusive_locks, 0U);
  for (const auto& [path, bytes] : counts.bytes_read) {
    const bool of_the_store = path.string().starts_with((folder_ / "root").string());
    const bool artifact = path == found->hit->model || path.extension() == ".bin";
    EXPECT_TRUE((of_the_store && !artifact) || path.string().starts_with("/proc")) << path << " " << bytes;
  }
  std::string told;
  for (const auto& [name, count] : counts.calls) told += name + "=" + std::to_string(count) + " ";
  // One lstat per file and about twenty for the rest: well below 4 * files + 20.
  EXPECT_LE(counts.total(), files() + 30) << told;
  EXPECT_LE(counts.total(), 4 * files() + 20) << told;
}

TEST_F(WarmPathTest, ASecondHitOfAProcessReadsNoGroupAgain) {
  const auto store = testing::open_store(counting_, folder_ / "root", &clock_);
  warm(*store);
  ASSERT_TRUE(store->look_up(testing::key_for("a"))->hit);
  counting_.reset();
  warm(*store);
  ASSERT_TRUE(store->look_up(testing::key_for("a"))->hit);
  for (const auto& [path, bytes] : counting_.counts().bytes_read) {
    EXPECT_EQ(path.string().find("/digests/"), std::string::npos) << path;
  }
  EXPECT_LE(counting_.counts().total(), files() + 16);
}

TEST_F(WarmPathTest, TheFirstHitAfterACommitHashesNothing) {
  // With the real clock: the commit itself sees to it that its digests may be remembered.
  const auto store = testing::open_store(plain_, folder_ / "root");
  const Marker marker = testing::must_commit(*store, testing::marker_for("fresh"));
  const auto other_process = testing::open_store(counting_, folder_ / "root");
  counting_.reset();
  ASSERT_TRUE(other_process->look_up(marker.key)->hit);
  const auto generation = store->layout().generation(marker.generation);
  for (const auto& [path, bytes] : counting_.counts().bytes_read) {
    EXPECT_TRUE(path.parent_path() != generation || path.filename() == kManifestName) << path;
  }
}

TEST_F(WarmPathTest, TheCostDoesNotGrowWithTheStore) {
  const auto calls = [&] {
    const auto store = testing::open_store(counting_, folder_ / "root", &clock_);
    counting_.reset();
    EXPECT_TRUE(store->look_up(testing::key_for("a"))->hit);
    return counting_.counts().total();
  };
  const std::uint64_t before = calls();
  for (int i = 0; i < 20; ++i) {
    testing::must_commit(*testing::open_store(plain_, folder_ / "root", &clock_),
                         testing::marker_for("more" + std::to_string(i)));
  }
  EXPECT_EQ(calls(), before);
}

}  // namespace
}  // namespace precast::store
