// What is read from a well-formed model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_facts.hpp"
#include "model_builder.hpp"
#include "util/text.hpp"

namespace precast::model {
namespace {

using testing::ElementsAre;
using testing::Pair;

ModelFacts facts_of(const onnx::ModelProto& model) {
  auto facts = parse_model(model.SerializeAsString(), "model.onnx");
  EXPECT_TRUE(facts) << facts.error().message;
  return facts ? *std::move(facts) : ModelFacts{};
}

std::vector<std::string> names(const std::vector<ValueInfo>& values) {
  std::vector<std::string> found;
  found.reserve(values.size());
  for (const ValueInfo& value : values) found.push_back(value.name);
  return found;
}

TEST(Facts, HeaderOpsetsAndMetadata) {
  auto model = empty_model();
  model.set_ir_version(9);
  model.set_producer_name("trainer");
  auto& opset = *model.add_opset_import();
  opset.set_domain("com.microsoft");
  opset.set_version(1);
  auto& pair = *model.add_metadata_props();
  pair.set_key("ep_compatibility_info.X");
  pair.set_value("v1");
  const ModelFacts facts = facts_of(model);
  EXPECT_EQ(facts.ir_version, 9);
  EXPECT_EQ(facts.producer, "trainer");
  EXPECT_THAT(facts.opsets, ElementsAre(Pair("", 17), Pair("com.microsoft", 1)));
  EXPECT_THAT(facts.metadata, ElementsAre(Pair("ep_compatibility_info.X", "v1")));
}

TEST(Facts, TheLongNameOfTheDefaultDomainIsTheSameDomain) {
  auto model = empty_model();
  model.mutable_opset_import(0)->set_domain("ai.onnx");
  EXPECT_THAT(facts_of(model).opsets, ElementsAre(Pair("", 17)));
}

TEST(Facts, NodesOfTheMainGraphAreCounted) {
  auto model = empty_model();
  auto& node = *model.mutable_graph()->add_node();
  add_attribute(node, "body").mutable_g()->add_node();
  model.mutable_graph()->add_node();
  model.add_functions()->add_node();
  EXPECT_EQ(facts_of(model).node_count, 2U);
}

TEST(Facts, InputsAndOutputsWithTypesAndShapes) {
  auto model = empty_model();
  auto& graph = *model.mutable_graph();
  auto& image = *graph.add_input();
  add_value(image, "image", onnx::TensorProto::FLOAT16);
  auto& shape = *image.mutable_type()->mutable_tensor_type()->mutable_shape();
  shape.add_dim()->set_dim_param("batch");
  shape.add_dim()->set_dim_value(3);
  shape.add_dim();
  add_value(*graph.add_output(), "logits", onnx::TensorProto::BFLOAT16);
  auto& scalar = *graph.add_output();
  add_value(scalar, "scalar", onnx::TensorProto::INT64);
  scalar.mutable_type()->mutable_tensor_type()->mutable_shape();
  graph.add_output()->set_name("untyped");
  const ModelFacts facts = facts_of(model);
  ASSERT_EQ(facts.inputs.size(), 1U);
  EXPECT_EQ(facts.inputs[0].element_type, 10);
  EXPECT_TRUE(facts.inputs[0].has_shape);
  EXPECT_THAT(facts.inputs[0].shape, ElementsAre("batch", "3", "?"));
  ASSERT_THAT(names(facts.outputs), ElementsAre("logits", "scalar", "untyped"));
  EXPECT_EQ(facts.outputs[0].element_type, 16);
  EXPECT_FALSE(facts.outputs[0].has_shape);
  EXPECT_TRUE(facts.outputs[1].has_shape);
  EXPECT_TRUE(facts.outputs[1].shape.empty());
  EXPECT_EQ(facts.outputs[2].element_type, 0);
}

TEST(Facts, InitializersAreNoInputs) {
  auto model = empty_model();
  auto& graph = *model.mutable_graph();
  for (const char* name : {"x", "dense", "sparse", "inner"})
    add_value(*graph.add_input(), name, onnx::TensorProto::FLOAT);
  graph.add_initializer()->set_name("dense");
  graph.add_sparse_initializer()->mutable_values()->set_name("sparse");
  add_attribute(*graph.add_node(), "body").mutable_g()->add_initializer()->set_name("inner");
  EXPECT_THAT(names(facts_of(model).inputs), ElementsAre("x", "inner"));
}

onnx::NodeProto& add_context(onnx::GraphProto& graph, const std::string& source) {
  auto& node = *graph.add_node();
  node.set_op_type("EPContext");
  node.set_domain("com.microsoft");
  add_attribute(node, "source").set_s(source);
  return node;
}

TEST(EpContext, ReferencedBinary) {
  auto model = empty_model();
  auto& node = add_context(*model.mutable_graph(), "QNNExecutionProvider");
  add_attribute(node, "embed_mode").set_i(0);
  add_attribute(node, "ep_cache_context").set_s("model_qnn.bin");
  add_attribute(node, "ep_sdk_version").set_s("2.40");
  add_attribute(node, "partition_name").set_s("part_0");
  add_attribute(node, "main_context").set_i(0);
  const ModelFacts facts = facts_of(model);
  ASSERT_EQ(facts.ep_context_nodes.size(), 1U);
  const EpContextNode& context = facts.ep_context_nodes[0];
  EXPECT_EQ(context.source, "QNNExecutionProvider");
  EXPECT_FALSE(context.embedded);
  EXPECT_EQ(context.reference, "model_qnn.bin");
  EXPECT_EQ(context.inline_bytes, 0U);
  EXPECT_FALSE(context.main);
  EXPECT_EQ(context.sdk, "2.40");
  EXPECT_EQ(context.partition_name, "part_0");
}

TEST(EpContext, EmbeddedBytesAreCountedNotKept) {
  for (const std::size_t size : {std::size_t{10}, std::size_t{3} << 20}) {
    auto model = empty_model();
    auto& node = add_context(*model.mutable_graph(), "OpenVINOExecutionProvider");
    add_attribute(node, "ep_cache_context").set_s(std::string(size, 'b'));
    add_attribute(node, "embed_mode").set_i(1);
    const ModelFacts facts = facts_of(model);
    ASSERT_EQ(facts.ep_context_nodes.size(), 1U);
    EXPECT_TRUE(facts.ep_context_nodes[0].embedded);
    EXPECT_TRUE(facts.ep_context_nodes[0].reference.empty());
    EXPECT_EQ(facts.ep_context_nodes[0].inline_bytes, size);
  }
}

TEST(EpContext, DefaultsAreThoseOfTheOperator) {
  auto model = empty_model();
  add_context(*model.mutable_graph(), "X");
  const ModelFacts facts = facts_of(model);
  ASSERT_EQ(facts.ep_context_nodes.size(), 1U);
  EXPECT_TRUE(facts.ep_context_nodes[0].embedded);
  EXPECT_TRUE(facts.ep_context_nodes[0].main);
}

TEST(EpContext, IsFoundAnywhereAndOnlyInItsDomain) {
  auto model = empty_model();
  auto& graph = *model.mutable_graph();
  add_context(graph, "main");
  add_context(*add_attribute(*graph.add_node(), "body").mutable_g(), "subgraph");
  auto& function = *model.add_functions();
  onnx::GraphProto carrier;
  *function.add_node() = add_context(carrier, "function");
  add_context(graph, "foreign").set_domain("org.example");
  add_context(graph, "other").set_op_type("Context");
  std::vector<std::string> sources;
  for (const EpContextNode& node : facts_of(model).ep_context_nodes) sources.push_back(node.source);
  EXPECT_THAT(sources, ElementsAre("main", "subgraph", "function"));
}

TEST(EpContext, FieldsMayComeInAnyOrder) {
  onnx::NodeProto attributes;
  add_attribute(attributes, "source").set_s("X");
  onnx::NodeProto head;
  head.set_op_type("EPContext");
  head.set_domain("com.microsoft");
  const std::string node = attributes.SerializeAsString() + head.SerializeAsString();
  const std::string graph = std::string("\x0a") + static_cast<char>(node.size()) + node;
  const auto facts =
      parse_model(empty_model().SerializeAsString() + "\x3a" + static_cast<char>(graph.size()) + graph, "m");
  ASSERT_TRUE(facts) << facts.error().message;
  ASSERT_EQ(facts->ep_context_nodes.size(), 1U);
  EXPECT_EQ(facts->ep_context_nodes[0].source, "X");
}

TEST(DtypeName, FollowsNumPy) {
  EXPECT_EQ(dtype_name(1), "float32");
  EXPECT_EQ(dtype_name(7), "int64");
  EXPECT_EQ(dtype_name(9), "bool");
  EXPECT_EQ(dtype_name(10), "float16");
  EXPECT_EQ(dtype_name(11), "float64");
  EXPECT_EQ(dtype_name(16), "bfloat16");
  EXPECT_EQ(dtype_name(22), "int4");
  EXPECT_EQ(dtype_name(28), "float6_e3m2fn");
  for (const int odd : {0, -1, 29, 1 << 30}) EXPECT_EQ(dtype_name(odd), "unknown") << odd;
}

// ---- the remembered form -------------------------------------------------------------------------------------------

ModelFacts rich_facts() {
  ModelFacts facts;
  facts.ir_version = 10;
  facts.opsets = {{"", 21}, {"com.microsoft", 1}};
  facts.producer = "tab\there, newline\nthere, back\\slash, na\xC3\xAFve";
  facts.node_count = 12;
  facts.metadata = {{"", ""}, {"key", std::string("\0\x7F\r", 3)}, {"bad \xFF", "\xC3\xAF \xFE"}};
  facts.inputs = {{.name = "x", .element_type = 1, .shape = {"batch", "3", "?"}, .has_shape = true},
                  {.name = "", .element_type = -5, .shape = {}, .has_shape = false}};
  facts.outputs = {{.name = "y", .element_type = 10, .shape = {""}, .has_shape = true}};
  facts.external_files = {{.location = "w.bin", .first_tensor = "w", .bytes_needed = ~std::uint64_t{0}}};
  facts.ep_context_nodes = {{.source = "X",
                             .embedded = true,
                             .reference = "",
                             .inline_bytes = 7,
                             .main = false,
                             .sdk = "1.0",
                             .partition_name = "p"},
                            {.source = "Y",
                             .embedded = false,
                             .reference = "y.bin",
                             .inline_bytes = 0,
                             .main = true,
                             .sdk = "",
                             .partition_name = ""}};
  facts.stored_weights = {{.element_type = 1, .tensors = 2, .elements = ~std::uint64_t{0}},
                          {.element_type = 3, .tensors = 1, .elements = 0}};
  facts.weight_precision = "w8a16";
  return facts;
}

void expect_equal(const ModelFacts& a, const ModelFacts& b) {
  EXPECT_EQ(a.ir_version, b.ir_version);
  EXPECT_EQ(a.opsets, b.opsets);
  EXPECT_EQ(a.producer, b.producer);
  EXPECT_EQ(a.node_count, b.node_count);
  EXPECT_EQ(a.metadata, b.metadata);
  const auto tie_value = [](const ValueInfo& v) { return std::tie(v.name, v.element_type, v.shape, v.has_shape); };
  const auto tie_file = [](const ExternalFile& f) { return std::tie(f.location, f.first_tensor, f.bytes_needed); };
  const auto tie_node = [](const EpContextNode& n) {
    return std::tie(n.source, n.embedded, n.reference, n.inline_bytes, n.main, n.sdk, n.partition_name);
  };
  EXPECT_TRUE(std::ranges::equal(a.inputs, b.inputs, {}, tie_value, tie_value));
  EXPECT_TRUE(std::ranges::equal(a.outputs, b.outputs, {}, tie_value, tie_value));
  EXPECT_TRUE(std::ranges::equal(a.external_files, b.external_files, {}, tie_file, tie_file));
  EXPECT_TRUE(std::ranges::equal(a.ep_context_nodes, b.ep_context_nodes, {}, tie_node, tie_node));
  const auto tie_weights = [](const StoredWeights& w) { return std::tie(w.element_type, w.tensors, w.elements); };
  EXPECT_TRUE(std::ranges::equal(a.stored_weights, b.stored_weights, {}, tie_weights, tie_weights));
  EXPECT_EQ(a.weight_precision, b.weight_precision);
}

TEST(FactsText, ReadsBackWhatItWrote) {
  const std::string text = serialize_facts(rich_facts());
  const auto facts = parse_facts(text);
  ASSERT_TRUE(facts) << facts.error().message;
  expect_equal(*facts, rich_facts());
  EXPECT_EQ(serialize_facts(*facts), text);
}

TEST(FactsText, IsPlainUtf8WithoutControlCharacters) {
  const std::string text = serialize_facts(rich_facts());
  EXPECT_TRUE(util::is_utf8(text));
  for (const char c : text) EXPECT_TRUE(c == '\n' || c == '\t' || (c != 0x7F && (c < 0 || c >= 0x20))) << int{c};
}

TEST(FactsText, EmptyFactsToo) {
  const auto facts = parse_facts(serialize_facts({}));
  ASSERT_TRUE(facts) << facts.error().message;
  expect_equal(*facts, {});
}

TEST(FactsText, RefusesOtherVersions) {
  std::string text = serialize_facts(rich_facts());
  text.replace(text.find("facts 2"), 7, "facts 1");
  const auto facts = parse_facts(text);
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, ErrorCode::corrupt);
}

TEST(FactsText, RefusesEveryTruncation) {
  const std::string text = serialize_facts(rich_facts());
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(parse_facts(std::string_view(text).substr(0, length))) << length;
  }
}

TEST(FactsText, RefusesLinesThatMakeNoSense) {
  const std::string head = "precast-facts 2\nmodel\t8\t1\tme\n";
  ASSERT_TRUE(parse_facts(head + "end\n"));
  for (const char* line : {"what\t1", "opset\tx", "opset\tx\t1\t2", "opset\tx\tone", "meta\tk\tv\\x4", "meta\tk\t\\n",
                           "meta\tk\tv\nmeta\tk\tw", "in\tx\t1", "in\tx\t1\t2", "data\tw\tt\t-1",
                           "context\tX\t1\tr\t0\tyes\ts\tp", "weights\t1\t2", "precision", "", "end"}) {
    EXPECT_FALSE(parse_facts(head + line + "\nend\n")) << line;
  }
}

}  // namespace
}  // namespace precast::model
