// Inputs made up for a model: every dtype and shape it declares, the same bytes for the same seed on every machine.
//
// Sizes that are not fixed: Wanted::shapes (a whole input), Wanted::dimensions (by symbolic name), else axis 0 is the
// batch, channels are 3, heights and widths 224 (by their symbolic name; in inputs of rank 4 axes 1, 2 and 3), anything
// else 128. One symbolic name has one size in all inputs.
//
// Values: floats in [0, 1). Integers: a name with "mask" gets 1, with "token_type" 0, with "position" 0 .. n-1 along
// the last axis; an index stays below its limit (InputSpec::index_limit); anything else is in [0, 2). Wanted::ranges
// overrides this. Bool is one of both, strings are short words.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "precast/error.hpp"
#include "tensor/tensor.hpp"

namespace precast::tensor {

struct InputSpec {
  std::string name;
  std::int32_t element_type = 0;
  std::vector<std::int64_t> shape;          // -1: not fixed
  std::vector<std::string> dimensions;      // symbolic names, "" where there is none; empty, or as many as shape
  std::optional<std::int64_t> index_limit;  // what it indexes has as many entries
};

struct Wanted {
  std::uint64_t seed = 0;
  std::int64_t batch = 1;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> shapes;
  std::map<std::string, std::int64_t, std::less<>> dimensions;
  std::map<std::string, std::pair<double, double>, std::less<>> ranges;  // [low, high)
};

// bad_input: a shape, dimension or range for something that the model does not have, that does not fit, or is not
// positive; an input of a type that nothing can be made for (named); more bytes than `most_bytes`.
inline constexpr std::uint64_t kMostGeneratedBytes = std::uint64_t{4} << 30U;
[[nodiscard]] Result<Tensors> generate_inputs(std::span<const InputSpec> inputs, const Wanted& wanted,
                                              std::uint64_t most_bytes = kMostGeneratedBytes);

}  // namespace precast::tensor
