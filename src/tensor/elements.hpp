// The elements of a tensor as numbers, whatever their type: floats of any width, integers packed or not, bool.
#pragma once

#include <cstdint>

#include "tensor/tensor.hpp"

namespace precast::tensor {

enum class Kind : std::uint8_t { floating, integer, boolean, text, other };  // other: complex and unknown types
[[nodiscard]] Kind kind_of(std::int32_t element_type);

// Reads and writes elements of a tensor whose `bytes` are as many as its shape says. Of the kinds floating, integer and
// boolean only. Integers past 2^53 lose their last digits.
class ElementReader {
 public:
  explicit ElementReader(const Tensor& tensor);
  [[nodiscard]] double operator[](std::uint64_t index) const;

 private:
  [[nodiscard]] std::uint64_t bits(std::uint64_t index) const;
  const Tensor& tensor_;
  unsigned width_ = 0;
};

// The least and the greatest number of the type; for floats the greatest finite one.
struct Bounds {
  double low = 0;
  double high = 0;
};
[[nodiscard]] Bounds bounds_of(std::int32_t element_type);

// The code of `value` in the type: floats rounded to the nearest (ties to even), integers truncated. What the type
// cannot hold is not defined.
[[nodiscard]] std::uint64_t encode_element(std::int32_t element_type, double value);
void write_element(Tensor& tensor, std::uint64_t index, std::uint64_t code);

}  // namespace precast::tensor
