#include <thread>

#include <sys/wait.h>

#include <gtest/gtest.h>
#include <unistd.h>

#include "store/machine.hpp"
#include "store/support.hpp"

namespace precast::store {
namespace {

using namespace std::chrono_literals;
using testing::marker_for;
using testing::TestFileSystem;

fs::Lock::WaitOptions within(std::chrono::milliseconds timeout) {
  fs::Lock::WaitOptions options;
  options.timeout = timeout;
  return options;
}

// Look up, else lock, look up again, else commit: as the layer above does it.
std::string get_or_make(Store& store, const std::string& name, int& made) {
  const Marker marker = marker_for(name);
  auto found = store.look_up(marker.key);
  if (!found) return found.error().message;
  std::optional<fs::Lock> held;
  if (!found->hit) {
    auto lock = store.lock_key(marker.key, within(60s));
    if (!lock) return lock.error().message;
    held = *std::move(lock);
    found = store.look_up(marker.key);
    if (!found) return found.error().message;
  }
  if (found->hit) return testing::contents(found->hit->model);
  auto committed = testing::commit_entry(store, marker, {name + " model", name + " binary"});
  if (!committed) return committed.error().message;
  ++made;
  held.reset();
  store.retain(committed->hit.marker);
  return testing::contents(committed->hit.model);
}

TEST(Concurrency, ThreadsAndProcessesMakeEachEntryOnce) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path root = folder / "root";
  constexpr int kProcesses = 3;
  constexpr int kThreads = 3;
  constexpr int kNames = 4;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    if (child == 0) {
      TestFileSystem fs;
      const auto store = testing::open_store(fs, root);
      std::atomic<int> wrong{store == nullptr ? 100 : 0};
      std::vector<std::jthread> threads;
      std::atomic<int> made_in_all{0};
      for (int t = 0; t < kThreads && store != nullptr; ++t) {
        threads.emplace_back([&, t] {
          int made = 0;
          for (int i = 0; i < kNames * 3; ++i) {
            const std::string name = "n" + std::to_string((i + t) % kNames);
            if (get_or_make(*store, name, made) != name + " model") ++wrong;
          }
          made_in_all += made;
        });
      }
      threads.clear();
      _exit(wrong > 0 ? 100 : made_in_all.load());
    }
    children.push_back(child);
  }
  int made = 0;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < 100) << status;
    made += WEXITSTATUS(status);
  }
  EXPECT_EQ(made, kNames);
  TestFileSystem fs;
  const auto store = testing::open_store(fs, root);
  EXPECT_EQ(testing::entries_in(store->layout().generations()), static_cast<std::size_t>(kNames));
  EXPECT_EQ(testing::entries_in(store->layout().tmp()), 0U);
  EXPECT_TRUE(store->verify({})->empty());
}

TEST(Concurrency, ReadersSeeAWholeGenerationWhileItIsReplaced) {
  const testing::TemporaryFolder folder;
  TestFileSystem fs;
  const auto store = testing::open_store(fs, folder / "root");
  testing::must_commit(*store, marker_for("a"), {"0", "0"});
  std::atomic<bool> done{false};
  std::atomic<int> hits{0};
  {
    std::vector<std::jthread> readers;
    readers.reserve(2);
    for (int r = 0; r < 2; ++r) {
      readers.emplace_back([&] {
        while (!done) {
          const auto found = store->look_up(testing::key_for("a"));
          ASSERT_TRUE(found) << found.error().message;
          if (!found->hit) {
            // Three times in a row the entry was replaced under the look: allowed, and the only reason.
            ASSERT_EQ(found->miss_reason, "its generation is being replaced or deleted");
            continue;
          }
          ++hits;
          ASSERT_EQ(testing::contents(found->hit->model), testing::contents(found->hit->folder / "npu.bin"));
        }
      });
    }
    for (int i = 1; i <= 12; ++i) {
      const auto lock = store->lock_key(testing::key_for("a"), {});
      const Marker marker = testing::must_commit(*store, marker_for("a"), {std::to_string(i), std::to_string(i)});
      store->retain(marker);
    }
    done = true;
  }
  EXPECT_GT(hits.load(), 0);
  EXPECT_EQ(testing::contents(store->look_up(testing::key_for("a"))->hit->model), "12");
}

TEST(Concurrency, DifferentKeysDoNotWaitForEachOther) {
  const testing::TemporaryFolder folder;
  TestFileSystem fs;
  const auto store = testing::open_store(fs, folder / "root");
  const auto first = store->lock_key(testing::key_for("a"), {});
  EXPECT_TRUE(store->lock_key(testing::key_for("b"), within(0ms)));
  const auto same = store->lock_key(testing::key_for("a"), within(0ms));
  ASSERT_FALSE(same);
  EXPECT_EQ(same.error().code, ErrorCode::busy);
  EXPECT_EQ(store->lock_key("not a key", {}).error().code, ErrorCode::bad_input);
}

TEST(Concurrency, CompileSlotsAreBounded) {
  const testing::TemporaryFolder folder;
  TestFileSystem fs;
  const auto store = testing::open_store(fs, folder / "root");
  std::vector<fs::Lock> held;
  for (std::uint32_t i = 0; i < compile_slots(); ++i) {
    auto slot = store->acquire_compile_slot(within(0ms));
    ASSERT_TRUE(slot) << i;
    held.push_back(*std::move(slot));
  }
  EXPECT_EQ(store->acquire_compile_slot(within(0ms)).error().code, ErrorCode::busy);
  util::CancelToken cancel;
  cancel.cancel();
  fs::Lock::WaitOptions cancelled;
  cancelled.cancel = &cancel;
  EXPECT_EQ(store->acquire_compile_slot(cancelled).error().code, ErrorCode::cancelled);
  std::jthread later([&] { held.back().release(); });
  EXPECT_TRUE(store->acquire_compile_slot(within(60s)));
}

}  // namespace
}  // namespace precast::store
