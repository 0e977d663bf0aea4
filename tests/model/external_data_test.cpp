// Every place in which external data can stand, and what a location may say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_facts.hpp"
#include "model_builder.hpp"

namespace precast::model {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> locations(const onnx::ModelProto& model) {
  const auto facts = parse_model(model.SerializeAsString(), "model.onnx");
  if (!facts) return {"error: " + facts.error().message};
  std::vector<std::string> found;
  for (const ExternalFile& file : facts->external_files) found.push_back(file.location);
  return found;
}

ModelFacts facts_of(const onnx::ModelProto& model) {
  auto facts = parse_model(model.SerializeAsString(), "model.onnx");
  EXPECT_TRUE(facts) << facts.error().message;
  return facts ? *std::move(facts) : ModelFacts{};
}

TEST(ExternalData, IsFoundInInitializers) {
  auto model = empty_model();
  fill_external(*model.mutable_graph()->add_initializer(), "w", "w.bin");
  EXPECT_THAT(locations(model), ElementsAre("w.bin"));
}

TEST(ExternalData, IsIgnoredWhenTheTensorSaysThatItsDataIsInside) {
  auto model = empty_model();
  auto& tensor = *model.mutable_graph()->add_initializer();
  fill_external(tensor, "w", "w.bin");
  tensor.set_data_location(onnx::TensorProto::DEFAULT);
  EXPECT_THAT(locations(model), ElementsAre());
}

TEST(ExternalData, IsFoundInSparseInitializers) {
  auto model = empty_model();
  auto& sparse = *model.mutable_graph()->add_sparse_initializer();
  fill_external(*sparse.mutable_values(), "v", "values.bin");
  fill_external(*sparse.mutable_indices(), "i", "indices.bin");
  EXPECT_THAT(locations(model), ElementsAre("indices.bin", "values.bin"));
}

TEST(ExternalData, IsFoundInEveryKindOfAttribute) {
  auto model = empty_model();
  auto& node = *model.mutable_graph()->add_node();
  node.set_op_type("Constant");
  auto& attribute = add_attribute(node, "value");
  fill_external(*attribute.mutable_t(), "t", "1-t.bin");
  fill_external(*attribute.add_tensors(), "a", "2-tensors.bin");
  fill_external(*attribute.add_tensors(), "b", "3-tensors.bin");
  fill_external(*attribute.mutable_sparse_tensor()->mutable_values(), "v", "4-sparse.bin");
  fill_external(*attribute.mutable_sparse_tensor()->mutable_indices(), "i", "5-sparse.bin");
  fill_external(*attribute.add_sparse_tensors()->mutable_values(), "v", "6-sparses.bin");
  fill_external(*attribute.add_sparse_tensors()->mutable_indices(), "i", "7-sparses.bin");
  EXPECT_THAT(locations(model), ElementsAre("1-t.bin", "2-tensors.bin", "3-tensors.bin", "4-sparse.bin", "5-sparse.bin",
                                            "6-sparses.bin", "7-sparses.bin"));
}

TEST(ExternalData, IsFoundInSubgraphsAtAnyDepth) {
  auto model = empty_model();
  auto& choice = *model.mutable_graph()->add_node();
  choice.set_op_type("If");
  auto& then_branch = *add_attribute(choice, "then_branch").mutable_g();
  fill_external(*then_branch.add_initializer(), "w", "then.bin");
  auto& loop = *then_branch.add_node();
  loop.set_op_type("Loop");
  auto& body = *add_attribute(loop, "body").mutable_g();
  fill_external(*body.add_sparse_initializer()->mutable_values(), "v", "body.bin");
  auto& constant = *body.add_node();
  fill_external(*add_attribute(constant, "value").mutable_t(), "c", "constant.bin");
  fill_external(*add_attribute(choice, "branches").add_graphs()->add_initializer(), "g", "graphs.bin");
  EXPECT_THAT(locations(model), ElementsAre("body.bin", "constant.bin", "graphs.bin", "then.bin"));
}

TEST(ExternalData, IsFoundInFunctions) {
  auto model = empty_model();
  auto& function = *model.add_functions();
  function.set_name("f");
  fill_external(*add_attribute(*function.add_node(), "value").mutable_t(), "t", "node.bin");
  auto& fallback = *function.add_attribute_proto();
  fallback.set_name("default");
  fill_external(*fallback.mutable_t(), "d", "default.bin");
  fill_external(*fallback.mutable_g()->add_initializer(), "g", "graph.bin");
  EXPECT_THAT(locations(model), ElementsAre("default.bin", "graph.bin", "node.bin"));
}

TEST(ExternalData, IsFoundWhenATensorIsWrittenInTwoPieces) {
  // Protobuf merges a message field that occurs twice.
  onnx::TensorProto whole;
  fill_external(whole, "t", "late.bin");
  onnx::AttributeProto first;
  first.mutable_t()->mutable_external_data()->Swap(whole.mutable_external_data());
  onnx::AttributeProto second;
  second.mutable_t()->set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::AttributeProto merged;
  ASSERT_TRUE(merged.ParseFromString(first.SerializeAsString() + second.SerializeAsString()));
  ASSERT_EQ(merged.t().data_location(), onnx::TensorProto::EXTERNAL);
  const std::string attribute = first.SerializeAsString() + second.SerializeAsString();
  const std::string node = std::string("\x2a") + static_cast<char>(attribute.size()) + attribute;
  const std::string graph = std::string("\x0a") + static_cast<char>(node.size()) + node;
  const std::string bytes = empty_model().SerializeAsString() + "\x3a" + static_cast<char>(graph.size()) + graph;
  const auto facts = parse_model(bytes, "model.onnx");
  ASSERT_TRUE(facts) << facts.error().message;
  ASSERT_EQ(facts->external_files.size(), 1U);
  EXPECT_EQ(facts->external_files[0].location, "late.bin");
}

TEST(ExternalData, KeepsTheFurthestByteOfEachLocation) {
  auto model = empty_model();
  auto& graph = *model.mutable_graph();
  fill_external(*graph.add_initializer(), "first", "b.bin", "100", "20");
  fill_external(*graph.add_initializer(), "second", "b.bin", "", "50");
  fill_external(*graph.add_initializer(), "third", "a.bin", "7");
  const ModelFacts facts = facts_of(model);
  ASSERT_EQ(facts.external_files.size(), 2U);
  EXPECT_EQ(facts.external_files[0].location, "a.bin");
  EXPECT_EQ(facts.external_files[0].bytes_needed, 7U + 4U);  // a float32 scalar
  EXPECT_EQ(facts.external_files[1].first_tensor, "first");
  EXPECT_EQ(facts.external_files[1].bytes_needed, 120U);
}

TEST(ExternalData, TakesAMissingLengthFromShapeAndType) {
  auto model = empty_model();
  auto& tensor = *model.mutable_graph()->add_initializer();
  fill_external(tensor, "w", "w.bin", "4096");
  tensor.add_dims(3);
  tensor.add_dims(5);
  tensor.set_data_type(onnx::TensorProto::INT4);
  EXPECT_EQ(facts_of(model).external_files[0].bytes_needed, 4096U + 8U);  // 15 elements of 4 bits
  tensor.add_dims(-1);
  EXPECT_EQ(facts_of(model).external_files[0].bytes_needed, 4096U);
  tensor.set_dims(2, std::int64_t{1} << 62);
  EXPECT_EQ(facts_of(model).external_files[0].bytes_needed, 4096U);
}

TEST(ExternalData, RefusesOffsetsAndLengthsThatAreNoNumbers) {
  for (const auto& [offset, length] : {std::pair{"-1", ""},
                                       {"x", "1"},
                                       {"1x", "1"},
                                       {"1", "0x10"},
                                       {"1", " 2"},
                                       {"18446744073709551615", "1"},
                                       {"18446744073709551616", "1"}}) {
    auto model = empty_model();
    fill_external(*model.mutable_graph()->add_initializer(), "weights", "w.bin", offset, length);
    const auto facts = parse_model(model.SerializeAsString(), "model.onnx");
    ASSERT_FALSE(facts) << offset << ' ' << length;
    EXPECT_EQ(facts.error().code, ErrorCode::bad_input);
    EXPECT_THAT(facts.error().message, AllOf(HasSubstr("model.onnx"), HasSubstr("weights")));
  }
}

Result<void> check(const std::string& location) {
  ModelFacts facts;
  facts.external_files.push_back({.location = location, .first_tensor = "weights", .bytes_needed = 0});
  return check_external_locations(facts, "/models/model.onnx");
}

TEST(Locations, InsideTheFolderAreAccepted) {
  for (const char* location : {"w.bin", "./w.bin", "data/w.bin", "data/../w.bin", "a/b/../../w.bin", "..w.bin", "w..",
                               "na\xC3\xAFve.bin", "a b:c", "12:w.bin"}) {
    EXPECT_TRUE(check(location)) << location;
  }
}

TEST(Locations, OutsideTheFolderOrNotPortableAreRefused) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "is empty"},
      {"/etc/passwd", "absolute"},
      {"\\\\server\\share", "absolute"},
      {"C:\\x", "drive prefix"},
      {"c:x", "drive prefix"},
      {"..", "out of the model's folder"},
      {"../w.bin", "out of the model's folder"},
      {"a/../../w.bin", "out of the model's folder"},
      {"a/../../models/w.bin", "out of the model's folder"},
      {"./../w.bin", "out of the model's folder"},
      {"a//../../w.bin", "out of the model's folder"},
      {"..\\w.bin", "out of the model's folder"},
      {std::string("w\0.bin", 6), "NUL"},
      {"\xFF.bin", "not UTF-8"},
      {"*/_ORT_MEM_ADDR_/*", "memory"},
  };
  for (const auto& [location, why] : cases) {
    const auto result = check(location);
    ASSERT_FALSE(result) << location;
    EXPECT_EQ(result.error().code, ErrorCode::bad_input);
    EXPECT_THAT(result.error().message, AllOf(HasSubstr(why), HasSubstr("weights"), HasSubstr("/models/model.onnx")));
    EXPECT_FALSE(result.error().hint.empty());
  }
}

TEST(Locations, AreNamedEscapedInMessages) {
  EXPECT_THAT(check("\xFF.bin").error().message, HasSubstr("\\xff.bin"));
  EXPECT_THAT(check("/a\nb").error().message, AllOf(HasSubstr("/a\nb"), Not(HasSubstr("\xFF"))));
}

TEST(Locations, OfAModelWithoutExternalDataAreFine) {
  EXPECT_TRUE(check_external_locations({}, "model.onnx"));
}

TEST(Locations, AnExternalTensorWithoutALocationIsRefused) {
  auto model = empty_model();
  auto& tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name("lost");
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto result = check_external_locations(facts_of(model), "model.onnx");
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, AllOf(HasSubstr("lost"), HasSubstr("is empty")));
}

TEST(Locations, ResolveAgainstTheFolderOfTheModel) {
  EXPECT_EQ(resolve_location("/m/x.onnx", "data/w.bin"), "/m/data/w.bin");
  EXPECT_EQ(resolve_location("x.onnx", "w.bin"), "w.bin");
  // Left to the kernel: "data" may be a link, and then data/.. is not /m.
  EXPECT_EQ(resolve_location("/m/x.onnx", "data/../w.bin"), "/m/data/../w.bin");
}

}  // namespace
}  // namespace precast::model
