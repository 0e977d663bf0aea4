// A bundle of the user's, stages in a store, and the recipe of both. Nothing here is a model: only bytes count.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "genai/derived_bundle.hpp"
#include "store/support.hpp"

namespace precast::genai::testing {

using store::testing::contents;
using store::testing::put;

// Name -> bytes of everything below, hidden or not.
inline std::map<std::string, std::string> tree_of(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  std::error_code missing;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, missing)) {
    if (entry.is_directory() && !entry.is_symlink()) continue;
    files[entry.path().lexically_relative(folder).string()] = entry.is_symlink()        ? "link"
                                                              : entry.is_regular_file() ? contents(entry.path())
                                                                                        : "no file";
  }
  return files;
}

// With what shows every write, every link and every change of a folder.
inline std::map<std::string, fs::FileStat> listing_of(const std::filesystem::path& folder) {
  fs::FileSystem& real = fs::FileSystem::posix();
  std::map<std::string, fs::FileStat> listing{{".", real.lstat(folder).value()}};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    auto stat = real.lstat(entry.path()).value();
    listing[entry.path().lexically_relative(folder).string()] = stat;
  }
  return listing;
}

// Some thousand bundles are put together here: a minute on a disk, seconds in memory.
inline std::filesystem::path quick_folder() {
  const std::filesystem::path memory = "/dev/shm";
  std::error_code missing;
  const bool usable = std::filesystem::is_directory(memory, missing) && ::access(memory.c_str(), W_OK) == 0;
  return usable ? memory : std::filesystem::temp_directory_path();
}

class RecipeTest : public ::testing::Test {
 protected:
  RecipeTest() {
    clock_.advance(std::chrono::hours(2));  // nothing is too young to be remembered, or to be swept
    std::filesystem::create_directories(original_ / "data/deep");
    put(original_ / "genai_config.json", "the original's");
    put(original_ / "tokenizer.json", "tokens");
    put(original_ / "data/deep/file", "deep");
    put(original_ / "context.onnx", "a model");
    store_ = open();
    stages_.push_back(store_stage("precast/1-context", "context"));
    stages_.push_back(store_stage("precast/2-iterator", "iterator"));
  }

  std::unique_ptr<store::Store> open() { return store::testing::open_store(fs_, root_, &clock_); }

  StoredStage store_stage(const std::string& place, const std::string& name) {
    auto committed = store::testing::commit_entry(*store_, store::testing::marker_for(name, "/models/" + name),
                                                  {"model of " + name, "binary of " + name});
    EXPECT_TRUE(committed) << committed.error().message;
    const store::Marker& marker = committed->hit.marker;
    StoredStage stage{place, committed->hit.folder, marker.key, marker.generation, marker.artifacts};
    leases_.push_back(std::move(committed->hit.lease));
    return stage;
  }
  [[nodiscard]] BundleRecipe recipe(const std::string& config = "the new one") {
    BundleRecipe made;
    made.original = original_;
    made.config = config;
    made.stages = stages_;
    auto files = files_of_bundle(fs_, original_, {"genai_config.json", "context.onnx"});
    EXPECT_TRUE(files) << files.error().message;
    if (files) made.files = *std::move(files);
    made.ep = "FakeExecutionProvider";
    made.device = "npu";
    return made;
  }
  static std::map<std::string, std::string> expected(const std::string& config = "the new one") {
    return {{"genai_config.json", config},
            {"tokenizer.json", "tokens"},
            {"data/deep/file", "deep"},
            {"precast/1-context/model.onnx", "model of context"},
            {"precast/1-context/npu.bin", "binary of context"},
            {"precast/2-iterator/model.onnx", "model of iterator"},
            {"precast/2-iterator/npu.bin", "binary of iterator"}};
  }

  store::testing::TemporaryFolder folder_{quick_folder()};
  std::filesystem::path original_ = folder_ / "bundle";
  std::filesystem::path root_ = folder_ / "root";
  store::testing::TestFileSystem fs_;
  store::testing::TestClock clock_;
  std::unique_ptr<store::Store> store_;
  std::vector<StoredStage> stages_;
  std::vector<store::Lease> leases_;
};

}  // namespace precast::genai::testing
