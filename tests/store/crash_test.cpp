#include <gtest/gtest.h>
#include <unistd.h>

#include "store/support.hpp"

// A process that is killed leaves a store in which a look-up is a miss or a full hit, and leftovers that a sweep finds.

namespace precast::store {
namespace {

using testing::marker_for;
using testing::TestFileSystem;

constexpr int kKilled = 99;

TestFileSystem::Hook kill_at(int call) {
  return
      [call, calls = std::make_shared<int>(0)](std::string_view, const std::filesystem::path&) -> std::optional<Error> {
        if (++*calls == call) _exit(kKilled);
        return std::nullopt;
      };
}

class CrashTest : public ::testing::Test {
 protected:
  // In a child that dies at its `call`-th call: false once there are fewer calls.
  bool dies(int call, const std::function<void(Store&)>& act) {
    const int code = testing::in_child([&] {
      TestFileSystem fs;
      const auto store = testing::open_store(fs, root_, &clock_, 1);
      if (store == nullptr) return 1;
      fs.set_hook(kill_at(call));
      act(*store);
      return 0;
    });
    EXPECT_TRUE(code == 0 || code == kKilled) << code;
    return code == kKilled;
  }
  void expect_whole(const std::string& where) {
    const auto store = testing::open_store(fs_, root_, &clock_, 1);
    store->retain(marker_for("some other", "/models/other.onnx"), std::chrono::seconds(0));
    EXPECT_EQ(testing::entries_in(store->layout().tmp()), 0U) << where;
    EXPECT_EQ(testing::entries_in(store->layout().generations()), testing::entries_in(store->layout().leases()))
        << where;
    EXPECT_EQ(testing::entries_in(store->layout().generations()), store->list()->size()) << where;
    const auto findings = store->verify({});
    ASSERT_TRUE(findings);
    for (const Finding& finding : *findings) ADD_FAILURE() << where << ": " << finding.path << ' ' << finding.message;
  }

  testing::TemporaryFolder folder_;
  std::filesystem::path root_ = folder_ / "root";
  TestFileSystem fs_;
  testing::TestClock clock_;
};

TEST_F(CrashTest, WhileCommitting) {
  const auto store = testing::open_store(fs_, root_);
  bool was_a_hit = false;
  for (int call = 1;; ++call) {
    const std::string where = "killed at call " + std::to_string(call);
    const bool died = dies(call, [&](Store& mine) { (void)testing::commit_entry(mine, marker_for("a")); });
    const auto found = store->look_up(testing::key_for("a"));
    ASSERT_TRUE(found) << where;
    if (found->hit) {
      EXPECT_EQ(testing::contents(found->hit->model), "compiled model") << where;
    } else {
      EXPECT_FALSE(was_a_hit) << where << found->miss_reason;
      EXPECT_EQ(found->miss_reason, "no entry for this identity") << where;
    }
    was_a_hit = was_a_hit || found->hit.has_value();
    if (!died) break;
  }
  EXPECT_TRUE(was_a_hit);
  expect_whole("after all commits");
}

TEST_F(CrashTest, EachLeftoverOfACommitIsSwept) {
  for (int call = 1;; ++call) {
    const bool died = dies(call, [&](Store& mine) { (void)testing::commit_entry(mine, marker_for("a")); });
    expect_whole("killed at call " + std::to_string(call));
    std::filesystem::remove_all(root_);
    if (!died) break;
  }
}

TEST_F(CrashTest, WhileRebuildingTheOldOrTheNewIsThere) {
  const auto store = testing::open_store(fs_, root_);
  testing::must_commit(*store, marker_for("a"), {"old", "old"});
  for (int call = 1;; ++call) {
    const bool died = dies(call, [&](Store& mine) {
      const auto committed = testing::commit_entry(mine, marker_for("a"), {"new", "new"});
      if (committed) mine.retain(committed->hit.marker);
    });
    const auto found = store->look_up(testing::key_for("a"));
    ASSERT_TRUE(found && found->hit) << call << (found ? found->miss_reason : found.error().message);
    const std::string model = testing::contents(found->hit->model);
    EXPECT_TRUE(model == "old" || model == "new") << call;
    EXPECT_EQ(testing::contents(found->hit->folder / "npu.bin"), model) << call;
    store->retain(found->hit->marker, std::chrono::seconds(0));  // else each round leaves more to look through
    if (!died) break;
  }
  expect_whole("after all rebuilds");
}

TEST_F(CrashTest, WhileDeletingAnOldGeneration) {
  const auto store = testing::open_store(fs_, root_, &clock_, 1);
  for (int call = 1;; ++call) {
    const std::string where = "killed at call " + std::to_string(call);
    testing::must_commit(*store, marker_for("old"));
    clock_.advance(std::chrono::hours(48));
    const Marker newest = testing::must_commit(*store, marker_for("newest"));
    const bool died = dies(call, [&](Store& mine) { mine.retain(newest, std::chrono::seconds(0)); });
    const auto found = store->look_up(testing::key_for("old"));
    ASSERT_TRUE(found) << where;
    if (found->hit) {
      EXPECT_EQ(testing::contents(found->hit->model), "compiled model") << where;
    }
    EXPECT_TRUE(store->look_up(newest.key)->hit) << where;
    store->retain(newest, std::chrono::seconds(0));
    if (!died) break;
  }
  store->retain(marker_for("newest"), std::chrono::seconds(0));
  expect_whole("after all deletions");
}

TEST_F(CrashTest, WhileOpeningANewStore) {
  for (int call = 1;; ++call) {
    const int code = testing::in_child([&] {
      TestFileSystem fs;
      fs.set_hook(kill_at(call));
      return testing::open_store(fs, root_) != nullptr ? 0 : 1;
    });
    const auto store = testing::open_store(fs_, root_);
    ASSERT_NE(store, nullptr) << call;
    EXPECT_TRUE(store->writable()) << call;
    std::filesystem::remove_all(root_);
    if (code == 0) break;
  }
}

}  // namespace
}  // namespace precast::store
