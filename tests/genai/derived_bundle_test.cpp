#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include "genai/derive_support.hpp"

namespace precast::genai {
namespace {

namespace stdfs = std::filesystem;
using testing::contents;
using ::testing::HasSubstr;
using testing::listing_of;
using testing::put;
using testing::tree_of;

const fs::Lock::WaitOptions kWait{.timeout = std::chrono::seconds(10)};

class DerivedBundleTest : public testing::RecipeTest {
 protected:
  DerivedBundle derive(const BundleRecipe& from) {
    auto derived = derive_bundle(*store_, from, kWait);
    EXPECT_TRUE(derived) << derived.error().message;
    return derived ? *std::move(derived) : DerivedBundle{};
  }
  std::uint64_t bytes_read_of(const stdfs::path& folder) {
    std::uint64_t bytes = 0;
    for (const auto& [name, text] : tree_of(folder)) bytes += fs_.bytes_read(folder / name);
    return bytes;
  }
};

TEST_F(DerivedBundleTest, HasTheStagesTheNewConfigurationAndTheRest) {
  const DerivedBundle derived = derive(recipe());
  EXPECT_TRUE(derived.made);
  EXPECT_EQ(derived.folder, derived.hit.folder / "bundle");
  EXPECT_EQ(tree_of(derived.folder), expected());
  EXPECT_TRUE(derived.hit.lease.held());
  EXPECT_EQ(derived.hit.marker.model, original_.string());
  EXPECT_TRUE(store_->verify({})->empty());
  EXPECT_EQ(testing::tree_of(store_->layout().tmp()).size(), 0U);
}

TEST_F(DerivedBundleTest, TheSameAgainIsAHitThatReadsCopiesAndWritesNothing) {
  const std::string key = derive(recipe()).hit.marker.key;
  store_ = open();  // as another process
  const std::uint64_t before = bytes_read_of(original_) + bytes_read_of(root_ / "generations");
  std::vector<std::string> acts;
  fs_.set_hook([&](std::string_view operation, const stdfs::path& path) -> std::optional<Error> {
    for (const char* act : {"clone", "link", "rename", "rename_new", "make_directory", "sync", "exclude", "unlink"}) {
      if (operation == act) acts.push_back(std::string(operation) + " " + path.string());
    }
    return std::nullopt;
  });
  const DerivedBundle again = derive(recipe());
  fs_.set_hook({});
  EXPECT_FALSE(again.made);
  EXPECT_EQ(again.hit.marker.key, key);
  EXPECT_EQ(tree_of(again.folder), expected());
  EXPECT_THAT(acts, ::testing::ElementsAre());
  // Manifests are read, and no other byte.
  std::uint64_t manifests = fs_.bytes_read(again.hit.folder / "manifest.1.json");
  EXPECT_GT(manifests, 0U);
  EXPECT_EQ(bytes_read_of(original_) + bytes_read_of(root_ / "generations") - before, manifests);
}

TEST_F(DerivedBundleTest, ItsStagesAreHitsWithoutHashingAfterwards) {
  derive(recipe());
  store_ = open();
  for (const StoredStage& stage : stages_) {
    const std::uint64_t before = fs_.bytes_read(stage.folder / "npu.bin") + fs_.bytes_read(stage.folder / "model.onnx");
    ASSERT_TRUE(store_->look_up(stage.key)->hit);
    EXPECT_EQ(fs_.bytes_read(stage.folder / "npu.bin") + fs_.bytes_read(stage.folder / "model.onnx"), before);
  }
}

TEST_F(DerivedBundleTest, EverythingThatGoesInMakesAnotherKey) {
  std::set<std::string> keys{derive(recipe()).hit.marker.key};
  keys.insert(derive(recipe("another configuration")).hit.marker.key);
  BundleRecipe other = recipe();
  other.stages[0].place = "precast/1-other";
  keys.insert(derive(other).hit.marker.key);
  other = recipe();
  other.stages[0] = store_stage("precast/1-context", "another context");
  keys.insert(derive(other).hit.marker.key);
  other = recipe();
  other.files.pop_back();
  keys.insert(derive(other).hit.marker.key);
  other = recipe();
  other.files.back().name = "renamed";
  keys.insert(derive(other).hit.marker.key);
  EXPECT_EQ(keys.size(), 6U);
  // What is only said to people is no part of it.
  other = recipe();
  other.original = "/elsewhere";
  other.ep = "another";
  EXPECT_FALSE(derive(other).made);
}

TEST_F(DerivedBundleTest, OneByteOfTheTokenizerAtTheSameSizeAndTimeIsAnotherBundle) {
  const DerivedBundle first = derive(recipe());
  store::testing::change_quietly(original_ / "tokenizer.json");
  const DerivedBundle second = derive(recipe());
  EXPECT_TRUE(second.made);
  EXPECT_NE(second.hit.marker.key, first.hit.marker.key);
  EXPECT_EQ(contents(second.folder / "tokenizer.json"), contents(original_ / "tokenizer.json"));
  EXPECT_EQ(tree_of(first.folder), expected());
}

TEST_F(DerivedBundleTest, StagesAreSecondNamesThatStayWhenTheGenerationGoes) {
  const DerivedBundle derived = derive(recipe());
  for (const StoredStage& stage : stages_) {
    for (const store::Artifact& artifact : stage.artifacts) {
      const auto stored = fs_.lstat(stage.folder / artifact.path).value();
      const auto named = fs_.lstat(derived.folder / stage.place / artifact.path).value();
      EXPECT_EQ(named.inode, stored.inode) << artifact.path;
      EXPECT_EQ(named.link_count, 2U) << artifact.path;
    }
  }
  leases_.clear();
  for (const StoredStage& stage : stages_) {
    auto lock = store_->lock_key(stage.key, kWait);
    ASSERT_TRUE(lock);
    ASSERT_TRUE(store_->remove_marker(stage.key, stage.generation));
  }
  store_->retain(store::testing::marker_for("other", "/other"), std::chrono::seconds(0));
  for (const StoredStage& stage : stages_) EXPECT_FALSE(stdfs::exists(stage.folder));
  EXPECT_EQ(tree_of(derived.folder), expected());
  store_ = open();
  EXPECT_TRUE(store_->look_up(derived.hit.marker.key)->hit);
  EXPECT_TRUE(store_->verify({})->empty());
}

TEST_F(DerivedBundleTest, WhereNothingCanBeLinkedItIsCopied) {
  fs_.set_hook([](std::string_view operation, const stdfs::path& path) -> std::optional<Error> {
    if (operation == "link") return Error{ErrorCode::io, "no links here", path, {}};
    return std::nullopt;
  });
  const DerivedBundle derived = derive(recipe());
  fs_.set_hook({});
  EXPECT_EQ(tree_of(derived.folder), expected());
  EXPECT_EQ(fs_.lstat(stages_[0].folder / "npu.bin")->link_count, 1U);
}

TEST_F(DerivedBundleTest, TheOriginalIsNeitherLinkedNorTouched) {
  stdfs::create_symlink("tokenizer.json", original_ / "link");
  const auto before = listing_of(original_);
  const DerivedBundle derived = derive(recipe());
  EXPECT_EQ(listing_of(original_), before);
  for (const char* name : {"tokenizer.json", "data/deep/file"}) {
    EXPECT_EQ(fs_.lstat(original_ / name)->link_count, 1U) << name;
    EXPECT_NE(fs_.lstat(derived.folder / name)->inode, fs_.lstat(original_ / name)->inode) << name;
  }
  EXPECT_EQ(fs_.lstat(derived.folder / "link")->kind, fs::FileKind::regular);
  EXPECT_EQ(contents(derived.folder / "link"), "tokens");
}

TEST_F(DerivedBundleTest, AReadOnlyOriginalWillDo) {
  for (const char* name : {"tokenizer.json", "data/deep/file"}) ::chmod((original_ / name).c_str(), 0444);
  for (const char* name : {"data/deep", "data", ""}) ::chmod((original_ / name).c_str(), 0555);
  EXPECT_EQ(tree_of(derive(recipe()).folder), expected());
  for (const char* name : {"", "data", "data/deep"}) ::chmod((original_ / name).c_str(), 0755);
}

TEST_F(DerivedBundleTest, AFileThatChangesWhileItIsCopiedIsCopiedAgain) {
  int copies = 0;
  const auto derived = derive_bundle(*store_, recipe(), kWait, [&] {
    if (++copies == 1) store::testing::change_quietly(original_ / "tokenizer.json");
  });
  ASSERT_TRUE(derived) << derived.error().message;
  EXPECT_EQ(copies, 2);
  EXPECT_EQ(contents(derived->folder / "tokenizer.json"), contents(original_ / "tokenizer.json"));
  EXPECT_TRUE(store_->verify({})->empty());
  EXPECT_EQ(store_->list()->size(), stages_.size() + 1);
}

TEST_F(DerivedBundleTest, AFileThatChangesThereAndBackIsCopiedAgain) {
  int copies = 0;
  fs_.set_hook([&](std::string_view operation, const stdfs::path& path) -> std::optional<Error> {
    if (operation != "clone" || path.filename() != "tokenizer.json") return std::nullopt;
    if (++copies == 1) store::testing::change_quietly(original_ / "tokenizer.json");
    return std::nullopt;
  });
  const auto derived = derive_bundle(*store_, recipe(), kWait, [&] {
    // Before the second copy the bytes are the old ones again.
    if (copies == 1) store::testing::change_quietly(original_ / "tokenizer.json");
  });
  fs_.set_hook({});
  ASSERT_TRUE(derived) << derived.error().message;
  EXPECT_GE(copies, 2);
  EXPECT_EQ(contents(derived->folder / "tokenizer.json"), contents(original_ / "tokenizer.json"));
  EXPECT_TRUE(store_->verify({})->empty());
}

TEST_F(DerivedBundleTest, OneThatKeepsChangingIsBusy) {
  int copies = 0;
  const auto derived = derive_bundle(*store_, recipe(), kWait, [&] {
    ++copies;
    store::testing::change_quietly(original_ / "tokenizer.json");
  });
  ASSERT_FALSE(derived);
  EXPECT_EQ(copies, 3);
  EXPECT_EQ(derived.error().code, ErrorCode::busy);
  EXPECT_THAT(derived.error().message, HasSubstr(original_.string()));
  EXPECT_EQ(store_->list()->size(), stages_.size());
  EXPECT_EQ(tree_of(store_->layout().tmp()).size(), 0U);
}

TEST_F(DerivedBundleTest, AFileThatVanishedIsAnErrorThatNamesIt) {
  const BundleRecipe wanted = recipe();
  stdfs::remove(original_ / "tokenizer.json");
  const auto derived = derive_bundle(*store_, wanted, kWait);
  ASSERT_FALSE(derived);
  EXPECT_EQ(derived.error().code, ErrorCode::not_found);
  EXPECT_THAT(derived.error().message, HasSubstr("tokenizer.json"));
}

TEST_F(DerivedBundleTest, ADamagedOneIsMadeAgain) {
  const stdfs::path folder = derive(recipe()).folder;
  ::chmod((folder / "tokenizer.json").c_str(), 0600);
  store::testing::change_quietly(folder / "tokenizer.json");
  const DerivedBundle again = derive(recipe());
  EXPECT_TRUE(again.made);
  EXPECT_EQ(tree_of(again.folder), expected());
}

TEST_F(DerivedBundleTest, DamageOfAStageIsCorruptAndNamesIt) {
  ::chmod((stages_[0].folder / "npu.bin").c_str(), 0600);
  store::testing::change_quietly(stages_[0].folder / "npu.bin");
  const auto derived = derive_bundle(*store_, recipe(), kWait);
  ASSERT_FALSE(derived);
  EXPECT_EQ(derived.error().code, ErrorCode::corrupt);
  EXPECT_THAT(derived.error().message, HasSubstr("'bundle/precast/1-context/npu.bin'"));
  // What was put together from wrong bytes is not served either.
  const auto again = derive_bundle(*store_, recipe(), kWait);
  EXPECT_FALSE(again) << "a bundle with other bytes than were stored is a hit";
}

TEST_F(DerivedBundleTest, ABundleWithoutOtherFilesIsOne) {
  BundleRecipe bare = recipe();
  bare.files.clear();
  EXPECT_EQ(tree_of(derive(bare).folder).size(), 5U);
  EXPECT_FALSE(derive(bare).made);
}

TEST_F(DerivedBundleTest, ManyAtOnceMakeItOnce) {
  constexpr int kProcesses = 4;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      const auto store = open();
      const auto derived = derive_bundle(*store, recipe(), kWait);
      ::_exit(!derived || tree_of(derived->folder) != expected() ? 2 : derived->made ? 1 : 0);
    }
    children.push_back(child);
  }
  int made = 0;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 2) << status;
    made += WEXITSTATUS(status);
  }
  EXPECT_EQ(made, 1);
}

}  // namespace
}  // namespace precast::genai
