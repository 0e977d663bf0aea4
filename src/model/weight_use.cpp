#include "model/weight_use.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "model/dtype.hpp"

namespace precast::model {
namespace {

constexpr std::string_view kMicrosoft = "com.microsoft";
constexpr std::size_t kNone = NodeUse::kInputs;
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 48U;  // sums of these do not overflow
constexpr std::size_t kKeptPerName = 96;                          // of a container's element, beside its text

enum class Domain : std::uint8_t { standard, microsoft, both };

// Where operators on quantised values have their weights, and what tells the type of their activations.
struct Operator {
  std::string_view name;
  Domain domain = Domain::standard;
  std::size_t weight = kNone;
  std::size_t zero_point = kNone;  // of an activation
  unsigned activation_bits = 0;    // where the operator fixes them
  unsigned default_bits = 0;       // of packed weights without the attribute `bits`
};

constexpr std::array kOperators = {
    Operator{.name = "DequantizeLinear", .domain = Domain::both, .weight = 0},
    Operator{.name = "QuantizeLinear", .domain = Domain::both, .zero_point = 2},
    Operator{.name = "DynamicQuantizeLinear", .activation_bits = 8},
    Operator{.name = "QLinearConv", .weight = 3, .zero_point = 2},
    Operator{.name = "QLinearMatMul", .weight = 3, .zero_point = 2},
    Operator{.name = "QGemm", .domain = Domain::microsoft, .weight = 3, .zero_point = 2},
    Operator{.name = "ConvInteger", .weight = 1},
    Operator{.name = "MatMulInteger", .weight = 1},
    Operator{.name = "MatMulIntegerToFloat", .domain = Domain::microsoft, .weight = 1},
    Operator{.name = "DynamicQuantizeMatMul", .domain = Domain::microsoft, .weight = 1, .activation_bits = 8},
    Operator{.name = "MatMulNBits", .domain = Domain::microsoft, .weight = 1, .default_bits = 4},
    Operator{.name = "GatherBlockQuantized", .domain = Domain::microsoft, .weight = 0, .default_bits = 4},
};

const Operator* find_operator(std::string_view name, std::string_view domain) {
  const bool standard = domain.empty() || domain == "ai.onnx";
  if (!standard && domain != kMicrosoft) return nullptr;
  const auto* const at = std::ranges::find_if(kOperators, [&](const Operator& one) {
    return one.name == name && (one.domain == Domain::both || (one.domain == Domain::standard) == standard);
  });
  return at == kOperators.end() ? nullptr : at;
}

// 0: no type of quantised values.
unsigned bits_of_quantized(std::int64_t element_type) {
  const auto type = static_cast<std::int32_t>(element_type);
  const std::string_view name = dtype_name(type);
  const bool quantized =
      name.starts_with("int") || name.starts_with("uint") || name.starts_with("float8") || name.starts_with("float4");
  const unsigned bits = element_bits(type);
  return quantized && bits <= 16 ? bits : 0;
}

// Empty: no type of weights.
std::string precision_of(std::int32_t element_type) {
  const std::string_view name = dtype_name(element_type);
  if (name == "float32") return "fp32";
  if (name == "float16") return "fp16";
  if (name == "bfloat16") return "bf16";
  if (name == "float64") return "fp64";
  const unsigned bits = bits_of_quantized(element_type);
  return bits == 0 ? "" : "w" + std::to_string(bits);
}

// The one with the largest count; 0 when there is none. A tie goes to the larger width.
unsigned most(const std::map<unsigned, std::uint64_t>& counts) {
  unsigned bits = 0;
  std::uint64_t largest = 0;
  for (const auto& [one, count] : counts) {
    if (count < largest || count == 0) continue;
    bits = one;
    largest = count;
  }
  return bits;
}

}  // namespace

std::size_t WeightUse::add_tensor(const std::string& name, std::int32_t element_type, std::uint64_t elements) {
  StoredWeights& stored = stored_[element_type];
  stored.element_type = element_type;
  ++stored.tensors;
  stored.elements += elements;
  if (bits_of_quantized(element_type) == 0) return 0;
  constants_.insert_or_assign(name, Constant{element_type, elements});
  return name.size() + kKeptPerName;
}

std::size_t WeightUse::add_node(const std::string& op_type, const std::string& domain, const NodeUse& node) {
  if (op_type == "Constant" && node.constant_type != 0) {
    return add_tensor(node.output, node.constant_type, node.constant_elements);
  }
  const Operator* const known = find_operator(op_type, domain);
  if (known == nullptr) return 0;
  std::size_t kept = 0;
  if (known->weight < node.input_count) {
    const std::string& weight = node.inputs.at(known->weight);
    const std::int64_t given = node.bits.value_or(known->default_bits);
    const bool packed = known->default_bits != 0 && given > 0 && given <= 16;
    read_.insert_or_assign(weight, packed ? static_cast<unsigned>(given) : 0);
    kept += weight.size() + kKeptPerName;
  }
  if (known->activation_bits != 0) ++activations_[known->activation_bits];
  if (known->zero_point == kNone) return kept;
  const std::string& zero_point = node.inputs.at(known->zero_point);
  if (!zero_point.empty()) {
    ++zero_points_[zero_point];
    kept += zero_point.size() + kKeptPerName;
  } else {
    const unsigned bits = bits_of_quantized(node.output_type);
    ++activations_[bits == 0 ? 8 : bits];  // uint8 is the operator's default
  }
  return kept;
}

unsigned WeightUse::quantized_bits() const {
  std::map<unsigned, std::uint64_t> counts;
  for (const auto& [name, packed] : read_) {
    const auto at = constants_.find(name);
    if (at == constants_.end()) continue;  // an activation, or a bias
    const unsigned stored = bits_of_quantized(at->second.element_type);
    const unsigned bits = packed == 0 ? stored : packed;
    counts[bits] += std::clamp<std::uint64_t>(at->second.elements, 1, kMostElements) * stored / bits;
  }
  return most(counts);
}

unsigned WeightUse::activation_bits() const {
  std::map<unsigned, std::uint64_t> counts = activations_;
  for (const auto& [name, uses] : zero_points_) {
    const auto at = constants_.find(name);
    if (at != constants_.end()) counts[bits_of_quantized(at->second.element_type)] += uses;
  }
  return most(counts);
}

std::vector<StoredWeights> WeightUse::stored() const {
  std::vector<StoredWeights> all;
  all.reserve(stored_.size());
  for (const auto& [type, one] : stored_) all.push_back(one);
  return all;
}

std::string WeightUse::precision() const {
  if (const unsigned weights = quantized_bits(); weights != 0) {
    const unsigned activations = activation_bits();
    return "w" + std::to_string(weights) + (activations == 0 ? "" : "a" + std::to_string(activations));
  }
  std::string precision;
  std::uint64_t largest = 0;
  for (const auto& [type, one] : stored_) {
    std::string name = precision_of(type);
    if (name.empty() || one.elements < largest) continue;
    precision = std::move(name);
    largest = one.elements;
  }
  return precision;
}

}  // namespace precast::model
