// What is published, under which names, in which order. Refusals, faults and retention have files of their own.
#include <thread>

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/publish_support.hpp"
#include "util/sha256.hpp"

namespace precast::store {
namespace {

using testing::content_name;
using testing::context_model;
using ::testing::ElementsAre;
using testing::Files;
using testing::files_in;
using ::testing::IsEmpty;
using testing::references_of;
using ::testing::UnorderedElementsAre;

class Publish : public testing::PublishTest {};

std::vector<std::string> names_of(const Files& files) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : files) names.push_back(name);
  return names;
}

TEST_F(Publish, TheModelItsBinaryAndItsAlias) {
  const Published published = must_publish(simple_generation("context"));
  const std::string binary = content_name("net_npu_npu", "context");
  EXPECT_TRUE(published.written);
  EXPECT_EQ(published.model, output_);
  EXPECT_THAT(published.files, UnorderedElementsAre(out_ / binary, out_ / "net_npu_npu.bin"));
  const Files there = files_in(out_);
  EXPECT_THAT(names_of(there), UnorderedElementsAre("net_npu.onnx", binary, "net_npu_npu.bin"));
  EXPECT_EQ(there.at(binary), "context");
  EXPECT_EQ(there.at("net_npu_npu.bin"), "context");
  EXPECT_EQ(there.at("net_npu.onnx"), context_model({{binary}}));
}

TEST_F(Publish, TheGenerationStaysAsItIsAndIsNeverLinked) {
  const Hit& hit = simple_generation("context");
  const auto before = files_in(hit.folder);
  const auto stat = fs_.stat(hit.folder / "model_npu.bin").value();
  must_publish(hit);
  EXPECT_EQ(files_in(hit.folder), before);
  EXPECT_EQ(fs_.stat(hit.folder / "model_npu.bin").value(), stat);
  EXPECT_EQ(stat.link_count, 1U);
  EXPECT_NE(fs_.stat(out_ / "net_npu_npu.bin")->inode, stat.inode);
  const auto found = store_->look_up(hit.marker.key);
  EXPECT_TRUE(found && found->hit);
}

TEST_F(Publish, NeverFromASiblingOfTheGeneration) {
  const Hit& hit = simple_generation("context");
  testing::put(hit.folder / "model_npu_old.bin", "stale");
  testing::put(folder_ / "net_npu_npu.bin", "stale");
  must_publish(hit);
  EXPECT_EQ(files_in(out_).size(), 3U);
  EXPECT_EQ(testing::contents(out_ / "net_npu_npu.bin"), "context");
}

TEST_F(Publish, EmbeddedModelsHaveNoBinariesAndAreNotChanged) {
  const std::string model = context_model({{.reference = "inline bytes", .embedded = true}});
  EXPECT_THAT(must_publish(generation("e", {{"model.onnx", model}})).files, IsEmpty());
  EXPECT_EQ(files_in(out_), (Files{{"net_npu.onnx", model}}));
}

TEST_F(Publish, TwoReferencesGiveTwoBinariesAndTwoAliases) {
  const auto model =
      context_model({{"model_a.bin"}, {"model_b.bin"}, {"./model_a.bin"}, {.reference = "", .main = false}});
  must_publish(generation("two", {{"model.onnx", model}, {"model_a.bin", "A"}, {"model_b.bin", "B"}}));
  const std::string a = content_name("net_npu_a", "A");
  const std::string b = content_name("net_npu_b", "B");
  EXPECT_THAT(names_of(files_in(out_)), UnorderedElementsAre("net_npu.onnx", a, b, "net_npu_a.bin", "net_npu_b.bin"));
  EXPECT_THAT(references_of(output_), ElementsAre(a, b, a, ""));
}

TEST_F(Publish, ASecondOneLeavesTheEarlierBinaryAndMovesTheAlias) {
  must_publish(simple_generation("old"));
  EXPECT_TRUE(must_publish(simple_generation("new"), true).written);
  const Files there = files_in(out_);
  EXPECT_EQ(there.size(), 4U);
  EXPECT_EQ(there.at(content_name("net_npu_npu", "old")), "old");
  EXPECT_EQ(there.at(content_name("net_npu_npu", "new")), "new");
  EXPECT_EQ(there.at("net_npu_npu.bin"), "new");
  EXPECT_THAT(references_of(output_), ElementsAre(content_name("net_npu_npu", "new")));
}

TEST_F(Publish, AUserGivenNameDecidesTheNamesOfGraphAndAlias) {
  auto request = this->request();
  request.output = out_ / "mine.model";
  ASSERT_TRUE(publish(*store_, source_of(simple_generation("x")), request));
  EXPECT_THAT(names_of(files_in(out_)),
              UnorderedElementsAre("mine.model", content_name("mine_npu", "x"), "mine_npu.bin"));
}

TEST_F(Publish, TheSchematicOfTheOneMainPartitionIsCopiedAlong) {
  const auto model = context_model({{"model_npu.bin", "part"}, {.reference = "", .partition = "other", .main = false}});
  must_publish(generation("s", {{"model.onnx", model},
                                {"model_npu.bin", "x"},
                                {"part_schematic.bin", "drawing"},
                                {"other_schematic.bin", "not this"}}));
  EXPECT_EQ(files_in(out_).size(), 4U);
  EXPECT_EQ(testing::contents(out_ / "part_schematic.bin"), "drawing");
}

TEST_F(Publish, OfSeveralMainPartitionsNoSchematicIsCopied) {
  const auto model = context_model({{"model_npu.bin", "part"}, {"model_npu.bin", "other"}});
  must_publish(generation("s", {{"model.onnx", model}, {"model_npu.bin", "x"}, {"part_schematic.bin", "drawing"}}));
  EXPECT_FALSE(std::filesystem::exists(out_ / "part_schematic.bin"));
}

TEST_F(Publish, APathLikePartitionNameIsIgnored) {
  const std::vector<std::string> partitions = {"../part", "/part", "a/part", "a\\part", std::string("p\0t", 3), "\xFF"};
  for (const std::string& partition : partitions) {
    testing::put(folder_ / "part_schematic.bin", "outside");
    const auto model = context_model({{"model_npu.bin", partition}});
    must_publish(generation(std::to_string(hits_.size()),
                            {{"model.onnx", model}, {"model_npu.bin", "x"}, {"part_schematic.bin", "d"}}),
                 true);
    EXPECT_EQ(files_in(out_).size(), 3U) << partition;
  }
}

TEST_F(Publish, TheAliasIsASecondNameOrACopy) {
  const auto binary = out_ / content_name("net_npu_npu", "x");
  must_publish(simple_generation("x"));
  EXPECT_EQ(fs_.stat(out_ / "net_npu_npu.bin")->inode, fs_.stat(binary)->inode);
  std::filesystem::remove(out_ / "net_npu_npu.bin");
  fs_.set_hook([](std::string_view operation, const std::filesystem::path& path) -> std::optional<Error> {
    if (operation == "link") return Error{ErrorCode::io, "no second names here", path, {}};
    return std::nullopt;
  });
  must_publish(*hits_.front());
  EXPECT_NE(fs_.stat(out_ / "net_npu_npu.bin")->inode, fs_.stat(binary)->inode);
  EXPECT_EQ(fs_.stat(out_ / "net_npu_npu.bin")->mode, fs_.stat(binary)->mode);
  EXPECT_EQ(testing::contents(out_ / "net_npu_npu.bin"), "x");
}

TEST_F(Publish, MissingFoldersAreMade) {
  auto request = this->request();
  request.output = out_ / "a" / "b" / "net.onnx";
  ASSERT_TRUE(publish(*store_, source_of(simple_generation("x")), request));
  EXPECT_EQ(files_in(out_ / "a" / "b").size(), 3U);
}

TEST_F(Publish, FilesHaveThePermissionsOfTheSource) {
  ASSERT_EQ(::chmod(source_.c_str(), 0755), 0);
  must_publish(simple_generation("x"));
  for (const auto& [name, bytes] : files_in(out_)) EXPECT_EQ(fs_.stat(out_ / name)->mode, 0644U) << name;
}

TEST_F(Publish, AgainWritesNothing) {
  const Hit& hit = simple_generation("x");
  must_publish(hit);
  const auto before = fs_.stat(output_).value();
  for (const bool overwrite : {false, true}) {
    EXPECT_FALSE(must_publish(hit, overwrite).written);
    EXPECT_EQ(fs_.stat(output_).value(), before);
  }
  EXPECT_FALSE(record_text().empty());
}

TEST_F(Publish, AgainReadsNoBinaryThatTheMemoKnows) {
  const Hit& hit = simple_generation("x");
  must_publish(hit);
  clock_.advance(std::chrono::seconds(5));
  const auto store = testing::open_store(fs_, folder_ / "root", &clock_);
  ASSERT_TRUE(publish(*store, source_of(hit), request()));
  const auto binary = out_ / content_name("net_npu_npu", "x");
  const auto read = fs_.bytes_read(binary);
  ASSERT_TRUE(publish(*store, source_of(hit), request()));
  EXPECT_EQ(fs_.bytes_read(binary), read);
}

TEST_F(Publish, WhatIsMissingIsMadeAgain) {
  const Hit& hit = simple_generation("x");
  must_publish(hit);
  const Files whole = files_in(out_);
  for (const auto& [name, bytes] : whole) {
    std::filesystem::remove(out_ / name);
    EXPECT_TRUE(must_publish(hit).written) << name;
    EXPECT_EQ(files_in(out_), whole) << name;
  }
}

TEST_F(Publish, BytesThatAreNotTheStoredOnesAreNotPublished) {
  for (const std::string name : {"model_npu.bin", "model.onnx"}) {
    const Hit& hit = simple_generation("bytes of " + name);
    if (name == "model.onnx") {
      ASSERT_EQ(::chmod((hit.folder / name).c_str(), 0600), 0);
      testing::put(hit.folder / name, context_model({{"model_npu.bin"}}, "another"));
    } else {
      testing::change_quietly(hit.folder / name);
    }
    expect_refused(publish_to_output(hit), {}, ErrorCode::corrupt, name);
    EXPECT_EQ(record_text(), "");
  }
}

TEST_F(Publish, BytesOfAnEmbeddedModelAreCheckedToo) {
  const Hit& hit = generation("e", {{"model.onnx", context_model({{.reference = "inline", .embedded = true}})}});
  ASSERT_EQ(::chmod(hit.model.c_str(), 0600), 0);
  testing::put(hit.model, context_model({{.reference = "Inline", .embedded = true}}));
  expect_refused(publish_to_output(hit), {}, ErrorCode::corrupt, "model.onnx");
}

// "Files, then folder, fsynced; binaries first, ONNX last."
TEST_F(Publish, TheModelComesAfterItsBinariesAreOnTheDisk) {
  const Hit& hit = simple_generation("x");
  std::vector<std::string> acts;
  fs_.set_hook([&](std::string_view operation, const std::filesystem::path& path) -> std::optional<Error> {
    const bool here = path == out_ || path.parent_path() == out_;
    if (here && (operation == "sync" || operation == "rename")) {
      const std::string name = path == out_ ? "the folder" : path.filename().string();
      acts.push_back(std::string(operation) + " " + (fs::is_temporary(name) ? "a file" : name));
    }
    return std::nullopt;
  });
  must_publish(hit);
  EXPECT_THAT(acts, ElementsAre("sync a file", "sync a file", "rename " + content_name("net_npu_npu", "x"),
                                "sync the folder", "rename net_npu_npu.bin", "rename net_npu.onnx", "sync the folder"));
}

TEST_F(Publish, TemporaryFilesOfTheKilledAreSweptAndThoseOfTheLivingLeft) {
  const auto left = fs::new_temporary(out_);
  const auto living = fs::new_temporary(out_);
  testing::put(left, "left");
  testing::put(living, "living");
  testing::put(out_ / ".precast-mine.tmp", "somebody's");
  auto file = fs_.open(living, fs::OpenMode::lock_existing);
  ASSERT_TRUE(file && fs_.try_lock(*file, fs::LockKind::exclusive).value());
  ASSERT_TRUE(publish_to_output(simple_generation("x")));
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(living));
  EXPECT_TRUE(std::filesystem::exists(out_ / ".precast-mine.tmp"));
}

TEST_F(Publish, NothingIsSweptWhileSomebodyPublishesIntoTheFolder) {
  const auto in_work = fs::new_temporary(out_);
  testing::put(in_work, "of another publication, not locked yet");
  auto folder = fs_.open(out_, fs::OpenMode::read);
  ASSERT_TRUE(folder && fs_.try_lock(*folder, fs::LockKind::shared).value());
  ASSERT_TRUE(publish_to_output(simple_generation("x")));
  EXPECT_TRUE(std::filesystem::exists(in_work));
}

TEST_F(Publish, WaitsForWhoeverPublishesTheSameOutput) {
  must_publish(simple_generation("x"));
  const Files locks = files_in(store_->layout().locks());
  ASSERT_EQ(locks.size(), 1U);
  const auto held =
      fs::Lock::try_acquire(fs_, store_->layout().locks() / locks.begin()->first, fs::LockKind::exclusive);
  ASSERT_TRUE(held && *held);
  auto request = this->request(true);
  request.wait.timeout = std::chrono::milliseconds(1);
  const Hit& hit = simple_generation("y");
  expect_refused(publish(*store_, source_of(hit), request), files_in(out_), ErrorCode::busy, "is locked by");
  request.output = out_ / "other.onnx";
  EXPECT_TRUE(publish(*store_, source_of(hit), request)) << "another output waits for nobody";
}

TEST_F(Publish, TheSameOutputHasOneLockHoweverItIsReached) {
  must_publish(simple_generation("x"));
  std::filesystem::create_symlink(out_, folder_ / "link");
  auto request = this->request();
  request.output = folder_ / "link" / ".." / "out" / "net_npu.onnx";
  const auto again = publish(*store_, source_of(*hits_.front()), request);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(again->written);
  EXPECT_EQ(files_in(store_->layout().locks()).size(), 1U);
  EXPECT_FALSE(record_text().empty());
}

TEST_F(Publish, ManyAtOnceLeaveOneWhole) {
  std::vector<const Hit*> hits;
  for (const char* bytes : {"a", "b", "c"}) hits.push_back(&simple_generation(bytes));
  std::vector<std::thread> threads;
  threads.reserve(6);
  std::atomic<int> failures = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 5; ++round) {
        if (!publish_to_output(*hits[(i + static_cast<std::size_t>(round)) % hits.size()], true)) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  const Files there = files_in(out_);
  EXPECT_EQ(there.size(), 5U);
  EXPECT_EQ(references_of(output_).front(), content_name("net_npu_npu", there.at("net_npu_npu.bin")));
  EXPECT_EQ(testing::temporaries_in(out_), 0U);
}

TEST_F(Publish, StopsWhenItIsAskedTo) {
  util::CancelToken cancel;
  cancel.cancel();
  auto request = this->request();
  request.wait.cancel = &cancel;
  const auto result = publish(*store_, source_of(simple_generation("x")), request);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::cancelled);
  EXPECT_EQ(files_in(out_), Files());
}

TEST(OutputPath, AFileWinsThenAFolderThenTheModelsOwn) {
  EXPECT_EQ(output_path({.file = "x.onnx", .folder = "/out"}, "/m/net.onnx", "qnn"), "x.onnx");
  EXPECT_EQ(output_path({.folder = "/out"}, "/m/net.onnx", "qnn"), "/out/net_qnn_ctx.onnx");
  EXPECT_EQ(output_path({}, "/m/net.v1.onnx", "openvino"), "/m/net.v1_openvino_ctx.onnx");
}

TEST(OutputPath, IsNoLongerThanAFileNameMayBe) {
  const std::string stem(251, 'x');
  const std::string name = output_path({}, "/m/" + stem + ".onnx", "qnn").filename();
  EXPECT_EQ(name.size(), 255U);
  EXPECT_TRUE(name.ends_with("-" + util::sha256_hex(stem).substr(0, 8) + "_qnn_ctx.onnx")) << name;
}

}  // namespace
}  // namespace precast::store
