#include "genai/publish_bundle.hpp"

#include <thread>

#include <sys/stat.h>

#include <unistd.h>

#include "genai/bundle_view.hpp"
#include "genai/derive_support.hpp"

namespace precast::genai {
namespace {

namespace stdfs = std::filesystem;
using testing::contents;
using ::testing::HasSubstr;
using testing::listing_of;
using testing::put;
using testing::tree_of;

constexpr int kKilled = 99;
using Tree = std::map<std::string, std::string>;

class PublishBundleTest : public testing::RecipeTest {
 protected:
  PublishBundleTest() { stdfs::create_directory(parent_); }

  PreparedBundle prepared(const std::string& config = "the new one") {
    PreparedBundle made;
    made.recipe = recipe(config);
    return made;
  }
  [[nodiscard]] PublishBundle request(bool overwrite = false) const {
    return {.output = output_, .original = original_, .store = root_, .overwrite = overwrite, .cancel = nullptr};
  }
  void must_publish(const std::string& config, bool written, bool overwrite = false) {
    const auto published = publish_bundle(fs_, prepared(config), request(overwrite));
    ASSERT_TRUE(published) << published.error().message;
    EXPECT_EQ(published->publication, written ? Publication::written : Publication::same);
    EXPECT_EQ(published->folder, output_);
    EXPECT_EQ(store::testing::entries_in(parent_), 1U) << "something temporary is left";
  }
  [[nodiscard]] Tree bundle_there() const {
    Tree tree = tree_of(output_);
    tree.erase(kPublishedName);
    return tree;
  }
  void expect_refused(const PublishBundle& wanted, const std::string& words) {
    const Tree before = tree_of(folder_.path());
    for (const Error& error :
         {publish_bundle(fs_, prepared(), wanted).error(), check_bundle_output(fs_, wanted).error()}) {
      EXPECT_EQ(error.code, ErrorCode::bad_input);
      EXPECT_THAT(error.message, HasSubstr(words));
      EXPECT_FALSE(error.hint.empty());
      EXPECT_EQ(error.path, wanted.output);
    }
    EXPECT_EQ(tree_of(folder_.path()), before) << words;
  }

  stdfs::path parent_ = folder_ / "out";
  stdfs::path output_ = parent_ / "published";
};

TEST_F(PublishBundleTest, IsAFolderOfItsOwn) {
  const auto original = listing_of(original_);
  must_publish("the new one", true);
  EXPECT_EQ(bundle_there(), expected());
  for (const auto& entry : stdfs::recursive_directory_iterator(output_)) {
    const auto stat = fs_.lstat(entry.path()).value();
    EXPECT_EQ(stat.mode, entry.is_directory() ? 0755U : 0644U) << entry.path();
    if (!entry.is_directory()) {
      EXPECT_EQ(stat.link_count, 1U) << entry.path();
    }
  }
  EXPECT_EQ(listing_of(original_), original);
  EXPECT_THAT(contents(output_ / kPublishedName), HasSubstr("precast/1-context/npu.bin"));
}

TEST_F(PublishBundleTest, MissingParentsAreMade) {
  output_ = parent_ / "a/b/published";
  const auto published = publish_bundle(fs_, prepared(), request());
  ASSERT_TRUE(published) << published.error().message;
  EXPECT_EQ(bundle_there(), expected());
}

TEST_F(PublishBundleTest, AnEmptyFolderIsTaken) {
  stdfs::create_directory(output_);
  must_publish("the new one", true);
  EXPECT_EQ(bundle_there(), expected());
}

TEST_F(PublishBundleTest, TheSameAgainWritesNothing) {
  must_publish("the new one", true);
  const auto before = listing_of(output_);
  must_publish("the new one", false);
  EXPECT_EQ(listing_of(output_), before);
}

TEST_F(PublishBundleTest, AnotherOneOfPrecastsIsReplacedOnlyWhenAsked) {
  must_publish("old", true);
  const auto refused = publish_bundle(fs_, prepared("new"), request());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::bad_input);
  EXPECT_THAT(refused.error().hint, HasSubstr("--overwrite"));
  EXPECT_EQ(bundle_there(), expected("old"));
  EXPECT_EQ(store::testing::entries_in(parent_), 1U);
  must_publish("new", true, true);
  EXPECT_EQ(bundle_there(), expected("new"));
}

TEST_F(PublishBundleTest, WhatSomebodyChangedIsNotReplaced) {
  must_publish("old", true);
  put(output_ / "added", "theirs");
  expect_refused(request(true), "'added'");
  stdfs::remove(output_ / "added");
  put(output_ / "data/deep/file", "peed");
  expect_refused(request(true), "'data/deep/file'");
  put(output_ / "data/deep/file", "deep");
  stdfs::remove(output_ / "tokenizer.json");
  stdfs::create_symlink(original_ / "tokenizer.json", output_ / "tokenizer.json");
  expect_refused(request(true), "'tokenizer.json'");
  stdfs::remove(output_ / "tokenizer.json");  // less than was published is nobody's work
  must_publish("new", true, true);
}

TEST_F(PublishBundleTest, ADamagedRecordIsNobodysWord) {
  must_publish("old", true);
  const std::string record = contents(output_ / kPublishedName);
  for (const char* text : {"", "[]", "{}", R"({"schema":2,"files":{}})", R"({"schema":1,"files":[]})",
                           R"({"schema":1,"files":{"tokenizer.json":1}})", R"({"schema":1})"}) {
    put(output_ / kPublishedName, text);
    expect_refused(request(true), "precast did not publish a bundle there");
  }
  put(output_ / kPublishedName, record);
  must_publish("old", false);
}

TEST_F(PublishBundleTest, WhatIsSomebodysIsRefused) {
  stdfs::create_directory(output_);
  put(output_ / "file", "theirs");
  expect_refused(request(true), "is not empty");
  stdfs::remove_all(output_);
  put(output_, "a file");
  expect_refused(request(true), "is not a folder");
  stdfs::remove(output_);
  stdfs::create_directory(folder_ / "elsewhere");
  stdfs::create_directory_symlink(folder_ / "elsewhere", output_);
  expect_refused(request(true), "is a link");
  stdfs::remove(output_);
  stdfs::create_symlink("nowhere", output_);
  expect_refused(request(true), "is a link");
}

TEST_F(PublishBundleTest, NeitherInNorAroundTheBundleOrTheCache) {
  for (const stdfs::path& place : {original_, original_ / "out", original_ / "data", folder_.path()}) {
    output_ = place;
    expect_refused(request(true), "the bundle");
  }
  for (const stdfs::path& place : {root_, root_ / "tmp/x", root_ / "generations"}) {
    output_ = place;
    expect_refused(request(true), "the cache");
  }
  stdfs::create_directory_symlink(original_, parent_ / "link");
  output_ = parent_ / "link/out";
  expect_refused(request(true), "the bundle");
  output_ = folder_ / "bundle2";  // a longer name is another place
  EXPECT_TRUE(publish_bundle(fs_, prepared(), request()));
}

TEST_F(PublishBundleTest, StagesWithOtherBytesThanStoredAreNotPublished) {
  store::testing::change_quietly(stages_[1].folder / "npu.bin");
  const auto published = publish_bundle(fs_, prepared(), request());
  ASSERT_FALSE(published);
  EXPECT_EQ(published.error().code, ErrorCode::corrupt);
  EXPECT_THAT(published.error().message, HasSubstr("precast/2-iterator/npu.bin"));
  EXPECT_EQ(store::testing::entries_in(parent_), 0U);
}

TEST_F(PublishBundleTest, NothingCompiledIsNothingToPublish) {
  EXPECT_EQ(publish_bundle(fs_, PreparedBundle{}, request()).error().code, ErrorCode::internal);
}

TEST_F(PublishBundleTest, APublishedBundleCanBePublishedFrom) {
  put(original_ / kPublishedName, "another's record");
  must_publish("the new one", true);
  EXPECT_EQ(bundle_there(), expected());
  must_publish("the new one", false);
}

TEST_F(PublishBundleTest, CancellingLeavesNothing) {
  util::CancelToken cancel;
  cancel.cancel();
  PublishBundle wanted = request();
  wanted.cancel = &cancel;
  const auto published = publish_bundle(fs_, prepared(), wanted);
  ASSERT_FALSE(published);
  EXPECT_EQ(published.error().code, ErrorCode::cancelled);
  EXPECT_EQ(store::testing::entries_in(parent_), 0U);
}

TEST_F(PublishBundleTest, ADraftThatIsBeingWrittenIsLeftAlone) {
  bool looked = false;
  // Another publication into the same folder, at every moment of the first one.
  store::testing::TestFileSystem other;
  int calls = 0;
  fs_.set_hook([&](std::string_view, const stdfs::path&) -> std::optional<Error> {
    if (++calls % 7 != 0) return std::nullopt;
    fs::File folder = other.open(parent_, fs::OpenMode::read).value();
    if (!other.try_lock(folder, fs::LockKind::exclusive).value()) return std::nullopt;  // it would wait for this one
    other.unlock(folder);
    PublishBundle wanted = request();
    wanted.output = parent_ / "second";
    PreparedBundle bare;
    bare.recipe =
        BundleRecipe{.original = original_, .config = "bare", .stages = {}, .files = {}, .ep = {}, .device = {}};
    EXPECT_TRUE(publish_bundle(other, bare, wanted)) << calls;
    looked = true;
    return std::nullopt;
  });
  const PreparedBundle wanted = prepared();
  const auto published = publish_bundle(fs_, wanted, request());
  fs_.set_hook({});
  ASSERT_TRUE(published) << published.error().message;
  EXPECT_TRUE(looked);
  EXPECT_EQ(bundle_there(), expected());
}

TEST_F(PublishBundleTest, ManyAtOnceIntoOneFolderAreWholeAndOneOfTheSameWritesIt) {
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> written = 0;
    std::atomic<int> same = 0;
    std::vector<std::thread> threads;
    threads.reserve(6);
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&, i] {
        PublishBundle wanted = request(true);
        if (i % 3 == 2) wanted.output = parent_ / ("other" + std::to_string(i));
        const auto published = publish_bundle(fs::FileSystem::posix(), prepared(), wanted);
        ASSERT_TRUE(published) << published.error().message;
        if (i % 3 == 2) return;
        (published->publication == Publication::written ? written : same) += 1;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(written, 1);
    EXPECT_EQ(same, 3);
    EXPECT_EQ(store::testing::entries_in(parent_), 3U) << "something temporary is left";
    EXPECT_EQ(bundle_there(), expected());
    for (const char* other : {"other2", "other5"}) {
      Tree tree = tree_of(parent_ / other);
      tree.erase(kPublishedName);
      EXPECT_EQ(tree, expected());
    }
    stdfs::remove_all(parent_);
    stdfs::create_directory(parent_);
  }
}

TEST_F(PublishBundleTest, WhatIsReplacedIsThereUntilTheNewOneIs) {
  must_publish("old", true);
  int looked = 0;
  fs_.set_hook([&](std::string_view, const stdfs::path&) -> std::optional<Error> {
    EXPECT_TRUE(stdfs::exists(output_ / kPublishedName));
    ++looked;
    return std::nullopt;
  });
  const auto published = publish_bundle(fs_, prepared("new"), request(true));
  fs_.set_hook({});
  ASSERT_TRUE(published) << published.error().message;
  EXPECT_GT(looked, 40);
  EXPECT_EQ(bundle_there(), expected("new"));
}

TEST_F(PublishBundleTest, WhereTwoNamesCannotBeExchangedItIsRenamedTwice) {
  class WithoutExchange : public store::testing::TestFileSystem {
    Result<bool> exchange(const stdfs::path& /*one*/, const stdfs::path& /*other*/) override { return false; }
  };
  must_publish("old", true);
  WithoutExchange other;
  ASSERT_TRUE(publish_bundle(other, prepared("new"), request(true)));
  EXPECT_EQ(bundle_there(), expected("new"));
  EXPECT_EQ(store::testing::entries_in(parent_), 1U);
  // And what cannot take its place leaves the old one there.
  other.set_hook([&](std::string_view operation, const stdfs::path& path) -> std::optional<Error> {
    static int renames = 0;
    if (operation != "rename_new" || path != output_ || ++renames > 1) return std::nullopt;
    return Error{ErrorCode::io, "injected", path, {}};
  });
  EXPECT_FALSE(publish_bundle(other, prepared("newest"), request(true)));
  EXPECT_EQ(bundle_there(), expected("new"));
}

TEST_F(PublishBundleTest, OneWithAFailedStageReplacesNoneThatIsThere) {
  PreparedBundle partly = prepared("partly");
  partly.stages.push_back({.name = "context", .ep = "X", .outcome = StageOutcome::failed, .resolution = std::nullopt});
  ASSERT_TRUE(publish_bundle(fs_, partly, request()));
  EXPECT_EQ(bundle_there(), expected("partly"));
  must_publish("whole", true, true);
  const auto kept = publish_bundle(fs_, partly, request(true));
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->publication, Publication::kept);
  EXPECT_EQ(bundle_there(), expected("whole"));
  EXPECT_EQ(store::testing::entries_in(parent_), 1U);
}

TEST_F(PublishBundleTest, NotInAnotherPublishedBundle) {
  must_publish("the new one", true);
  output_ = parent_ / "published/data/second";
  expect_refused(request(true), "lies in a bundle that precast published");
}

TEST_F(PublishBundleTest, WhatLacksFilesIsNotTheSameAndIsMadeWhole) {
  for (const char* gone : {"tokenizer.json", "genai_config.json", "data/deep/file", "precast/1-context/npu.bin"}) {
    must_publish("the new one", true, true);
    stdfs::remove(output_ / gone);
    const auto refused = publish_bundle(fs_, prepared(), request());
    ASSERT_FALSE(refused) << gone;
    EXPECT_EQ(refused.error().code, ErrorCode::bad_input);
    EXPECT_THAT(refused.error().message, ::testing::AllOf(HasSubstr("lacks a file"), HasSubstr(gone)));
    must_publish("the new one", true, true);
    EXPECT_EQ(bundle_there(), expected()) << gone;
    stdfs::remove_all(output_);
  }
}

// At each call somebody tidies the draft away, renames it, or changes a file in it.
TEST_F(PublishBundleTest, NothingIsPublishedOfADraftThatSomebodyTouched) {
  using Touch = std::function<void(const stdfs::path&)>;
  const Touch touches[] = {[](const stdfs::path& draft) { stdfs::remove_all(draft); },
                           [](const stdfs::path& draft) { stdfs::rename(draft, draft.parent_path() / "moved"); },
                           [](const stdfs::path& draft) { stdfs::remove(draft / "tokenizer.json"); },
                           [](const stdfs::path& draft) {
                             if (stdfs::exists(draft / "data/deep/file")) put(draft / "data/deep/file", "other");
                           },
                           [](const stdfs::path& draft) { put(draft / "added", "by somebody"); }};
  int refusals = 0;
  for (const Touch& touch : touches) {
    for (int call = 1;; ++call) {
      stdfs::remove_all(parent_);
      stdfs::create_directory(parent_);
      int calls = 0;
      int locks = 0;
      fs_.set_hook([&](std::string_view operation, const stdfs::path& path) -> std::optional<Error> {
        if (operation == "exclude" && path == parent_) ++locks;
        // What comes between the last look, under the second lock, and the rename is beyond anybody.
        if (++calls != call || locks > 1) return std::nullopt;
        for (const auto& entry : stdfs::directory_iterator(parent_)) {
          if (entry.path().filename() == "published") continue;
          touch(entry.path());
          break;
        }
        return std::nullopt;
      });
      const auto published = publish_bundle(fs_, prepared(), request());
      fs_.set_hook({});
      if (calls < call) break;
      refusals += published ? 0 : 1;
      if (published) {
        EXPECT_EQ(bundle_there(), expected()) << call;
      } else {
        EXPECT_FALSE(stdfs::exists(output_ / kPublishedName)) << call << ": " << published.error().message;
      }
    }
  }
  EXPECT_GT(refusals, 20);
}

TEST_F(PublishBundleTest, WhoeverElseLockedTheFolderIsWaitedForAsLongAsAsked) {
  fs::File other = fs::FileSystem::posix().open(parent_, fs::OpenMode::read).value();
  ASSERT_TRUE(fs::FileSystem::posix().try_lock(other, fs::LockKind::exclusive).value());
  PublishBundle wanted = request();
  wanted.lock_timeout = std::chrono::milliseconds(20);
  const auto busy = publish_bundle(fs_, prepared(), wanted);
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().code, ErrorCode::busy);
  EXPECT_THAT(busy.error().message, HasSubstr("has locked the folder"));
  EXPECT_EQ(store::testing::entries_in(parent_), 0U);
  wanted.lock_timeout.reset();
  stdfs::path waited_for;
  wanted.on_wait = [&](const stdfs::path& folder) {
    waited_for = folder;
    other = fs::File();
  };
  EXPECT_TRUE(publish_bundle(fs_, prepared(), wanted));
  EXPECT_EQ(waited_for, parent_);
}

TEST_F(PublishBundleTest, TheUmaskIsRespected) {
  const mode_t before = ::umask(0027);
  must_publish("the new one", true);
  ::umask(before);
  for (const auto& entry : stdfs::recursive_directory_iterator(output_)) {
    EXPECT_EQ(fs_.lstat(entry.path()).value().mode, entry.is_directory() ? 0750U : 0640U) << entry.path();
  }
  EXPECT_EQ(fs_.lstat(output_).value().mode, 0750U);
}

TEST_F(PublishBundleTest, FoldersOfOthersAreNotTakenForDrafts) {
  const stdfs::path theirs = fs::new_temporary(parent_);
  stdfs::create_directory(theirs);
  put(theirs / "letter", "dear");
  ASSERT_TRUE(publish_bundle(fs_, prepared(), request()));
  EXPECT_EQ(contents(theirs / "letter"), "dear");
  output_ = fs::new_temporary(parent_);
  expect_refused(request(), "precast's own temporary folders");
}

TEST_F(PublishBundleTest, AFileOnTheWayIsNamed) {
  put(parent_ / "file", "theirs");
  output_ = parent_ / "file/published";
  const auto checked = check_bundle_output(fs_, request());
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::bad_input);
  EXPECT_THAT(checked.error().message, HasSubstr("file' is not a folder"));
  EXPECT_FALSE(publish_bundle(fs_, prepared(), request()));
}

TEST_F(PublishBundleTest, AFileThatVanishesFromTheDraftIsNoticed) {
  fs_.set_hook([&](std::string_view operation, const stdfs::path& path) -> std::optional<Error> {
    if (operation == "rename" && path.filename() == kPublishedName)
      stdfs::remove(path.parent_path() / "tokenizer.json");
    return std::nullopt;
  });
  const auto published = publish_bundle(fs_, prepared(), request());
  fs_.set_hook({});
  ASSERT_FALSE(published);
  EXPECT_EQ(published.error().code, ErrorCode::busy);
  EXPECT_EQ(store::testing::entries_in(parent_), 0U);
}

TEST_F(PublishBundleTest, EachFailedCallLeavesTheOldOrTheNewBundle) {
  for (const bool replacing : {false, true}) {
    int failures = 0;
    for (int call = 1;; ++call) {
      stdfs::remove_all(parent_);
      stdfs::create_directory(parent_);
      if (replacing) must_publish("old", true);
      const Tree before = tree_of(output_);
      const PreparedBundle wanted = prepared("new");
      std::string where = std::string(replacing ? "replacing, " : "") + "call " + std::to_string(call);
      int calls = 0;
      fs_.set_hook([&](std::string_view operation, const stdfs::path& path) -> std::optional<Error> {
        if (++calls != call) return std::nullopt;
        where += ", " + std::string(operation) + " of " + path.filename().string();
        return Error{ErrorCode::no_space, "injected", path, {}};
      });
      const auto published = publish_bundle(fs_, wanted, request(true));
      fs_.set_hook({});
      if (calls < call) break;
      Tree there = tree_of(output_);
      failures += published ? 0 : 1;
      const bool is_old = there == before;
      there.erase(kPublishedName);
      there.erase(".precast-lease");  // empty, and gone with the next publication
      EXPECT_TRUE(is_old || there == expected("new")) << where;
      if (published) {
        EXPECT_EQ(there, expected("new")) << where;
      }
      const auto again = publish_bundle(fs_, wanted, request(true));
      EXPECT_TRUE(again) << where << ": " << again.error().message;
      EXPECT_EQ(bundle_there(), expected("new")) << where;
      EXPECT_EQ(store::testing::entries_in(parent_), 1U) << where << ": something is left";
    }
    EXPECT_GT(failures, 40);
  }
}

TEST_F(PublishBundleTest, WhoeverIsKilledLeavesADraftThatTheNextOneRemoves) {
  bool was_old = false;
  bool was_new = false;
  bool left_a_draft = false;
  for (int call = 1;; ++call) {
    const std::string where = "killed at call " + std::to_string(call);
    stdfs::remove_all(parent_);
    stdfs::create_directory(parent_);
    must_publish("old", true);
    const PreparedBundle wanted = prepared("new");
    const int code = store::testing::in_child([&] {
      store::testing::TestFileSystem fs;
      int calls = 0;
      fs.set_hook([&](std::string_view, const stdfs::path&) -> std::optional<Error> {
        if (++calls == call) _exit(kKilled);
        return std::nullopt;
      });
      return publish_bundle(fs, wanted, request(true)) ? 0 : 1;
    });
    ASSERT_TRUE(code == 0 || code == kKilled) << where << ": " << code;
    left_a_draft = left_a_draft || store::testing::entries_in(parent_) > 1;
    Tree there = bundle_there();
    there.erase(".precast-lease");
    was_old = was_old || there == expected("old");
    was_new = was_new || there == expected("new");
    // Between moving the old one away and the new one in, there is none.
    EXPECT_TRUE(there.empty() || there == expected("old") || there == expected("new")) << where;
    const auto again = publish_bundle(fs_, wanted, request(true));
    EXPECT_TRUE(again) << where << ": " << again.error().message;
    EXPECT_EQ(bundle_there(), expected("new")) << where;
    EXPECT_EQ(store::testing::entries_in(parent_), 1U) << where << ": something is left";
    if (code == 0) break;
  }
  EXPECT_TRUE(was_old && was_new && left_a_draft);
}

class BundleView : public testing::RecipeTest {};

TEST_F(BundleView, LooksLikeTheBundleWithAnotherConfigurationAndGoesWithItsOwner) {
  const auto before = listing_of(original_);
  stdfs::path view;
  {
    auto work = compile::WorkFolder::temporary(fs_);
    ASSERT_TRUE(work);
    const auto made = make_view(fs_, *work, original_, "new", {{"precast/1-context", stages_[0].folder}});
    ASSERT_TRUE(made) << made.error().message;
    view = *made;
    EXPECT_EQ(contents(view / "genai_config.json"), "new");
    EXPECT_FALSE(stdfs::is_symlink(view / "genai_config.json"));
    EXPECT_EQ(contents(view / "tokenizer.json"), "tokens");
    EXPECT_EQ(contents(view / "data/deep/file"), "deep");
    EXPECT_EQ(contents(view / kOriginalInView / "context.onnx"), "a model");
    EXPECT_EQ(contents(view / "precast/1-context/npu.bin"), "binary of context");
    EXPECT_TRUE(stdfs::is_symlink(view / "data"));
    EXPECT_EQ(store::testing::entries_in(view), store::testing::entries_in(original_) + 1);
  }
  EXPECT_FALSE(stdfs::exists(view));
  EXPECT_EQ(listing_of(original_), before);
  EXPECT_TRUE(stdfs::exists(stages_[0].folder / "npu.bin"));
}

TEST_F(BundleView, AFolderOfTheOriginalWithOurNameIsReachedThroughTheOriginal) {
  stdfs::create_directory(original_ / "precast");
  put(original_ / "precast/file", "theirs");
  auto work = compile::WorkFolder::temporary(fs_);
  ASSERT_TRUE(work);
  const auto view = make_view(fs_, *work, original_, "new", {});
  ASSERT_TRUE(view) << view.error().message;
  EXPECT_FALSE(stdfs::is_symlink(*view / "precast"));
  EXPECT_EQ(contents(*view / kOriginalInView / "precast/file"), "theirs");
  EXPECT_EQ(contents(original_ / "precast/file"), "theirs");
}

}  // namespace
}  // namespace precast::genai
