#include "compile/checks.hpp"

#include <fstream>

#include <gmock/gmock.h>

#include "onnx/onnx.pb.h"
#include "support/program.hpp"

namespace precast::compile {
namespace {

using precast::testing::Folder;
using precast::testing::write_file;
using ::testing::HasSubstr;

constexpr const char* kEp = "TestExecutionProvider";

struct Node {
  std::string source = kEp;
  bool embedded = false;
  std::string context = "model_Test.bin";  // reference or bytes
  bool main = true;
};

class Checks : public ::testing::Test {
 protected:
  Checks() { write_file(folder_ / "model_Test.bin", "binary"); }

  onnx::ModelProto model_with(const std::vector<Node>& nodes) {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    model.mutable_graph()->set_name("g");
    for (const Node& node : nodes) {
      onnx::NodeProto* proto = model.mutable_graph()->add_node();
      proto->set_op_type("EPContext");
      proto->set_domain("com.microsoft");
      text(*proto, "source", node.source);
      number(*proto, "embed_mode", node.embedded ? 1 : 0);
      number(*proto, "main_context", node.main ? 1 : 0);
      text(*proto, "ep_cache_context", node.context);
    }
    return model;
  }
  Result<model::ModelFacts> check(const onnx::ModelProto& model) {
    std::ofstream stream(folder_ / "model.onnx", std::ios::binary);
    model.SerializeToOstream(&stream);
    stream.close();
    return check_compiled(fs::FileSystem::posix(), folder_.path(), kEp);
  }
  void expect_refused(const onnx::ModelProto& model, const std::string& words) {
    const auto result = check(model);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::compile_failed);
    EXPECT_THAT(result.error().message, HasSubstr(words));
  }

  Folder folder_;

 private:
  static void text(onnx::NodeProto& node, const char* name, const std::string& value) {
    onnx::AttributeProto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::STRING);
    attribute->set_s(value);
  }
  static void number(onnx::NodeProto& node, const char* name, std::int64_t value) {
    onnx::AttributeProto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(value);
  }
};

TEST_F(Checks, AGoodModelPasses) {
  EXPECT_TRUE(check(model_with({{}})));
}

TEST_F(Checks, AnEmbeddedContextPasses) {
  EXPECT_TRUE(check(model_with({{.embedded = true, .context = "bytes"}})));
}

TEST_F(Checks, ASecondaryNodeNeedsNoContextOfItsOwn) {
  EXPECT_TRUE(check(model_with({{}, {.context = "", .main = false}})));
  EXPECT_TRUE(
      check(model_with({{.embedded = true, .context = "x"}, {.embedded = true, .context = "", .main = false}})));
}

TEST_F(Checks, AModelWithoutContextNodesIsRefused) {
  expect_refused(model_with({}), "no EPContext node");
}

TEST_F(Checks, AnotherEpsNodeIsRefused) {
  expect_refused(model_with({{}, {.source = "Other"}}), "source 'Other'");
}

TEST_F(Checks, AnEmptyEmbeddedContextIsRefused) {
  expect_refused(model_with({{.embedded = true, .context = ""}}), "embedded context is empty");
}

TEST_F(Checks, BadReferencesAreRefused) {
  write_file(folder_ / "empty.bin", "");
  std::filesystem::create_symlink("model_Test.bin", folder_ / "link.bin");
  std::filesystem::create_directory(folder_ / "folder");
  const std::pair<std::string, std::string> cases[] = {
      {"", "is empty"},
      {"/etc/passwd", "absolute path"},
      {"../outside.bin", "leaves its folder"},
      {"folder/../../outside.bin", "leaves its folder"},
      {"missing.bin", "was not written"},
      {"empty.bin", "is empty"},
      {"link.bin", "is a link"},
      {"folder", "is no file"},
      {"bad\xff.bin", "not UTF-8"},
      {std::string("nul\0.bin", 8), "not UTF-8"},
  };
  for (const auto& [reference, words] : cases) {
    SCOPED_TRACE(reference);
    expect_refused(model_with({{.context = reference}}), words);
  }
}

TEST_F(Checks, ExternalDataOutsideTheGenerationOrInMemoryIsRefused) {
  for (const auto& [location, words] : {std::pair<std::string, std::string>{"../weights.data", "leaves its folder"},
                                        {"*/_ORT_MEM_ADDR_/*", "refers to memory"},
                                        {"weights.data", "was not written"}}) {
    auto model = model_with({{}});
    onnx::TensorProto* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name("w");
    tensor->set_data_location(onnx::TensorProto::EXTERNAL);
    onnx::StringStringEntryProto* entry = tensor->add_external_data();
    entry->set_key("location");
    entry->set_value(location);
    SCOPED_TRACE(location);
    expect_refused(model, words);
  }
}

TEST_F(Checks, AModelThatDoesNotParseIsRefused) {
  write_file(folder_ / "model.onnx", "no model");
  const auto result = check_compiled(fs::FileSystem::posix(), folder_.path(), kEp);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("does not parse"));
}

}  // namespace
}  // namespace precast::compile
