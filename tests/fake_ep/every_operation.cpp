#include "every_operation.hpp"

#include <fstream>
#include <initializer_list>
#include <vector>

#include "onnx/onnx.pb.h"

namespace precast::fake_ep::test {
namespace {

constexpr int kOpset = 17;
constexpr int kIrVersion = 8;

void set_value(onnx::ValueInfoProto& value, const std::string& name, std::initializer_list<int> shape) {
  value.set_name(name);
  auto& tensor = *value.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx::TensorProto::FLOAT);
  for (const int extent : shape) {
    auto& dim = *tensor.mutable_shape()->add_dim();
    if (extent < 0) {
      dim.set_dim_param("batch");
    } else {
      dim.set_dim_value(extent);
    }
  }
}

void add_weight(onnx::GraphProto& graph, const std::string& name, std::initializer_list<int> shape) {
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  int count = 1;
  for (const int extent : shape) {
    tensor.add_dims(extent);
    count *= extent;
  }
  for (int i = 0; i < count; ++i) tensor.add_float_data(static_cast<float>(i * 5 % 7 - 3) / 2);
}

onnx::NodeProto& add_node(onnx::GraphProto& graph, const std::string& op, std::initializer_list<std::string> inputs,
                          const std::string& output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  node.set_name(op + "_" + output);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

void set_attribute(onnx::NodeProto& node, const std::string& name, float value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
}

void set_attribute(onnx::NodeProto& node, const std::string& name, int value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

onnx::ModelProto new_model(const std::string& name) {
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.add_opset_import()->set_version(kOpset);
  model.mutable_graph()->set_name(name);
  return model;
}

void save(const onnx::ModelProto& model, const std::string& file) {
  std::ofstream out(file, std::ios::binary);
  model.SerializeToOstream(&out);
}

}  // namespace

void write_every_operation_model(const std::string& file) {
  onnx::ModelProto model = new_model("every_operation");
  onnx::GraphProto& graph = *model.mutable_graph();
  set_value(*graph.add_input(), "x", {-1, 3, 4, 5});
  set_value(*graph.add_input(), "m", {6, 4});
  set_value(*graph.add_output(), "y", {-1, 3, 4, 4});
  set_value(*graph.add_output(), "g", {6, 3});
  set_value(*graph.add_output(), "g2", {4, 3});
  add_weight(graph, "w", {3, 5, 4});
  add_weight(graph, "column", {4, 1});
  add_weight(graph, "row", {4});
  add_weight(graph, "b", {3, 4});
  add_weight(graph, "c", {1, 3});
  add_weight(graph, "b2", {6, 3});
  add_node(graph, "MatMul", {"x", "w"}, "xw");
  add_node(graph, "Mul", {"xw", "column"}, "scaled");
  add_node(graph, "Add", {"row", "scaled"}, "shifted");
  add_node(graph, "Relu", {"shifted"}, "y");
  onnx::NodeProto& gemm = add_node(graph, "Gemm", {"m", "b", "c"}, "g");
  set_attribute(gemm, "transB", 1);
  set_attribute(gemm, "alpha", 0.5F);
  set_attribute(gemm, "beta", 2.0F);
  set_attribute(add_node(graph, "Gemm", {"m", "b2"}, "g2"), "transA", 1);
  save(model, file);
}

void write_two_branches_model(const std::string& file) {
  onnx::ModelProto model = new_model("two_branches");
  onnx::GraphProto& graph = *model.mutable_graph();
  set_value(*graph.add_input(), "x", {2, 3});
  set_value(*graph.add_input(), "a", {2, 3});
  set_value(*graph.add_output(), "y", {2, 3});
  set_value(*graph.add_output(), "b", {2, 3});
  add_weight(graph, "w", {3, 3});
  add_node(graph, "Relu", {"x"}, "y");
  add_node(graph, "MatMul", {"a", "w"}, "b");
  save(model, file);
}

void write_skip_connection_model(const std::string& file) {
  onnx::ModelProto model = new_model("skip_connection");
  onnx::GraphProto& graph = *model.mutable_graph();
  set_value(*graph.add_input(), "x", {2, 3});
  set_value(*graph.add_output(), "y", {2, 3});
  add_weight(graph, "w", {3, 3});
  add_node(graph, "MatMul", {"x", "w"}, "h");
  add_node(graph, "Sigmoid", {"h"}, "s");
  add_node(graph, "Add", {"h", "s"}, "y");
  save(model, file);
}

}  // namespace precast::fake_ep::test
