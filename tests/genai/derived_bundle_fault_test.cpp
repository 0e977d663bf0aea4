// Each call of the file system fails once, or is the last one of a killed process, while a bundle is put together: it
// is whole or not there, the stages stay, the next run works, and nothing is left over.
#include <unistd.h>

#include "genai/derive_support.hpp"

namespace precast::genai {
namespace {

namespace stdfs = std::filesystem;
using testing::tree_of;

constexpr int kKilled = 99;
const fs::Lock::WaitOptions kWait{.timeout = std::chrono::seconds(10)};

class DerivedBundleFault : public testing::RecipeTest {
 protected:
  void expect_whole_or_absent(const std::string& where) {
    const auto store = open();
    for (const store::Marker& marker : markers(*store)) {
      const auto found = store->look_up(marker.key);
      ASSERT_TRUE(found && found->hit) << where << (found ? found->miss_reason : found.error().message);
      if (found->hit->model.filename() == "genai_config.json") {
        EXPECT_EQ(tree_of(found->hit->folder / "bundle"), expected()) << where;
      }
    }
    for (const StoredStage& stage : stages_) {
      const auto found = store->look_up(stage.key);
      ASSERT_TRUE(found && found->hit) << where;
      EXPECT_EQ(found->hit->marker.generation, stage.generation) << where;
    }
  }
  static std::vector<store::Marker> markers(store::Store& store) {
    std::vector<store::Marker> found;
    const auto entries = store.list();
    EXPECT_TRUE(entries);
    for (const store::Entry& entry : *entries) found.push_back(entry.marker);
    return found;
  }
  void expect_next_run_works(const std::string& where) {
    const auto store = open();
    const auto derived = derive_bundle(*store, recipe(), kWait);
    ASSERT_TRUE(derived) << where << ": " << derived.error().message;
    EXPECT_EQ(tree_of(derived->folder), expected()) << where;
    key_ = derived->hit.marker.key;
    generation_ = derived->hit.marker.generation;
  }
  void expect_nothing_left(const std::string& where) {
    store_->retain(store::testing::marker_for("some other", "/other"), std::chrono::seconds(0));
    const auto entries = [&](const stdfs::path& folder) { return store::testing::entries_in(folder); };
    EXPECT_EQ(entries(store_->layout().tmp()), 0U) << where;
    EXPECT_EQ(entries(store_->layout().generations()), stages_.size() + 1) << where;
    EXPECT_EQ(entries(store_->layout().leases()), stages_.size() + 1) << where;
    const auto findings = store_->verify({});
    ASSERT_TRUE(findings) << where;
    for (const store::Finding& finding : *findings) {
      ADD_FAILURE() << where << ": " << finding.path << ' ' << finding.message;
    }
  }
  void forget_the_bundle() {
    auto lock = store_->lock_key(key_, kWait);
    ASSERT_TRUE(lock);
    ASSERT_TRUE(store_->remove_marker(key_, generation_));
    lock->release();
    store_->retain(store::testing::marker_for("some other", "/other"), std::chrono::seconds(0));
    ASSERT_EQ(store::testing::entries_in(store_->layout().generations()), stages_.size());
    // As at the first time: nothing is known of the user's files.
    stdfs::remove_all(store_->layout().digests());
    for (const StoredStage& stage : stages_) ASSERT_TRUE(store_->look_up(stage.key)->hit);
  }

  std::string key_;
  std::string generation_;
};

class DerivedBundleFaultOf : public DerivedBundleFault, public ::testing::WithParamInterface<ErrorCode> {};

TEST_P(DerivedBundleFaultOf, EachCallLeavesAWholeBundleOrNone) {
  const auto original = testing::listing_of(original_);
  int failures = 0;
  for (int call = 1;; ++call) {
    std::string where = "call " + std::to_string(call);
    int calls = 0;
    const BundleRecipe wanted = recipe();
    fs_.set_hook([&](std::string_view operation, const stdfs::path& path) -> std::optional<Error> {
      if (++calls != call) return std::nullopt;
      where += ", " + std::string(operation) + " of " + path.lexically_relative(folder_.path()).string();
      return Error{GetParam(), "injected", path, {}};
    });
    {
      const auto derived = derive_bundle(*store_, wanted, kWait);
      fs_.set_hook({});
      if (derived) {
        EXPECT_EQ(tree_of(derived->folder), expected()) << where;
      } else {
        ++failures;
        EXPECT_EQ(derived.error().code, GetParam()) << where << ": " << derived.error().message;
      }
    }
    expect_whole_or_absent(where);
    expect_next_run_works(where);
    expect_nothing_left(where);
    if (HasFatalFailure() || calls < call) break;
    forget_the_bundle();
    if (HasFatalFailure()) break;
  }
  EXPECT_GT(failures, 60);
  EXPECT_EQ(testing::listing_of(original_), original);
}

INSTANTIATE_TEST_SUITE_P(Faults, DerivedBundleFaultOf, ::testing::Values(ErrorCode::io, ErrorCode::no_space),
                         [](const auto& one) { return one.param == ErrorCode::io ? "Io" : "NoSpace"; });

TEST_F(DerivedBundleFault, WhoeverIsKilledAtACallLeavesAWholeBundleOrNone) {
  const auto original = testing::listing_of(original_);
  bool was_whole = false;
  bool was_absent = false;
  for (int call = 1;; ++call) {
    const std::string where = "killed at call " + std::to_string(call);
    const BundleRecipe wanted = recipe();
    const int code = store::testing::in_child([&] {
      store::testing::TestFileSystem fs;
      const auto store = store::testing::open_store(fs, root_, &clock_);
      if (store == nullptr) return 1;
      int calls = 0;
      fs.set_hook([&](std::string_view, const stdfs::path&) -> std::optional<Error> {
        if (++calls == call) _exit(kKilled);
        return std::nullopt;
      });
      return derive_bundle(*store, wanted, kWait) ? 0 : 1;
    });
    ASSERT_TRUE(code == 0 || code == kKilled) << where << ": " << code;
    expect_whole_or_absent(where);
    (markers(*store_).size() > stages_.size() ? was_whole : was_absent) = true;
    expect_next_run_works(where);
    expect_nothing_left(where);
    if (HasFatalFailure() || code == 0) break;
    forget_the_bundle();
    if (HasFatalFailure()) break;
  }
  EXPECT_TRUE(was_whole);
  EXPECT_TRUE(was_absent);
  EXPECT_EQ(testing::listing_of(original_), original);
}

}  // namespace
}  // namespace precast::genai
