#include <sys/stat.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include "store/support.hpp"
#include "util/sha256.hpp"

namespace precast::store {
namespace {

using testing::marker_for;
using testing::TestFileSystem;

class CommitTest : public ::testing::Test {
 protected:
  CommitTest() : store_(testing::open_store(fs_, folder_ / "root")) {}
  [[nodiscard]] const Layout& layout() const { return store_->layout(); }
  void expect_nothing_left() {
    EXPECT_EQ(testing::entries_in(layout().tmp()), 0U);
    EXPECT_EQ(testing::entries_in(layout().leases()), 0U);
    EXPECT_EQ(testing::entries_in(layout().generations()), 0U);
  }

  testing::TemporaryFolder folder_;
  TestFileSystem fs_;
  std::unique_ptr<Store> store_;
};

TEST_F(CommitTest, WorkHasItsFoldersAndItsLease) {
  const auto work = store_->begin_work();
  ASSERT_TRUE(work) << work.error().message;
  EXPECT_EQ(work->folder(), layout().work(work->uuid()));
  for (const auto& path : {work->folder(), work->output_folder(), work->work_folder(), work->source_folder()}) {
    EXPECT_TRUE(std::filesystem::is_directory(path)) << path;
    EXPECT_EQ(fs_.lstat(path)->mode & 07777, 0700U);
  }
  EXPECT_FALSE(fs::Lock::try_acquire(fs_, layout().lease(work->uuid()), fs::LockKind::exclusive).value());
}

TEST_F(CommitTest, TheLeaseIsLockedBeforeTheFolderExists) {
  bool leased = false;
  fs_.set_hook([&](std::string_view operation, const std::filesystem::path& path) -> std::optional<Error> {
    if (operation == "share") leased = true;
    if (operation == "make_directory" && path.parent_path() == layout().tmp()) {
      EXPECT_TRUE(leased);
    }
    return std::nullopt;
  });
  EXPECT_TRUE(store_->begin_work());
  EXPECT_TRUE(leased);
}

TEST_F(CommitTest, WorkThatIsDroppedLeavesNothing) {
  {
    auto work = store_->begin_work();
    testing::put(work->output_folder() / "model.onnx", "half");
    Work moved = *std::move(work);
    EXPECT_TRUE(std::filesystem::exists(moved.output_folder() / "model.onnx"));
    moved = *store_->begin_work();
    EXPECT_EQ(testing::entries_in(layout().tmp()), 1U);
  }
  expect_nothing_left();
}

TEST_F(CommitTest, AForkedChildDoesNotDropItsParentsWork) {
  auto work = store_->begin_work();
  ASSERT_TRUE(work);
  EXPECT_EQ(testing::in_child([&] {
              {
                const Work in_child = *std::move(work);
              }
              return 0;
            }),
            0);
  EXPECT_TRUE(std::filesystem::exists(work->output_folder()));
  EXPECT_TRUE(std::filesystem::exists(layout().lease(work->uuid())));
}

TEST_F(CommitTest, WritesAllThatTheMarkerSays) {
  auto committed = testing::commit_entry(*store_, marker_for("a"));
  ASSERT_TRUE(committed) << committed.error().message;
  const Marker& marker = committed->hit.marker;
  const std::vector<Artifact> artifacts = {{"model.onnx", 14, util::sha256_hex("compiled model")},
                                           {"npu.bin", 14, util::sha256_hex("context binary")}};
  EXPECT_EQ(marker.artifacts, artifacts);
  EXPECT_TRUE(util::parse_rfc3339(marker.created));
  EXPECT_EQ(parse_marker(testing::contents(layout().marker(marker.key))).value(), marker);
  EXPECT_EQ(testing::contents(committed->hit.folder / "manifest.1.json"),
            testing::contents(layout().marker(marker.key)));
  EXPECT_EQ(testing::contents(committed->hit.folder / "compile.log"), "said by the compiler\n");
  EXPECT_TRUE(committed->hit.lease.held());
  EXPECT_EQ(testing::entries_in(layout().tmp()), 0U);
  for (const auto& entry : std::filesystem::directory_iterator(committed->hit.folder)) {
    EXPECT_EQ(fs_.lstat(entry.path())->mode & 07777, 0400U) << entry.path();
  }
  EXPECT_EQ(fs_.lstat(committed->hit.folder)->mode & 07777, 0700U);
}

TEST_F(CommitTest, HoldsTheLeaseUntilItIsGivenBack) {
  auto committed = testing::commit_entry(*store_, marker_for("a"));
  ASSERT_TRUE(committed);
  const auto path = layout().lease(committed->hit.marker.generation);
  EXPECT_FALSE(fs::Lock::try_acquire(fs_, path, fs::LockKind::exclusive).value());
  committed->hit.lease.release();
  EXPECT_TRUE(fs::Lock::try_acquire(fs_, path, fs::LockKind::exclusive).value());
}

TEST_F(CommitTest, EndsARememberedFailure) {
  const Marker marker = marker_for("a");
  ASSERT_TRUE(store_->write_failed({.key = marker.key, .kind = "crashed", .time = "2026-11-29T16:38:35Z"}));
  ASSERT_TRUE(store_->read_failed(marker.key).value());
  testing::must_commit(*store_, marker);
  EXPECT_FALSE(store_->read_failed(marker.key).value());
}

TEST_F(CommitTest, EverythingIsSyncedInOrder) {
  std::vector<std::string> steps;
  const auto name_of = [&](const std::filesystem::path& path) {
    const std::string name = path.filename().string();
    return name.starts_with(".precast-") ? std::string("temporary") : name;
  };
  auto work = store_->begin_work();
  testing::put(work->output_folder() / "model.onnx", "m");
  testing::put(work->output_folder() / "a.bin", "b");
  fs_.set_hook([&](std::string_view operation, const std::filesystem::path& path) -> std::optional<Error> {
    const bool of_interest = operation == "sync" || operation == "rename" || operation == "rename_new";
    if (of_interest && path.string().find("/digests/") == std::string::npos) {
      steps.push_back(std::string(operation) + " " + name_of(path));
    }
    return std::nullopt;
  });
  const Marker marker = marker_for("a");
  const auto committed = store_->commit(*std::move(work), marker);
  ASSERT_TRUE(committed);
  const std::vector<std::string> expected = {"sync a.bin",
                                             "sync model.onnx",
                                             "sync out",
                                             "rename manifest.1.json",
                                             "sync manifest.1.json",
                                             "sync out",
                                             "sync root",  // generations/ is new
                                             "rename_new " + committed->hit.marker.generation,
                                             "sync generations",
                                             "sync tmp"};
  ASSERT_GE(steps.size(), expected.size());
  EXPECT_EQ(std::vector<std::string>(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(expected.size())),
            expected);
  const std::vector<std::string> end = {
      "sync root",         "sync keys", "sync " + marker.key.substr(0, 2), "sync temporary", "rename marker.1.json",
      "sync " + marker.key};
  ASSERT_GE(steps.size(), end.size());
  EXPECT_EQ(std::vector<std::string>(steps.end() - static_cast<std::ptrdiff_t>(end.size()), steps.end()), end);
}

TEST_F(CommitTest, WhatIsNotARegularFileIsRefused) {
  const auto attempt = [&](const std::function<void(const std::filesystem::path&)>& make) {
    auto work = store_->begin_work();
    testing::put(work->output_folder() / "model.onnx", "m");
    make(work->output_folder() / "odd");
    const auto committed = store_->commit(*std::move(work), marker_for("a"));
    ASSERT_FALSE(committed);
    EXPECT_EQ(committed.error().code, ErrorCode::corrupt);
    EXPECT_NE(committed.error().message.find("odd"), std::string::npos) << committed.error().message;
  };
  attempt([](const auto& path) { std::filesystem::create_symlink("model.onnx", path); });
  attempt([](const auto& path) { std::filesystem::create_directory(path); });
  attempt([](const auto& path) { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); });
  expect_nothing_left();
  EXPECT_FALSE(store_->look_up(marker_for("a").key)->hit);
}

TEST_F(CommitTest, ANameThatCannotBeStoredIsRefused) {
  for (const char* name : {"caf\xe9.bin", "a\\b.bin"}) {
    auto work = store_->begin_work();
    testing::put(work->output_folder() / "model.onnx", "m");
    testing::put(work->output_folder() / name, "b");
    const auto committed = store_->commit(*std::move(work), marker_for("a"));
    ASSERT_FALSE(committed);
    EXPECT_EQ(committed.error().code, ErrorCode::corrupt);
  }
  expect_nothing_left();
}

TEST_F(CommitTest, WithoutAModelItIsRefused) {
  auto work = store_->begin_work();
  testing::put(work->output_folder() / "npu.bin", "b");
  const auto committed = store_->commit(*std::move(work), marker_for("a"));
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code, ErrorCode::corrupt);
  expect_nothing_left();
}

TEST_F(CommitTest, AMarkerThatCouldNotBeReadAgainIsRefused) {
  Marker marker = marker_for("a");
  marker.identity += ' ';
  auto committed = testing::commit_entry(*store_, marker);
  ASSERT_FALSE(committed);
  EXPECT_EQ(committed.error().code, ErrorCode::internal);
  expect_nothing_left();
}

TEST_F(CommitTest, MarkerFailureAloneKeepsTheGenerationForThisSession) {
  const Marker marker = marker_for("a");
  fs_.set_hook([&](std::string_view operation, const std::filesystem::path& path) -> std::optional<Error> {
    if (operation == "rename" && path == layout().marker(marker.key))
      return Error{ErrorCode::no_space, "full", path, {}};
    return std::nullopt;
  });
  auto committed = testing::commit_entry(*store_, marker);
  ASSERT_TRUE(committed);
  ASSERT_TRUE(committed->marker_error);
  EXPECT_EQ(committed->marker_error->code, ErrorCode::no_space);
  EXPECT_EQ(testing::contents(committed->hit.model), "compiled model");
  EXPECT_FALSE(store_->look_up(marker.key)->hit);
  // Held: it stays. Given back: it is a leftover.
  fs_.set_hook({});
  store_->retain(marker_for("another"), std::chrono::seconds(0));
  EXPECT_TRUE(std::filesystem::exists(committed->hit.model));
  committed->hit.lease.release();
  store_->retain(marker_for("another"), std::chrono::seconds(0));
  EXPECT_FALSE(std::filesystem::exists(committed->hit.folder));
  expect_nothing_left();
}

// Every call of begin_work and commit fails once; whatever happens, the store is whole afterwards.
TEST_F(CommitTest, AnyCallMayFail) {
  testing::must_commit(*store_, marker_for("before"));
  for (int fail_at = 1;; ++fail_at) {
    const std::string name = "entry" + std::to_string(fail_at);
    int calls = 0;
    std::string failed_call;
    fs_.set_hook([&](std::string_view operation, const std::filesystem::path& path) -> std::optional<Error> {
      if (++calls != fail_at) return std::nullopt;
      failed_call = std::string(operation) + " " + path.string();
      return Error{ErrorCode::io, "injected", path, {}};
    });
    {
      const auto committed = testing::commit_entry(*store_, marker_for(name));
      fs_.set_hook({});
      if (committed) {
        EXPECT_EQ(testing::contents(committed->hit.model), "compiled model") << failed_call;
      }
      const auto found = store_->look_up(marker_for(name).key);
      ASSERT_TRUE(found) << failed_call;
      if (committed && !committed->marker_error) {
        EXPECT_TRUE(found->hit) << failed_call << found->miss_reason;
      }
    }
    EXPECT_TRUE(store_->look_up(testing::key_for("before"))->hit) << failed_call;
    store_->retain(marker_for("before"), std::chrono::seconds(0));
    EXPECT_EQ(testing::entries_in(layout().tmp()), 0U) << failed_call;
    EXPECT_EQ(testing::entries_in(layout().leases()), testing::entries_in(layout().generations())) << failed_call;
    if (calls < fail_at) break;
  }
}

TEST_F(CommitTest, APrivateGenerationLivesAsLongAsItsOwner) {
  std::filesystem::path model;
  {
    auto work = store_->begin_work();
    testing::put(work->output_folder() / "model.onnx", "m");
    const auto kept = store_->keep_private(*std::move(work));
    ASSERT_TRUE(kept);
    model = kept->model;
    store_->retain(marker_for("a"), std::chrono::seconds(0));
    EXPECT_EQ(testing::contents(model), "m");
  }
  EXPECT_FALSE(std::filesystem::exists(model));
  expect_nothing_left();
}

TEST_F(CommitTest, AFailedRecordThatIsDamagedIsNone) {
  const std::string key = testing::key_for("a");
  const FailedRecord record{.key = key, .kind = "compile_failed", .reason = "r", .time = "2026-11-29T16:38:35Z"};
  EXPECT_FALSE(store_->read_failed(key).value());
  ASSERT_TRUE(store_->write_failed(record));
  EXPECT_EQ(store_->read_failed(key).value(), record);
  testing::put(layout().failed(key), "{");
  EXPECT_FALSE(store_->read_failed(key).value());
  ASSERT_TRUE(store_->remove_failed(key));
  ASSERT_TRUE(store_->remove_failed(key));
  EXPECT_FALSE(store_->write_failed({.key = "no key"}));
}

TEST_F(CommitTest, AMarkerIsRemovedOnlyWhileItNamesTheGeneration) {
  const Marker old = testing::must_commit(*store_, marker_for("a"));
  const Marker newer = testing::must_commit(*store_, marker_for("a"));
  ASSERT_TRUE(store_->remove_marker(old.key, old.generation));
  EXPECT_TRUE(store_->look_up(old.key)->hit);
  ASSERT_TRUE(store_->remove_marker(newer.key, newer.generation));
  EXPECT_FALSE(store_->look_up(old.key)->hit);
  ASSERT_TRUE(store_->remove_marker(newer.key, newer.generation));
}

}  // namespace
}  // namespace precast::store
