// How far one tensor is from another that it should equal.
#pragma once

#include <cstdint>
#include <string>

#include "tensor/tensor.hpp"

namespace precast::tensor {

struct Difference {
  double max_abs = 0;
  double max_rel = 0;            // |a - b| / |b|, where b is not 0
  double cosine = 1;             // of the finite elements as vectors; 1 where both are all zero
  double scale = 1;              // length of it as a vector / that of the reference; 1 where both are all zero
  std::uint64_t compared = 0;    // elements that are finite in both
  std::uint64_t not_finite = 0;  // elements that are not finite where the reference is
  std::string mismatch;          // another type or shape: not compared; empty = compared
  // Compared, nothing not finite, cosine at least kLeastCosine, scale off by at most kMostScaleOff.
  [[nodiscard]] bool agrees() const;
  [[nodiscard]] std::string why() const;  // what of that does not hold; empty if it agrees
};

inline constexpr double kLeastCosine = 0.99;
inline constexpr double kMostScaleOff = 0.1;

// Elements that are not finite in the reference do not count. Strings agree when they are equal.
[[nodiscard]] Difference compare(const Tensor& tensor, const Tensor& reference);

struct Summary {  // of the finite elements
  double min = 0;
  double max = 0;
  double mean = 0;
  std::uint64_t counted = 0;  // 0: none, or not numbers; then the values say nothing
};
[[nodiscard]] Summary summarize(const Tensor& tensor);

}  // namespace precast::tensor
