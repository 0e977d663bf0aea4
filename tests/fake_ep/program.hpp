#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace precast::fake_ep {

struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

struct TensorView {
  std::span<const std::int64_t> shape;
  std::span<const float> values;
};

struct Operation {
  std::string op;
  std::vector<std::string> inputs;  // "" for an optional one that is left out
  std::string output;
  float alpha = 1;
  float beta = 1;
  bool transpose_a = false;
  bool transpose_b = false;
};

// The compiled form of one partition.
struct Program {
  std::string name;
  float output_scale = 1;
  std::vector<std::string> inputs;   // in the order of the fused node
  std::vector<std::string> outputs;  // in the order of the fused node
  std::vector<Operation> operations;
  std::map<std::string, Tensor> constants;
};

}  // namespace precast::fake_ep
