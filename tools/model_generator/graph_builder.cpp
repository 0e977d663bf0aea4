#include "model_generator/graph_builder.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace precast::model_generator {
namespace {

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::uint64_t split_mix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

std::uint64_t Weight::elements() const {
  std::uint64_t count = 1;
  for (const std::int64_t dim : dims) count *= static_cast<std::uint64_t>(dim);
  return count;
}

WeightStream::WeightStream(const Weight& weight, std::uint64_t seed)
    : state_(seed ^ fnv1a(weight.name)), fill_(weight.fill), bound_(weight.bound) {}

void WeightStream::next(std::span<float> into) {
  if (bound_ <= 0.0F) {
    std::ranges::fill(into, fill_);
    return;
  }
  for (float& value : into) {
    // 24 random bits to a multiple of 2^-23 in [-1, 1): exact; then the one rounding.
    const auto bits = static_cast<std::int32_t>(split_mix(state_) >> 40U) - (1 << 23);
    value = std::ldexp(static_cast<float>(bits), -23) * bound_;
  }
}

GraphBuilder::GraphBuilder(std::string_view name) {
  model_.set_ir_version(8);
  model_.set_producer_name("precast-make-model");
  onnx::OperatorSetIdProto& opset = *model_.add_opset_import();
  opset.set_domain("");
  opset.set_version(17);
  model_.mutable_graph()->set_name(std::string(name));
}

void GraphBuilder::value_info(onnx::ValueInfoProto& info, const std::string& name, std::span<const std::int64_t> dims) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  type.mutable_shape();
  for (const std::int64_t dim : dims) {
    auto& entry = *type.mutable_shape()->add_dim();
    if (dim == 0) {
      entry.set_dim_param("batch");
    } else {
      entry.set_dim_value(dim);
    }
  }
}

std::string GraphBuilder::input(const std::string& name, std::span<const std::int64_t> dims) {
  value_info(*model_.mutable_graph()->add_input(), name, dims);
  return name;
}

void GraphBuilder::output(const std::string& name, std::span<const std::int64_t> dims) {
  // The graph's output carries the caller's name, so the node that makes it is renamed.
  last_->set_output(0, name);
  value_info(*model_.mutable_graph()->add_output(), name, dims);
}

std::string GraphBuilder::random(const std::string& name, std::vector<std::int64_t> dims, double deviation) {
  weights_.push_back(Weight{
      .name = name, .dims = std::move(dims), .fill = 0.0F, .bound = static_cast<float>(deviation * std::sqrt(3.0))});
  return name;
}

std::string GraphBuilder::filled(const std::string& name, std::vector<std::int64_t> dims, float value) {
  weights_.push_back(Weight{.name = name, .dims = std::move(dims), .fill = value, .bound = 0.0F});
  return name;
}

std::string GraphBuilder::scalar(const std::string& name, float value) {
  onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_float_data(value);
  return name;
}

std::string GraphBuilder::integers(const std::string& name, std::span<const std::int64_t> values) {
  onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<std::int64_t>(values.size()));
  for (const std::int64_t value : values) tensor.add_int64_data(value);
  return name;
}

std::string GraphBuilder::add(const std::string& op, const std::string& name, std::span<const std::string> inputs) {
  last_ = model_.mutable_graph()->add_node();
  last_->set_op_type(op);
  last_->set_name(name);
  for (const std::string& in : inputs) last_->add_input(in);
  last_->add_output(name + "_out");
  return name + "_out";
}

void GraphBuilder::attribute(const std::string& name, std::int64_t value) {
  onnx::AttributeProto& attribute = *last_->add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void GraphBuilder::attribute(const std::string& name, float value) {
  onnx::AttributeProto& attribute = *last_->add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
}

void GraphBuilder::attribute(const std::string& name, std::span<const std::int64_t> values) {
  onnx::AttributeProto& attribute = *last_->add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
}

void GraphBuilder::domain(const std::string& domain, std::int64_t version) {
  last_->set_domain(domain);
  import_domain(domain, version);
}

void GraphBuilder::import_domain(const std::string& domain, std::int64_t version) {
  const auto& imports = model_.opset_import();
  const bool known = std::ranges::any_of(imports, [&](const auto& entry) { return entry.domain() == domain; });
  if (known) return;
  onnx::OperatorSetIdProto& opset = *model_.add_opset_import();
  opset.set_domain(domain);
  opset.set_version(version);
}

}  // namespace precast::model_generator
