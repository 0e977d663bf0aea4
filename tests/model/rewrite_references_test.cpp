// New names for the binaries of an EPContext model: nothing else changes, wherever the references stand.
#include "model/rewrite_references.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fs/counting_file_system.hpp"
#include "model/model_facts.hpp"
#include "model_builder.hpp"
#include "util/sha256.hpp"

namespace precast::model {
namespace {

using testing::AllOf;
using testing::HasSubstr;

onnx::NodeProto& add_context(onnx::GraphProto& graph, const std::string& reference) {
  auto& node = *graph.add_node();
  node.set_op_type("EPContext");
  node.set_domain("com.microsoft");
  auto& embed = add_attribute(node, "embed_mode");
  embed.set_type(onnx::AttributeProto::INT);
  embed.set_i(0);
  auto& context = add_attribute(node, "ep_cache_context");
  context.set_type(onnx::AttributeProto::STRING);
  context.set_s(reference);
  return node;
}

void make_secondary(onnx::NodeProto& node) {
  add_attribute(node, "main_context").set_i(0);
}

class RewriteReferences : public ::testing::Test {
 protected:
  Result<Rewritten> rewrite(const std::string& bytes, const ReferenceNames& names, fs::FileSystem& fs) {
    const auto from = folder_.write("from.onnx", bytes);
    std::filesystem::remove(folder_ / "to.onnx");
    auto to = fs.open(folder_ / "to.onnx", fs::OpenMode::create_new);
    if (!to) return std::unexpected(to.error());
    return rewrite_references(fs, from, names, *to);
  }
  Result<Rewritten> rewrite(const std::string& bytes, const ReferenceNames& names) {
    return rewrite(bytes, names, fs::FileSystem::posix());
  }
  [[nodiscard]] std::string written() const {
    std::ifstream file(folder_ / "to.onnx", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // As the generated classes would write the model with its new names.
  void expect_becomes(const onnx::ModelProto& model, const ReferenceNames& names, const onnx::ModelProto& expected) {
    const std::string bytes = model.SerializeAsString();
    const auto rewritten = rewrite(bytes, names);
    ASSERT_TRUE(rewritten) << rewritten.error().message;
    EXPECT_EQ(written(), expected.SerializeAsString());
    EXPECT_EQ(rewritten->source_sha256, util::sha256_hex(bytes));
    EXPECT_EQ(rewritten->sha256, util::sha256_hex(written()));
    EXPECT_EQ(rewritten->size, written().size());
  }
  void expect_refused(const std::string& bytes, const ReferenceNames& names, const std::string& words) {
    const auto rewritten = rewrite(bytes, names);
    ASSERT_FALSE(rewritten) << words;
    EXPECT_EQ(rewritten.error().code, ErrorCode::bad_input);
    EXPECT_THAT(rewritten.error().message, AllOf(HasSubstr("from.onnx"), HasSubstr(words)));
  }

  TemporaryFolder folder_;
};

// One reference in each place where a node can stand, and everything around it that must stay.
onnx::ModelProto model_with(const std::vector<std::string>& names) {
  auto model = empty_model();
  model.set_producer_name("somebody");
  auto& graph = *model.mutable_graph();
  add_context(graph, names.at(0)).set_name("main");
  auto& weight = *graph.add_initializer();
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  weight.add_dims(64);
  weight.set_raw_data(std::string(256, '\x7F'));
  auto& branch = *graph.add_node();
  branch.set_op_type("If");
  auto& then_branch = *add_attribute(branch, "then_branch").mutable_g();
  auto& loop = *then_branch.add_node();
  loop.set_op_type("Loop");
  add_context(*add_attribute(loop, "body").mutable_g(), names.at(1));
  add_context(*add_attribute(branch, "branches").add_graphs(), names.at(2));
  auto& function = *model.add_functions();
  function.set_name("f");
  onnx::GraphProto of_the_function;
  add_context(of_the_function, names.at(3));
  *function.add_node() = of_the_function.node(0);
  auto& preset = *function.add_attribute_proto();
  preset.set_name("ep_cache_context");  // only named like one of a node
  preset.set_s("untouched");
  add_context(*preset.mutable_g(), names.at(4));
  auto& metadata = *model.add_metadata_props();
  metadata.set_key("k");
  metadata.set_value(names.size() > 5 ? names.at(5) : "a.bin");
  return model;
}

TEST_F(RewriteReferences, ChangesEveryReferenceAndNothingElse) {
  const auto before = model_with({"a.bin", "b.bin", "c.bin", "d.bin", "e.bin"});
  const std::string long_name = "public." + std::string(64, '0') + ".bin";
  expect_becomes(before,
                 {{"a.bin", long_name}, {"b.bin", "2"}, {"c.bin", "3.bin"}, {"d.bin", "4.bin.bin"}, {"e.bin", "5"}},
                 model_with({long_name, "2", "3.bin", "4.bin.bin", "5"}));
}

TEST_F(RewriteReferences, WithTheSameNamesIsTheSameFile) {
  const std::vector<std::string> names = {"a.bin", "b.bin", "c.bin", "d.bin", "e.bin"};
  ReferenceNames same;
  for (const std::string& name : names) same[name] = name;
  expect_becomes(model_with(names), same, model_with(names));
}

TEST_F(RewriteReferences, LengthsMayTakeMoreOrFewerBytes) {
  // Over and under the 128 and 16384 at which a length takes a byte more, at every level around the reference.
  for (const std::size_t from : {1U, 40U, 90U, 120U, 128U, 16'300U, 16'384U}) {
    for (const std::size_t to : {1U, 60U, 100U, 127U, 129U, 16'350U, 16'500U}) {
      auto before = empty_model();
      add_context(*before.mutable_graph(), std::string(from, 'a'));
      auto after = empty_model();
      add_context(*after.mutable_graph(), std::string(to, 'b'));
      expect_becomes(before, {{std::string(from, 'a'), std::string(to, 'b')}}, after);
    }
  }
}

TEST_F(RewriteReferences, SeveralNodesMayNameOneFile) {
  auto before = empty_model();
  auto after = empty_model();
  for (int i = 0; i < 3; ++i) {
    add_context(*before.mutable_graph(), "a.bin");
    add_context(*after.mutable_graph(), "b.bin");
  }
  expect_becomes(before, {{"a.bin", "b.bin"}}, after);
}

TEST_F(RewriteReferences, LeavesEmbeddedContextsAsTheyAre) {
  auto model = empty_model();
  auto& node = add_context(*model.mutable_graph(), "a.bin");
  node.mutable_attribute(0)->set_i(1);
  expect_becomes(model, {{"a.bin", "b.bin"}}, model);
  node.mutable_attribute()->DeleteSubrange(0, 1);  // embedded is the operator's default
  expect_becomes(model, {}, model);
}

TEST_F(RewriteReferences, LeavesOtherNodesWithSuchAnAttributeAsTheyAre) {
  auto model = empty_model();
  add_context(*model.mutable_graph(), "a.bin").set_domain("com.example");
  add_context(*model.mutable_graph(), "a.bin").set_op_type("EpContext");
  expect_becomes(model, {{"a.bin", "b.bin"}}, model);
}

TEST_F(RewriteReferences, AcceptsASecondaryNodeWithoutAReference) {
  auto model = empty_model();
  make_secondary(add_context(*model.mutable_graph(), ""));
  expect_becomes(model, {}, model);
}

TEST_F(RewriteReferences, RenamesTheReferenceOfASecondaryNode) {
  auto before = empty_model();
  make_secondary(add_context(*before.mutable_graph(), "a.bin"));
  auto after = empty_model();
  make_secondary(add_context(*after.mutable_graph(), "b.bin"));
  expect_becomes(before, {{"a.bin", "b.bin"}}, after);
}

TEST_F(RewriteReferences, DoesNotDependOnTheOrderOfFields) {
  // s before name, attributes before op_type and domain, a length with more bytes than it needs, an unknown field.
  const std::string attribute = std::string("\x22\x85\x00", 3) + "a.bin" + "\x0A\x10" + "ep_cache_context";
  const std::string embed = std::string("\x0A\x0A") + "embed_mode" + std::string("\x18\x00", 2);
  const auto field = [](char tag, const std::string& payload) {
    return std::string{tag, static_cast<char>(payload.size())} + payload;
  };
  const auto model = [&](const std::string& context) {
    const std::string node = field('\x2A', context) + field('\x2A', embed) + field('\x3A', "com.microsoft") +
                             std::string("\xFA\x7F\x03xyz", 6) + field('\x22', "EPContext");
    return std::string("\x08\x08", 2) + field('\x3A', field('\x0A', node)) + std::string("\x42\x02\x10\x11", 4);
  };
  ASSERT_TRUE(rewrite(model(attribute), {{"a.bin", "a.bin"}}));
  EXPECT_EQ(written(), model(attribute));
  ASSERT_TRUE(rewrite(model(attribute), {{"a.bin", "a.bin.2"}}));
  EXPECT_EQ(written(), model(std::string("\x22\x07") + "a.bin.2" + "\x0A\x10" + "ep_cache_context"));
}

TEST_F(RewriteReferences, RefusesAReferenceThatHasNoNewName) {
  auto model = empty_model();
  add_context(*model.mutable_graph(), "a.bin");
  expect_refused(model.SerializeAsString(), {{"b.bin", "c.bin"}}, "'a.bin'");
}

TEST_F(RewriteReferences, RefusesAMainNodeWithoutAReference) {
  auto model = empty_model();
  add_context(*model.mutable_graph(), "");
  expect_refused(model.SerializeAsString(), {{"", "x.bin"}}, "names no file");
}

TEST_F(RewriteReferences, RefusesANodeThatNamesAFileTwice) {
  auto twice = empty_model();
  auto& node = add_context(*twice.mutable_graph(), "a.bin");
  add_attribute(node, "ep_cache_context").set_s("a.bin");
  expect_refused(twice.SerializeAsString(), {{"a.bin", "b.bin"}}, "twice");
}

TEST_F(RewriteReferences, RefusesWhatIsNoModelInTheWordsOfTheReader) {
  expect_refused("", {}, "is empty");
  expect_refused("hello", {}, "is not an ONNX model");
  std::filesystem::create_directory(folder_ / "folder");
  auto to = fs::FileSystem::posix().open(folder_ / "other", fs::OpenMode::create_new);
  ASSERT_TRUE(to);
  const auto of_a_folder = rewrite_references(fs::FileSystem::posix(), folder_ / "folder", {}, *to);
  ASSERT_FALSE(of_a_folder);
  EXPECT_THAT(of_a_folder.error().message, HasSubstr("is a folder"));
}

TEST_F(RewriteReferences, SurvivesEveryTruncationAndEveryFlippedByte) {
  const std::string whole = model_with({"a.bin", "b.bin", "c.bin", "d.bin", "e.bin"}).SerializeAsString();
  const ReferenceNames names = {{"a.bin", "1"}, {"b.bin", "22"}, {"c.bin", "333"}, {"d.bin", "4"}, {"e.bin", "5"}};
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string bytes = whole.substr(0, i);
    (void)rewrite(bytes, names);  // a cut may fall between two fields; then it is a model
    bytes = whole;
    bytes[i] = static_cast<char>(bytes[i] ^ 0xFF);
    const auto rewritten = rewrite(bytes, names);
    if (!rewritten) continue;
    EXPECT_TRUE(onnx::ModelProto().ParseFromString(written())) << i;
  }
}

TEST_F(RewriteReferences, HoldsNoPayloadInMemory) {
  // The largest read and write are one block, however large the tensors are.
  class Largest : public fs::CountingFileSystem {
   public:
    Largest() : CountingFileSystem(fs::FileSystem::posix()) {}
    Result<void> write(fs::File& file, std::span<const std::byte> bytes) override {
      written = std::max(written, bytes.size());
      return CountingFileSystem::write(file, bytes);
    }
    Result<std::size_t> read_at(fs::File& file, std::span<std::byte> into, std::uint64_t offset) override {
      read = std::max(read, into.size());
      return CountingFileSystem::read_at(file, into, offset);
    }
    std::size_t written = 0;
    std::size_t read = 0;
  };
  Largest fs;
  auto model = empty_model();
  add_context(*model.mutable_graph(), "a.bin");
  model.mutable_graph()->add_initializer()->set_raw_data(std::string(10 << 20, 'w'));
  ASSERT_TRUE(rewrite(model.SerializeAsString(), {{"a.bin", "b"}}, fs));
  EXPECT_LE(fs.written, 1U << 20U);
  EXPECT_LE(fs.read, 1U << 20U);
  EXPECT_EQ(written().size(), model.SerializeAsString().size() - 4);
}

TEST_F(RewriteReferences, ReportsAFileThatChangesMeanwhile) {
  class Changing : public fs::CountingFileSystem {
   public:
    explicit Changing(std::filesystem::path path)
        : CountingFileSystem(fs::FileSystem::posix()), path_(std::move(path)) {}
    Result<void> write(fs::File& file, std::span<const std::byte> bytes) override {
      std::ofstream(path_, std::ios::app | std::ios::binary) << '\0';
      return CountingFileSystem::write(file, bytes);
    }

   private:
    std::filesystem::path path_;
  };
  Changing fs(folder_ / "from.onnx");
  auto model = empty_model();
  add_context(*model.mutable_graph(), "a.bin");
  const auto rewritten = rewrite(model.SerializeAsString(), {{"a.bin", "b.bin"}}, fs);
  ASSERT_FALSE(rewritten);
  EXPECT_EQ(rewritten.error().code, ErrorCode::corrupt);
}

TEST_F(RewriteReferences, StopsWhenItIsAskedTo) {
  auto to = fs::FileSystem::posix().open(folder_ / "to.onnx", fs::OpenMode::create_new);
  ASSERT_TRUE(to);
  util::CancelToken cancel;
  cancel.cancel();
  const auto from = folder_.write("from.onnx", empty_model().SerializeAsString());
  const auto rewritten = rewrite_references(fs::FileSystem::posix(), from, {}, *to, &cancel);
  ASSERT_FALSE(rewritten);
  EXPECT_EQ(rewritten.error().code, ErrorCode::cancelled);
}

}  // namespace
}  // namespace precast::model
