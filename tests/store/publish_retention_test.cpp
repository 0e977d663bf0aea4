// What a publication may remove: files of its own older ones, unchanged, that nobody names.
#include <gtest/gtest.h>

#include "store/publish_support.hpp"

namespace precast::store {
namespace {

using testing::content_name;
using testing::context_model;
using testing::Files;
using testing::files_in;

class PublishRetention : public testing::PublishTest {
 protected:
  void publish_number(int number) { must_publish(simple_generation("bytes " + std::to_string(number)), true); }
  void publish_up_to(int last) {
    for (int number = 1; number <= last; ++number) publish_number(number);
  }
  [[nodiscard]] std::filesystem::path binary(int number) const {
    return out_ / content_name("net_npu_npu", "bytes " + std::to_string(number));
  }
  [[nodiscard]] bool there(int number) const { return std::filesystem::exists(binary(number)); }
};

TEST_F(PublishRetention, TheNewestFourAreKept) {
  publish_up_to(4);
  for (int number = 1; number <= 4; ++number) EXPECT_TRUE(there(number)) << number;
  publish_number(5);
  EXPECT_FALSE(there(1));
  for (int number = 2; number <= 5; ++number) EXPECT_TRUE(there(number)) << number;
  EXPECT_EQ(testing::contents(out_ / "net_npu_npu.bin"), "bytes 5");
  EXPECT_EQ(parse_publish_record(record_text())->publications.size(), 4U);
}

TEST_F(PublishRetention, APublicationThatIsMadeAgainCountsOnceAndAsTheNewest) {
  publish_up_to(4);
  publish_number(1);
  publish_number(5);
  EXPECT_TRUE(there(1));
  EXPECT_FALSE(there(2));
}

TEST_F(PublishRetention, WhatAModelOfTheFolderNamesStaysUntilItGoes) {
  publish_up_to(1);
  std::filesystem::copy_file(output_, out_ / "copy.ONNX");
  testing::put(out_ / "other.onnx", context_model({{"./" + binary(2).filename().string()}}));
  for (int number = 2; number <= 8; ++number) publish_number(number);
  EXPECT_TRUE(there(1));
  EXPECT_TRUE(there(2));
  EXPECT_FALSE(there(3));
  std::filesystem::remove(out_ / "copy.ONNX");
  publish_number(9);
  EXPECT_FALSE(there(1));
  EXPECT_TRUE(there(2));
}

TEST_F(PublishRetention, NothingGoesWhileAModelOfTheFolderCannotBeRead) {
  testing::put(out_ / "broken.onnx", "half a model");
  publish_up_to(6);
  EXPECT_TRUE(there(1));
  std::filesystem::remove(out_ / "broken.onnx");
  publish_number(7);
  EXPECT_FALSE(there(1));
  EXPECT_FALSE(there(3));
  EXPECT_TRUE(there(4));
}

TEST_F(PublishRetention, WhatWasChangedStays) {
  publish_up_to(4);
  std::filesystem::remove(binary(1));
  testing::put(binary(1), "by somebody else");
  publish_number(5);
  EXPECT_EQ(testing::contents(binary(1)), "by somebody else");
  EXPECT_EQ(parse_publish_record(record_text())->publications.size(), 4U);
}

TEST_F(PublishRetention, ALinkUnderTheNameStays) {
  publish_up_to(4);
  std::filesystem::rename(binary(1), folder_ / "moved");
  std::filesystem::create_symlink(folder_ / "moved", binary(1));
  publish_number(5);
  EXPECT_TRUE(std::filesystem::is_symlink(binary(1)));
}

TEST_F(PublishRetention, WhatNoRecordListsStays) {
  publish_up_to(1);
  const Files mine = {{content_name("net_npu_npu", "x"), "x"}, {content_name("other_npu", "y"), "y"}};
  for (const auto& [name, bytes] : mine) testing::put(out_ / name, bytes);
  for (int number = 2; number <= 6; ++number) publish_number(number);
  for (const auto& [name, bytes] : mine) EXPECT_EQ(testing::contents(out_ / name), bytes);
}

TEST_F(PublishRetention, WhatAnotherOutputOfTheFolderKeepsStays) {
  const Hit& first = simple_generation("bytes 1");
  auto request = this->request(true);
  request.output = out_ / "net_npu.model";  // the same stem, and no .onnx that is looked into
  ASSERT_TRUE(publish(*store_, source_of(first), request));
  publish_up_to(6);
  EXPECT_TRUE(there(1));
  EXPECT_FALSE(there(2));
}

TEST_F(PublishRetention, NothingGoesWhileSomebodyPublishesIntoTheFolder) {
  publish_up_to(4);
  auto folder = fs_.open(out_, fs::OpenMode::read);
  ASSERT_TRUE(folder && fs_.try_lock(*folder, fs::LockKind::shared).value());
  publish_number(5);
  EXPECT_TRUE(there(1));
  fs_.unlock(*folder);
  publish_number(6);
  EXPECT_FALSE(there(1));
  EXPECT_FALSE(there(2));
}

TEST_F(PublishRetention, AFailureToRemoveIsNoFailureToPublish) {
  publish_up_to(4);
  const auto oldest = binary(1);
  fs_.set_hook([&](std::string_view operation, const std::filesystem::path& path) -> std::optional<Error> {
    if (operation == "unlink" && path == oldest) return Error{ErrorCode::io, "cannot", path, {}};
    return std::nullopt;
  });
  publish_number(5);
  EXPECT_TRUE(there(1));
  fs_.set_hook({});
  publish_number(6);
  EXPECT_FALSE(there(1));
}

TEST_F(PublishRetention, EveryKeptModelStaysLoadable) {
  // What was opened before: each earlier .onnx still finds its binary.
  std::vector<std::string> references;
  for (int number = 1; number <= 4; ++number) {
    publish_number(number);
    references.push_back(testing::references_of(output_).front());
  }
  for (const std::string& reference : references) EXPECT_TRUE(std::filesystem::exists(out_ / reference));
}

}  // namespace
}  // namespace precast::store
