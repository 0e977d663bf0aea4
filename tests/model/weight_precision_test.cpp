// How precise the weights of a graph are.
#include <gtest/gtest.h>

#include "model/model_facts.hpp"
#include "model_builder.hpp"

namespace precast::model {
namespace {

using Type = onnx::TensorProto::DataType;

class WeightPrecision : public ::testing::Test {
 protected:
  void constant(const std::string& name, Type type, std::int64_t elements = 1) {
    fill(*graph().add_initializer(), name, type, elements);
  }
  onnx::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs, const std::string& domain = "") {
    onnx::NodeProto& made = *graph().add_node();
    for (const std::string& input : inputs) made.add_input(input);
    made.add_output("out" + std::to_string(graph().node_size()));
    made.set_op_type(op);
    if (!domain.empty()) made.set_domain(domain);
    return made;
  }
  static void fill(onnx::TensorProto& tensor, const std::string& name, Type type, std::int64_t elements) {
    tensor.set_name(name);
    tensor.set_data_type(type);
    tensor.add_dims(elements);
  }
  // Quantised weights, a quantised activation, a bias as exporters write them.
  void qdq(Type weights, Type activations, const std::string& domain = "") {
    constant("w", weights, 100);
    constant("w_scale", onnx::TensorProto::FLOAT, 1000);
    constant("zero", activations);
    constant("bias", onnx::TensorProto::INT32, 100000);
    node("DequantizeLinear", {"w", "w_scale"}, domain);
    node("DequantizeLinear", {"bias", "w_scale"}, domain);
    node("QuantizeLinear", {"x", "x_scale", "zero"}, domain);
    node("DequantizeLinear", {"out3", "x_scale", "zero"}, domain);
  }
  std::string precision() {
    const auto facts = parse_model(model_.SerializeAsString(), "model.onnx");
    EXPECT_TRUE(facts) << facts.error().message;
    return facts ? facts->weight_precision : "";
  }
  onnx::GraphProto& graph() { return *model_.mutable_graph(); }

  onnx::ModelProto model_ = empty_model();
};

TEST_F(WeightPrecision, OfFloatingPointIsTheTypeOfTheMost) {
  EXPECT_EQ(precision(), "");
  constant("shape", onnx::TensorProto::INT64, 1000);
  EXPECT_EQ(precision(), "");
  constant("a", onnx::TensorProto::FLOAT, 10);
  EXPECT_EQ(precision(), "fp32");
  constant("b", onnx::TensorProto::FLOAT16, 11);
  EXPECT_EQ(precision(), "fp16");
  constant("c", onnx::TensorProto::BFLOAT16, 12);
  EXPECT_EQ(precision(), "bf16");
}

TEST_F(WeightPrecision, OfQdqIsThatOfWeightsAndActivationsNotOfBiases) {
  qdq(onnx::TensorProto::INT8, onnx::TensorProto::UINT8);
  EXPECT_EQ(precision(), "w8a8");
}

TEST_F(WeightPrecision, OfSixteenBitActivations) {
  qdq(onnx::TensorProto::UINT8, onnx::TensorProto::UINT16);
  EXPECT_EQ(precision(), "w8a16");
}

TEST_F(WeightPrecision, OfQdqInTheDomainOfOlderSixteenBitModels) {
  qdq(onnx::TensorProto::INT8, onnx::TensorProto::UINT16, "com.microsoft");
  EXPECT_EQ(precision(), "w8a16");
}

TEST_F(WeightPrecision, OfOperatorsOfAnotherDomainIsNotGuessed) {
  qdq(onnx::TensorProto::INT8, onnx::TensorProto::UINT16, "org.example");
  EXPECT_EQ(precision(), "fp32");
}

TEST_F(WeightPrecision, OfIntegersThatTheGraphScalesItselfIsTheirWidth) {
  constant("w", onnx::TensorProto::INT8, 100);
  constant("scale", onnx::TensorProto::FLOAT, 99);
  node("Cast", {"w"});
  node("Mul", {"out1", "scale"});
  EXPECT_EQ(precision(), "w8");
  constant("more", onnx::TensorProto::FLOAT, 2);
  EXPECT_EQ(precision(), "fp32");
}

TEST_F(WeightPrecision, BiasesAloneMakeNothingQuantised) {
  constant("bias", onnx::TensorProto::INT32, 100);
  constant("w", onnx::TensorProto::FLOAT, 10);
  node("DequantizeLinear", {"bias", "scale"});
  EXPECT_EQ(precision(), "fp32");
}

TEST_F(WeightPrecision, OfMixedWidthsIsTheOneOfTheMostWeightsAndActivations) {
  qdq(onnx::TensorProto::INT8, onnx::TensorProto::UINT8);
  constant("more", onnx::TensorProto::INT4, 101);
  node("DequantizeLinear", {"more", "scale"});
  constant("wide", onnx::TensorProto::UINT16);
  node("QuantizeLinear", {"y", "scale", "wide"});
  node("QuantizeLinear", {"z", "scale", "wide"});
  EXPECT_EQ(precision(), "w4a16");
}

TEST_F(WeightPrecision, OfPackedWeightsCountsWhatIsPacked) {
  constant("packed", onnx::TensorProto::UINT8, 60);  // 120 weights
  add_attribute(node("MatMulNBits", {"x", "packed", "scales"}, "com.microsoft"), "bits").set_i(4);
  EXPECT_EQ(precision(), "w4");
  constant("head", onnx::TensorProto::UINT8, 100);
  auto& head = node("MatMulNBits", {"x", "head", "scales"}, "com.microsoft");
  add_attribute(head, "bits").set_i(8);
  EXPECT_EQ(precision(), "w4");
  head.mutable_attribute(0)->set_i(2);
  EXPECT_EQ(precision(), "w2");
}

TEST_F(WeightPrecision, OfPackedWeightsWithoutBitsIsTheDefault) {
  constant("packed", onnx::TensorProto::UINT8, 60);
  node("MatMulNBits", {"x", "packed", "scales"}, "com.microsoft");
  EXPECT_EQ(precision(), "w4");
}

TEST_F(WeightPrecision, OfQuantisedOperators) {
  constant("w", onnx::TensorProto::INT8, 60);
  constant("zero", onnx::TensorProto::UINT8);
  node("QLinearConv", {"x", "x_scale", "zero", "w", "w_scale", "w_zero"});
  EXPECT_EQ(precision(), "w8a8");
}

TEST_F(WeightPrecision, OfDynamicQuantisation) {
  constant("w", onnx::TensorProto::INT8, 60);
  node("DynamicQuantizeLinear", {"x"});
  node("MatMulInteger", {"out1", "w", "zero"});
  EXPECT_EQ(precision(), "w8a8");
}

TEST_F(WeightPrecision, KnowsConstantsAndSubgraphs) {
  auto& weights = node("Constant", {});
  fill(*add_attribute(weights, "value").mutable_t(), "", onnx::TensorProto::INT8, 10);
  auto& body = *add_attribute(node("If", {"c"}), "then_branch").mutable_g();
  auto& dequantize = *body.add_node();
  dequantize.set_op_type("DequantizeLinear");
  dequantize.add_input("out1");
  EXPECT_EQ(precision(), "w8");
  fill(*body.add_initializer(), "inner", onnx::TensorProto::UINT4, 11);
  dequantize.set_input(0, "inner");
  EXPECT_EQ(precision(), "w4");
}

TEST_F(WeightPrecision, ActivationsWithoutZeroPointAreWhatTheNodeSays) {
  constant("w", onnx::TensorProto::INT8, 60);
  node("DequantizeLinear", {"w", "scale"});
  auto& quantize = node("QuantizeLinear", {"x", "scale"});
  EXPECT_EQ(precision(), "w8a8");
  add_attribute(quantize, "output_dtype").set_i(onnx::TensorProto::INT16);
  EXPECT_EQ(precision(), "w8a16");
}

TEST_F(WeightPrecision, WhatIsStoredIsCountedByType) {
  constant("a", onnx::TensorProto::FLOAT, 10);
  constant("b", onnx::TensorProto::FLOAT, 5);
  constant("c", onnx::TensorProto::UINT4, 3);
  const auto facts = parse_model(model_.SerializeAsString(), "model.onnx");
  ASSERT_TRUE(facts);
  ASSERT_EQ(facts->stored_weights.size(), 2U);
  EXPECT_EQ(facts->stored_weights[0].tensors, 2U);
  EXPECT_EQ(bytes_of(facts->stored_weights[0]), 60U);
  EXPECT_EQ(bytes_of(facts->stored_weights[1]), 2U);
}

TEST_F(WeightPrecision, SurvivesSizesThatNoTensorHas) {
  constant("w", onnx::TensorProto::INT8, std::int64_t{1} << 62);
  constant("v", onnx::TensorProto::INT8, -1);
  node("DequantizeLinear", {"w", "scale"});
  add_attribute(node("MatMulNBits", {"x", "v", "scales"}, "com.microsoft"), "bits").set_i(-7);
  EXPECT_EQ(precision(), "w8");
}

}  // namespace
}  // namespace precast::model
