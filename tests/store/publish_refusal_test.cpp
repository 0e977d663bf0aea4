// What is not published, and what is never replaced. Every refusal leaves the folder as it was.
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "store/publish_plan.hpp"
#include "store/publish_support.hpp"
#include "util/sha256.hpp"

namespace precast::store {
namespace {

using testing::content_name;
using testing::context_model;
using testing::Files;
using testing::files_in;

class PublishRefusal : public testing::PublishTest {
 protected:
  void expect_refused_for(const Files& generation_files, ErrorCode code, const std::string& words) {
    expect_refused(publish_to_output(generation(words, generation_files)), {}, code, words);
    EXPECT_EQ(record_text(), "") << words;
  }
  // Also with --overwrite.
  void expect_output_refused(const std::filesystem::path& output, const std::string& words) {
    const Files before = files_in(out_);
    for (const bool overwrite : {false, true}) {
      auto request = this->request(overwrite);
      request.output = output;
      expect_refused(publish(*store_, source_of(hit()), request), before, ErrorCode::bad_input, words);
    }
    EXPECT_EQ(testing::contents(source_), "the source");
  }
  const Hit& hit() { return hits_.empty() ? simple_generation("context") : *hits_.front(); }
};

TEST_F(PublishRefusal, ABinaryThatIsNotInTheGeneration) {
  expect_refused_for({{"model.onnx", context_model({{"model_npu.bin"}, {"missing.bin"}})}, {"model_npu.bin", "x"}},
                     ErrorCode::not_found, "'missing.bin'");
}

TEST_F(PublishRefusal, ABinaryThatVanishedFromTheGeneration) {
  std::filesystem::remove(hit().folder / "model_npu.bin");
  const auto result = publish_to_output(hit());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::not_found);
  EXPECT_EQ(files_in(out_), Files());
}

TEST_F(PublishRefusal, AReferenceThatLeavesTheGeneration) {
  testing::put(folder_ / "x.bin", "outside");
  for (const std::string reference :
       {"../x.bin", "a/../../x.bin", "a/../model_npu.bin", "..", ".", "a\\x.bin", "\xFF"}) {
    const Hit& hit = generation(std::to_string(hits_.size()),
                                {{"model.onnx", context_model({{reference}})}, {"model_npu.bin", "x"}});
    expect_refused(publish_to_output(hit), {}, ErrorCode::corrupt, "unsafe");
  }
  const auto absolute = context_model({{(folder_ / "x.bin").string()}});
  expect_refused_for({{"model.onnx", absolute}}, ErrorCode::corrupt, "unsafe");
}

TEST_F(PublishRefusal, AMainNodeWithoutAReference) {
  expect_refused_for({{"model.onnx", context_model({{""}})}}, ErrorCode::corrupt, "unsafe");
}

TEST_F(PublishRefusal, TwoBinariesForOneAlias) {
  expect_refused_for(
      {{"model.onnx", context_model({{"model_a.bin"}, {"a.bin"}})}, {"model_a.bin", "1"}, {"a.bin", "2"}},
      ErrorCode::unsupported, "'net_npu_a.bin'");
}

TEST_F(PublishRefusal, ABinaryThatWouldTakeTheModelsName) {
  auto request = this->request();
  request.output = out_ / "mine_npu.bin";
  const Hit& one = generation("n", {{"model.onnx", context_model({{"model.bin"}})}, {"model.bin", "x"}});
  expect_refused(publish(*store_, source_of(one), request), {}, ErrorCode::unsupported, "'mine_npu.bin'");
}

TEST_F(PublishRefusal, WhatIsNoModel) {
  const auto result = publish_to_output(generation("no", {{"model.onnx", "no model"}}));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::bad_input);
  EXPECT_EQ(files_in(out_), Files());
}

TEST_F(PublishRefusal, AnOutputThatIsTheSource) {
  expect_output_refused(source_, "made from");
  std::filesystem::create_directory_symlink(folder_.path(), folder_ / "here");
  expect_output_refused(folder_ / "here" / "net.onnx", "made from");
  std::filesystem::create_hard_link(source_, folder_ / "second name.onnx");
  expect_output_refused(folder_ / "second name.onnx", "made from");
  std::filesystem::create_symlink(source_, folder_ / "link.onnx");
  expect_output_refused(folder_ / "link.onnx", "made from");
}

TEST_F(PublishRefusal, ABinaryOrAliasThatIsTheSourcesData) {
  const auto data = out_ / "net_npu_npu.bin";
  testing::put(data, "weights");
  auto request = this->request(true);
  request.inputs.push_back(data);
  expect_refused(publish(*store_, source_of(hit()), request), {{"net_npu_npu.bin", "weights"}}, ErrorCode::bad_input,
                 "made from");
}

TEST_F(PublishRefusal, AnOutputThatIsALinkAFolderOrDangling) {
  testing::put(folder_ / "elsewhere", "somebody's");
  std::filesystem::create_symlink(folder_ / "elsewhere", folder_ / "link.onnx");
  expect_output_refused(folder_ / "link.onnx", "is a link");
  std::filesystem::create_symlink("nowhere", folder_ / "dangling.onnx");
  expect_output_refused(folder_ / "dangling.onnx", "is a link to nothing");
  expect_output_refused(out_, "is a folder");
  expect_output_refused(out_ / "", "names no file");
  expect_output_refused(out_ / "..", "names no file");
  expect_output_refused("", "names no file");
  ASSERT_EQ(mkfifo((folder_ / "pipe.onnx").c_str(), 0600), 0);
  expect_output_refused(folder_ / "pipe.onnx", "is not a regular file");
  EXPECT_EQ(testing::contents(folder_ / "elsewhere"), "somebody's");
}

TEST_F(PublishRefusal, AnAliasThatIsALink) {
  testing::put(folder_ / "elsewhere", "somebody's");
  std::filesystem::create_symlink(folder_ / "elsewhere", out_ / "net_npu_npu.bin");
  expect_output_refused(output_, "is a link");
  EXPECT_EQ(testing::contents(folder_ / "elsewhere"), "somebody's");
}

TEST_F(PublishRefusal, AnOutputInTheStore) {
  expect_output_refused(hit().model, "lies in a cache");
  expect_output_refused(store_->layout().root() / "new" / "net.onnx", "lies in a cache");
  EXPECT_FALSE(std::filesystem::exists(store_->layout().root() / "new"));
  std::filesystem::create_directory_symlink(hit().folder, folder_ / "way in");
  expect_output_refused(folder_ / "way in" / "net.onnx", "lies in a cache");
}

TEST_F(PublishRefusal, AFolderThatIsAFile) {
  auto request = this->request();
  request.output = source_ / "net.onnx";
  EXPECT_FALSE(publish(*store_, source_of(hit()), request));
  EXPECT_EQ(testing::contents(source_), "the source");
}

TEST_F(PublishRefusal, ANameThatNoBinaryCouldHave) {
  expect_output_refused(out_ / "n\xFF.onnx", "cannot be part of the name of a binary");
  expect_output_refused(out_ / "a\\b.onnx", "cannot be part of the name of a binary");
  auto request = this->request();
  request.output = out_ / "n\xFF.onnx";
  const Hit& embedded = generation("e", {{"model.onnx", context_model({{.reference = "i", .embedded = true}})}});
  EXPECT_TRUE(publish(*store_, source_of(embedded), request)) << "without binaries any name does";
}

TEST_F(PublishRefusal, AStoreThatCannotBeWritten) {
  (void)hit();
  fs_.set_volume({.magic = 0xEF53, .read_only = true});
  const auto read_only = testing::open_store(fs_, folder_ / "root");
  expect_refused(publish(*read_only, source_of(hit()), request()), {}, ErrorCode::io, "cannot be written");
}

class PublishOverwrite : public testing::PublishTest {
 protected:
  void expect_in_the_way(const Hit& hit, const std::string& name) {
    expect_refused(publish_to_output(hit), files_in(out_), ErrorCode::bad_input, name + "' exists");
  }
};

TEST_F(PublishOverwrite, SomebodysOutputIsReplacedOnlyWithIt) {
  testing::put(output_, "somebody's");
  const Hit& hit = simple_generation("x");
  expect_in_the_way(hit, "net_npu.onnx");
  EXPECT_TRUE(must_publish(hit, true).written);
  EXPECT_EQ(testing::references_of(output_).front(), content_name("net_npu_npu", "x"));
}

TEST_F(PublishOverwrite, SomebodysAliasIsReplacedOnlyWithIt) {
  testing::put(out_ / "net_npu_npu.bin", "somebody's");
  const Hit& hit = simple_generation("x");
  expect_in_the_way(hit, "net_npu_npu.bin");
  must_publish(hit, true);
  EXPECT_EQ(testing::contents(out_ / "net_npu_npu.bin"), "x");
}

TEST_F(PublishOverwrite, AnotherGenerationsOutputIsReplacedOnlyWithIt) {
  must_publish(simple_generation("old"));
  const Hit& hit = simple_generation("new");
  expect_in_the_way(hit, "net_npu.onnx");
  EXPECT_TRUE(must_publish(hit, true).written);
}

TEST_F(PublishOverwrite, WhatWasEditedSinceIsReplacedOnlyWithIt) {
  const Hit& hit = simple_generation("x");
  must_publish(hit);
  const Files whole = files_in(out_);
  for (const auto& [name, bytes] : whole) {
    std::filesystem::remove(out_ / name);  // the binary and its alias may be one file
    testing::put(out_ / name, "edited");
    expect_in_the_way(hit, name);
    EXPECT_TRUE(must_publish(hit, true).written);
    EXPECT_EQ(files_in(out_), whole) << name;
  }
}

TEST_F(PublishOverwrite, WithoutARecordAnExistingOutputIsSomebodys) {
  const Hit& hit = simple_generation("x");
  must_publish(hit);
  std::filesystem::remove_all(store_->layout().publish());
  expect_in_the_way(hit, "net_npu.onnx");
  must_publish(hit, true);
  EXPECT_FALSE(must_publish(hit).written);
}

TEST_F(PublishOverwrite, ADamagedRecordRemembersNothing) {
  const Hit& hit = simple_generation("x");
  must_publish(hit);
  const auto record = std::filesystem::directory_iterator(store_->layout().publish())->path();
  testing::put(record, "{}");
  expect_in_the_way(hit, "net_npu.onnx");
  must_publish(hit, true);
  EXPECT_TRUE(parse_publish_record(record_text()));
}

TEST_F(PublishOverwrite, ARecordOfAnotherSchemaIsLeftAlone) {
  const Hit& hit = simple_generation("x");
  must_publish(hit);
  const auto record = std::filesystem::directory_iterator(store_->layout().publish())->path();
  auto other = record;
  other.replace_extension().replace_extension(".2.json");
  std::filesystem::rename(record, other);
  const std::string text = testing::contents(other);
  expect_in_the_way(hit, "net_npu.onnx");
  must_publish(hit, true);
  EXPECT_EQ(testing::contents(other), text);
}

TEST_F(PublishOverwrite, ASomebodysFileIsNeverLinked) {
  const auto old = folder_ / "their own second name";
  testing::put(output_, "somebody's");
  std::filesystem::create_hard_link(output_, old);
  std::uint32_t most = 0;
  fs_.set_hook([&](std::string_view, const std::filesystem::path&) -> std::optional<Error> {
    most = std::max(most, fs::FileSystem::posix().stat(old)->link_count);
    return std::nullopt;
  });
  must_publish(simple_generation("x"), true);
  EXPECT_EQ(most, 2U);
  EXPECT_EQ(testing::contents(old), "somebody's");
}

TEST(Alias, IsTheBinarysNameWithThePublicStem) {
  EXPECT_EQ(alias_of("model_qnn.bin", "net"), "net_qnn");
  EXPECT_EQ(alias_of("model.bin", "net"), "net");
  EXPECT_EQ(alias_of("model.engine", "net"), "net.engine");
  EXPECT_EQ(alias_of("shared.bin", "net"), "net_shared");
}

TEST(Alias, LeavesRoomForTheHashAndKeepsWholeCharacters) {
  const std::string longest(182, 'x');
  EXPECT_EQ(alias_of("model_qnn.bin", longest), longest + "_qnn");
  const std::string longer = longest + "x";
  const std::string hash = util::sha256_hex(longer + "_qnn").substr(0, 8);
  EXPECT_EQ(alias_of("model_qnn.bin", longer), std::string(177, 'x') + "-" + hash);
  std::string umlauts;
  while (umlauts.size() < 240) umlauts += "\u00e4";
  const std::string cut = alias_of("model_qnn.bin", umlauts);
  EXPECT_EQ(cut.size(), 185U);
  EXPECT_EQ(cut.substr(0, 176), umlauts.substr(0, 176));
}

class LongNames : public testing::PublishTest {};

TEST_F(LongNames, FitIntoAFolder) {
  output_ = out_ / (std::string(250, 'x') + ".onnx");
  const Hit& hit = simple_generation("x");
  must_publish(hit);
  EXPECT_EQ(files_in(out_).size(), 3U);
  EXPECT_EQ(testing::references_of(output_).front().size(), 255U);
  EXPECT_FALSE(must_publish(hit).written);
}

}  // namespace
}  // namespace precast::store
