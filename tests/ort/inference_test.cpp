// Values in and out of real sessions, of every element type that ORT's CPU EP passes through.
#include "ort/inference.hpp"

#include <gmock/gmock.h>

#include "model/model_facts.hpp"
#include "onnx/onnx.pb.h"
#include "ort/session_call.hpp"
#include "ort/support.hpp"
#include "tensor/element_type.hpp"
#include "tensor/elements.hpp"

namespace precast::ort::tests {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// y = Identity(x), both [2, "n"].
std::string identity_model(std::int32_t element_type) {
  onnx::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(21);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("identity");
  for (auto* const value : {graph.add_input(), graph.add_output()}) {
    value->set_name(value == &graph.input(0) ? "x" : "y");
    auto* const tensor = value->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(element_type);
    tensor->mutable_shape()->add_dim()->set_dim_value(2);
    tensor->mutable_shape()->add_dim()->set_dim_param("n");
  }
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("Identity");
  node.add_input("x");
  node.add_output("y");
  return model.SerializeAsString();
}

Ort::Session open(const std::string& bytes) {
  return {runtime()->env(), bytes.data(), bytes.size(), Ort::SessionOptions()};
}

class PassesThrough : public ::testing::TestWithParam<std::int32_t> {};

TEST_P(PassesThrough, TheSameBytes) {
  Ort::Session session = open(identity_model(GetParam()));
  const auto specs = input_specs(inputs_of(session), {});
  ASSERT_EQ(specs.size(), 1U);
  EXPECT_EQ(specs[0].element_type, GetParam());
  EXPECT_THAT(specs[0].shape, ElementsAre(2, -1));
  auto made = tensor::generate_inputs(specs, {.dimensions = {{"n", 5}}});
  ASSERT_TRUE(made) << made.error().message;
  const auto values = to_values(*made);
  ASSERT_TRUE(values) << values.error().message;
  const auto done = infer(session, inputs_of(session), outputs_of(session), *values, "the run failed");
  ASSERT_TRUE(done) << done.error().message;
  const auto result = to_tensor(done->outputs.at("y"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(*result, made->at("x"));
}

INSTANTIATE_TEST_SUITE_P(EveryType, PassesThrough,
                         ::testing::Values(tensor::kTypeFloat, tensor::kTypeUint8, tensor::kTypeInt8,
                                           tensor::kTypeUint16, tensor::kTypeInt16, tensor::kTypeInt32,
                                           tensor::kTypeInt64, tensor::kTypeString, tensor::kTypeBool,
                                           tensor::kTypeFloat16, tensor::kTypeDouble, tensor::kTypeUint32,
                                           tensor::kTypeUint64, tensor::kTypeBfloat16, tensor::kTypeFloat8E4M3FN,
                                           tensor::kTypeFloat8E4M3FNUZ, tensor::kTypeFloat8E5M2,
                                           tensor::kTypeFloat8E5M2FNUZ),
                         [](const auto& one) { return std::string(model::dtype_name(one.param)); });

// ORT's Identity does not know them; its Cast does, to int8.
TEST(Inference, PackedIntegersArriveWhole) {
  for (const std::int32_t packed : {tensor::kTypeInt4, tensor::kTypeUint4}) {
    onnx::ModelProto model;
    model.ParseFromString(identity_model(packed));
    onnx::GraphProto& graph = *model.mutable_graph();
    graph.mutable_node(0)->set_op_type("Cast");
    onnx::AttributeProto& to = *graph.mutable_node(0)->add_attribute();
    to.set_name("to");
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(tensor::kTypeInt8);
    graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(tensor::kTypeInt8);
    Ort::Session session = open(model.SerializeAsString());
    const bool is_signed = packed == tensor::kTypeInt4;
    auto made = tensor::generate_inputs(input_specs(inputs_of(session), {}),
                                        {.dimensions = {{"n", 5}}, .ranges = {{"x", {is_signed ? -8 : 0, 8}}}});
    ASSERT_TRUE(made) << made.error().message;
    const auto values = to_values(*made);
    const auto done = infer(session, inputs_of(session), outputs_of(session), *values, "the run failed");
    ASSERT_TRUE(done) << done.error().message;
    const auto result = to_tensor(done->outputs.at("y"));
    ASSERT_TRUE(result);
    const tensor::ElementReader given(made->at("x"));
    const tensor::ElementReader cast(*result);
    for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(cast[i], given[i]) << i;
  }
}

TEST(Inference, AnEmptyTensorPassesThrough) {
  Ort::Session session = open(identity_model(tensor::kTypeFloat));
  tensor::Tensors given;
  given["x"] = {.element_type = tensor::kTypeFloat, .shape = {2, 0}, .bytes = {}, .strings = {}};
  const auto values = to_values(given);
  ASSERT_TRUE(values) << values.error().message;
  const auto done = infer(session, inputs_of(session), outputs_of(session), *values, "the run failed");
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_THAT(to_tensor(done->outputs.at("y"))->shape, ElementsAre(2, 0));
}

TEST(Inference, WhatOrtRefusesIsItsWordsBehindOurs) {
  // A Reshape to a size that does not fit.
  onnx::ModelProto model;
  model.ParseFromString(identity_model(tensor::kTypeFloat));
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.mutable_node(0)->set_op_type("Reshape");
  graph.mutable_node(0)->add_input("shape");
  onnx::TensorProto& shape = *graph.add_initializer();
  shape.set_name("shape");
  shape.set_data_type(tensor::kTypeInt64);
  shape.add_dims(2);
  shape.add_int64_data(2);
  shape.add_int64_data(7);
  Ort::Session session = open(model.SerializeAsString());
  auto made = tensor::generate_inputs(input_specs(inputs_of(session), {}), {.dimensions = {{"n", 5}}});
  ASSERT_TRUE(made);
  const auto values = to_values(*made);
  const auto done = infer(session, inputs_of(session), outputs_of(session), *values, "the inference failed");
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, AllOf(HasSubstr("the inference failed: "), HasSubstr("Reshape")));
}

// The output of a model that makes a sequence.
TEST(Inference, ASequenceIsNoTensorAndIsSaidSo) {
  onnx::ModelProto model;
  model.ParseFromString(identity_model(tensor::kTypeFloat));
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.mutable_node(0)->set_op_type("SequenceConstruct");
  const onnx::TypeProto element = graph.input(0).type();
  *graph.mutable_output(0)->mutable_type()->mutable_sequence_type()->mutable_elem_type() = element;
  Ort::Session session = open(model.SerializeAsString());
  EXPECT_EQ(outputs_of(session)[0].dtype, "");
  auto made = tensor::generate_inputs(input_specs(inputs_of(session), {}), {});
  ASSERT_TRUE(made);
  const auto values = to_values(*made);
  const auto done = infer(session, inputs_of(session), outputs_of(session), *values, "the run failed");
  ASSERT_TRUE(done) << done.error().message;
  const auto tensor = to_tensor(done->outputs.at("y"));
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace precast::ort::tests
