// A tensor in this process's memory, of any element type that ONNX has. Plain data; knows nothing of ORT.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace precast::tensor {

struct Tensor {
  std::int32_t element_type = 0;    // TensorProto.DataType; its NumPy name: model::dtype_name
  std::vector<std::int64_t> shape;  // none negative; empty: a scalar
  // Row-major, little-endian; elements of 4 and 2 bits packed from the low bits of each byte up, as ONNX does. Empty
  // for strings.
  std::vector<std::byte> bytes;
  std::vector<std::string> strings;  // UTF-8; of element type str only

  friend bool operator==(const Tensor&, const Tensor&) = default;
};

using Tensors = std::map<std::string, Tensor, std::less<>>;  // by name

// nullopt: a size is negative, or there are more than memory can hold.
[[nodiscard]] std::optional<std::uint64_t> element_count(std::span<const std::int64_t> shape);
// Of that many packed elements. nullopt: a type of no fixed size (strings, unknown ones), or too many.
[[nodiscard]] std::optional<std::uint64_t> byte_count(std::int32_t element_type, std::uint64_t elements);
// "[1, 3, ?]": negative sizes are those that are not fixed.
[[nodiscard]] std::string shape_text(std::span<const std::int64_t> shape);

}  // namespace precast::tensor
