// What a model takes and gives.
//
//   const auto say = [](const std::vector<precast::TensorInfo>& inputs) {  // of a precast::Session
//     for (const precast::TensorInfo& input : inputs) {
//       std::cout << input.name << ": " << input.dtype << " of rank " << input.shape.size() << '\n';
//     }
//   };
//
// Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace precast {

struct TensorInfo {
  std::string name;
  std::string dtype;                    // as NumPy names it: "float32", "int64", ...; empty: not a tensor
  std::vector<std::int64_t> shape;      // -1: not fixed; empty: a scalar, or nothing is said of it
  std::vector<std::string> dimensions;  // symbolic names, "" where there is none; as many as shape
};

}  // namespace precast
