#include "node_reader.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "error.hpp"

namespace precast::fake_ep {
namespace {

constexpr std::array<std::string_view, 5> kOperations = {"MatMul", "Add", "Relu", "Gemm", "Mul"};

template <typename T>
std::optional<T> attribute(Ort::ConstNode node, const std::string& name) {
  Ort::ConstOpAttr attr{nullptr};
  T value{};
  // An absent attribute is an error status for ORT; here it is simply absent.
  if (!node.GetAttributeByName(name, attr).IsOK() || attr == nullptr || !attr.GetValue(value).IsOK()) {
    return std::nullopt;
  }
  return value;
}

// The rank of a float32 tensor.
std::optional<std::size_t> float_rank(Ort::ConstValueInfo value) {
  const auto type = value.TypeInfo();
  if (type.GetONNXType() != ONNX_TYPE_TENSOR) return std::nullopt;
  const auto tensor = type.GetTensorTypeAndShapeInfo();
  if (tensor.GetElementType() != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) return std::nullopt;
  return tensor.GetDimensionsCount();
}

std::string name_of(Ort::ConstValueInfo value) {
  return value == nullptr ? std::string() : value.GetName();
}

std::vector<std::string> names_of(const std::vector<Ort::ConstValueInfo>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const auto& value : values) names.push_back(name_of(value));
  return names;
}

Operation read_operation(Ort::ConstNode node) {
  Operation operation;
  operation.op = node.GetOperatorType();
  operation.inputs = names_of(node.GetInputs());
  operation.output = name_of(node.GetOutputs().at(0));
  operation.alpha = attribute<float>(node, "alpha").value_or(1);
  operation.beta = attribute<float>(node, "beta").value_or(1);
  operation.transpose_a = attribute<std::int64_t>(node, "transA").value_or(0) != 0;
  operation.transpose_b = attribute<std::int64_t>(node, "transB").value_or(0) != 0;
  return operation;
}

Tensor read_constant(Ort::ConstValueInfo value) {
  Ort::ConstValue data{nullptr};
  Ort::ThrowOnError(value.GetInitializer(data));
  if (data == nullptr) throw EpError("nothing produces '" + value.GetName() + "'");
  const auto info = data.GetTensorTypeAndShapeInfo();
  const float* first = data.GetTensorData<float>();
  return {info.GetShape(), {first, first + info.GetElementCount()}};
}

}  // namespace

std::optional<std::string> text_attribute(Ort::ConstNode node, const std::string& name) {
  return attribute<std::string>(node, name);
}

std::optional<std::int64_t> integer_attribute(Ort::ConstNode node, const std::string& name) {
  return attribute<std::int64_t>(node, name);
}

bool is_ep_context(Ort::ConstNode node) {
  return node.GetOperatorType() == "EPContext" && node.GetDomain() == "com.microsoft";
}

bool is_executable(Ort::ConstNode node) {
  const std::string op = node.GetOperatorType();
  if (!node.GetDomain().empty() || std::ranges::find(kOperations, op) == kOperations.end()) return false;
  if (node.GetOutputs().size() != 1) return false;
  for (const auto& value : node.GetInputs()) {
    if (name_of(value).empty()) continue;
    const auto rank = float_rank(value);
    if (!rank || (op == "MatMul" && *rank < 2)) return false;
  }
  return true;
}

Program read_program(Ort::ConstGraph graph, Ort::ConstNode fused_node) {
  Program program;
  program.name = fused_node.GetName();
  program.inputs = names_of(fused_node.GetInputs());
  program.outputs = names_of(fused_node.GetOutputs());
  std::set<std::string, std::less<>> known(program.inputs.begin(), program.inputs.end());
  for (const auto& node : graph.GetNodes()) {
    for (const auto& value : node.GetInputs()) {
      const std::string name = name_of(value);
      if (name.empty() || !known.insert(name).second) continue;
      program.constants[name] = read_constant(value);
    }
    program.operations.push_back(read_operation(node));
    known.insert(program.operations.back().output);
  }
  return program;
}

}  // namespace precast::fake_ep
