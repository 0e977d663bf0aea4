// Each call of the file system fails once, or is the last one of a killed process: the old output and its record stay
// usable, or the new ones are, and nothing but temporary files is left over.
#include <algorithm>

#include <gtest/gtest.h>
#include <unistd.h>

#include "store/publish_support.hpp"
#include "util/sha256.hpp"

namespace precast::store {
namespace {

using testing::Files;
using testing::files_in;
using testing::TestFileSystem;

constexpr int kKilled = 99;

class PublishFault : public testing::PublishTest {
 protected:
  // Whatever the model names is there, with the bytes of its name.
  void expect_whole(const std::string& where) {
    const Files there = files_in(out_);
    if (!there.contains(output_.filename())) return;
    for (const std::string& reference : testing::references_of(output_)) {
      ASSERT_TRUE(there.contains(reference)) << where << ": " << reference;
      EXPECT_NE(reference.find("." + util::sha256_hex(there.at(reference)) + "."), std::string::npos) << where;
    }
  }
  // Publishing `hit` with the `call`-th call failing; false once there are fewer calls.
  bool fails_at(int call, const Hit& hit, ErrorCode code, Result<Published>& result, bool overwrite = true) {
    int calls = 0;
    fs_.set_hook([&](std::string_view operation, const std::filesystem::path& path) -> std::optional<Error> {
      if (++calls != call) return std::nullopt;
      return Error{code, "injected into " + std::string(operation), path, {}};
    });
    result = publish_to_output(hit, overwrite);
    fs_.set_hook({});
    return calls >= call;
  }
};

TEST_F(PublishFault, TheFirstPublicationIsThereOrNothingIs) {
  const Hit& hit = simple_generation("new");
  must_publish(hit);
  const Files whole = files_in(out_);
  int failures = 0;
  for (const ErrorCode code : {ErrorCode::io, ErrorCode::no_space}) {
    for (int call = 1;; ++call) {
      for (const auto& [name, bytes] : files_in(out_)) std::filesystem::remove(out_ / name);
      std::filesystem::remove_all(store_->layout().publish());
      const std::string where = "call " + std::to_string(call);
      Result<Published> result;
      if (!fails_at(call, hit, code, result)) break;
      EXPECT_EQ(files_in(out_), result ? whole : Files()) << where << (result ? "" : result.error().message);
      EXPECT_EQ(record_text().empty(), !result) << where;
      failures += result ? 0 : 1;
      must_publish(hit);
    }
  }
  EXPECT_GT(failures, 40);
}

TEST_F(PublishFault, TheOldOneStaysWholeAndRecorded) {
  const Hit& old = simple_generation("old");
  const Hit& fresh = simple_generation("new");
  must_publish(old);
  int failures = 0;
  for (int call = 1;; ++call) {
    const std::string where = "call " + std::to_string(call);
    const Files before = files_in(out_);
    const std::string record = record_text();
    Result<Published> result;
    if (!fails_at(call, fresh, ErrorCode::io, result)) break;
    expect_whole(where);
    if (!result) {
      ++failures;
      EXPECT_EQ(files_in(out_), before) << where << result.error().message;
      EXPECT_EQ(record_text(), record) << where;
      EXPECT_FALSE(must_publish(old).written) << where << ": the old output is not known any more";
    } else {
      EXPECT_EQ(testing::contents(out_ / "net_npu_npu.bin"), "new") << where;
      EXPECT_FALSE(must_publish(fresh).written) << where;
    }
    // As at the beginning: the old one, and nothing of the new one.
    for (const auto& [name, bytes] : files_in(out_)) std::filesystem::remove(out_ / name);
    std::filesystem::remove_all(store_->layout().publish());
    must_publish(old);
  }
  EXPECT_GT(failures, 40);
}

TEST_F(PublishFault, SomebodysFilesComeBack) {
  const Hit& hit = simple_generation("new");
  const Files theirs = {{"net_npu.onnx", "their model"}, {"net_npu_npu.bin", "their binary"}};
  for (int call = 1;; ++call) {
    for (const auto& [name, bytes] : files_in(out_)) std::filesystem::remove(out_ / name);
    std::filesystem::remove_all(store_->layout().publish());
    for (const auto& [name, bytes] : theirs) {
      testing::put(out_ / name, bytes);
      ASSERT_TRUE(fs_.change_mode(out_ / name, 0640));
    }
    Result<Published> result;
    if (!fails_at(call, hit, ErrorCode::no_space, result)) break;
    if (result) continue;
    EXPECT_EQ(files_in(out_), theirs) << call << result.error().message;
    for (const auto& [name, bytes] : theirs) EXPECT_EQ(fs_.stat(out_ / name)->mode, 0640U) << call;
  }
}

TEST_F(PublishFault, NothingOfSomebodysIsReplacedUnasked) {
  const Hit& hit = simple_generation("new");
  const Files theirs = {{"net_npu.onnx", "their model"}, {"net_npu_npu.bin", "their binary"}};
  for (const auto& [name, bytes] : theirs) testing::put(out_ / name, bytes);
  for (int call = 1;; ++call) {
    Result<Published> result;
    const bool failed = fails_at(call, hit, ErrorCode::io, result, false);
    EXPECT_FALSE(result) << call;
    EXPECT_EQ(files_in(out_), theirs) << call;
    if (!failed) break;
  }
}

TEST_F(PublishFault, WhoeverIsKilledLeavesTheOldOrTheNewAndTheRecordKnowsTheRest) {
  const Hit& old = simple_generation("old");
  const Hit& fresh = simple_generation("new");
  bool died = true;
  for (int call = 1; died; ++call) {
    const std::string where = "killed at call " + std::to_string(call);
    must_publish(old, true);
    const int code = testing::in_child([&] {
      TestFileSystem fs;
      const auto store = testing::open_store(fs, folder_ / "root");
      if (store == nullptr) return 1;
      int calls = 0;
      fs.set_hook([&](std::string_view, const std::filesystem::path&) -> std::optional<Error> {
        if (++calls == call) _exit(kKilled);
        return std::nullopt;
      });
      return publish(*store, source_of(fresh), request(true)) ? 0 : 1;
    });
    ASSERT_TRUE(code == 0 || code == kKilled) << where << code;
    died = code == kKilled;
    expect_whole(where);
    const auto record = parse_publish_record(record_text());
    ASSERT_TRUE(record) << where;
    for (const auto& [name, bytes] : files_in(out_)) {
      if (name == output_.filename()) continue;
      const bool listed = std::ranges::any_of(record->publications, [&](const Publication& publication) {
        return std::ranges::find(publication.files, name, &Artifact::path) != publication.files.end();
      });
      EXPECT_TRUE(listed) << where << ": " << name;
    }
    must_publish(fresh, true);  // and nothing temporary is left
    EXPECT_EQ(testing::contents(out_ / "net_npu_npu.bin"), "new") << where;
    for (const auto& [name, bytes] : files_in(out_)) std::filesystem::remove(out_ / name);
  }
}

}  // namespace
}  // namespace precast::store
