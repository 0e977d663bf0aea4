// How precise the weights of a graph are, from the types of its tensors and the nodes that read them; no payload is
// looked at.
//
// Quantised weights are constants that DequantizeLinear (QDQ), QLinear*, *Integer* or *NBits operators read: "w8a8",
// "w8a16", "w4"; without "a" when activations are not quantised. Where several widths occur, the one of the most
// weights, and of the most activations, counts. int32 constants (biases) count for neither. Without any, the type of
// the most weights: "fp32", "fp16", "bf16", "fp64", or "w8" and the like for graphs that cast and scale integers
// themselves. Weights that are stored in floating point and quantised at run time are what they are stored as.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/model_facts.hpp"

namespace precast::model {

// What of a node matters here. Inputs past the last one are dropped.
struct NodeUse {
  static constexpr std::size_t kInputs = 6;
  std::array<std::string, kInputs> inputs;
  std::size_t input_count = 0;
  std::string output;                   // the first one
  std::optional<std::int64_t> bits;     // of the attribute of that name
  std::int64_t output_type = 0;         // output_dtype
  std::int32_t constant_type = 0;       // of the attribute `value`, if it is a tensor
  std::uint64_t constant_elements = 0;  // of it
};

class WeightUse {
 public:
  // A stored tensor with data: an initialiser, or the value of a Constant. The answer is what it keeps, in bytes.
  [[nodiscard]] std::size_t add_tensor(const std::string& name, std::int32_t element_type, std::uint64_t elements);
  [[nodiscard]] std::size_t add_node(const std::string& op_type, const std::string& domain, const NodeUse& node);

  [[nodiscard]] std::vector<StoredWeights> stored() const;
  [[nodiscard]] std::string precision() const;  // empty: there are no weights

 private:
  struct Constant {
    std::int32_t element_type = 0;
    std::uint64_t elements = 0;
  };
  [[nodiscard]] unsigned quantized_bits() const;
  [[nodiscard]] unsigned activation_bits() const;

  std::map<std::int32_t, StoredWeights> stored_;
  std::unordered_map<std::string, Constant> constants_;         // of types that quantised values have
  std::unordered_map<std::string, unsigned> read_;              // maybe constants -> bits; 0: those of their type
  std::unordered_map<std::string, std::uint64_t> zero_points_;  // of activations -> how many
  std::map<unsigned, std::uint64_t> activations_;               // bits -> how many, where the node itself tells
};

}  // namespace precast::model
