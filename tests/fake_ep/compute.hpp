#pragma once

#include <memory>
#include <vector>

#include "faults.hpp"
#include "onnxruntime_cxx_api.h"
#include "program.hpp"

namespace precast::fake_ep {

// The compute function of one partition. It owns its program; Compute may run in several threads at once.
class ComputeInfo : public OrtNodeComputeInfo {
 public:
  // `inputs[i]` is the position, among the fused node's inputs, of the program's input i; likewise `outputs`.
  ComputeInfo(Program program, std::vector<std::size_t> inputs, std::vector<std::size_t> outputs, const Faults& faults);

 private:
  void compute(OrtKernelContext* raw_context) const;

  Program program_;
  std::vector<std::size_t> inputs_;
  std::vector<std::size_t> outputs_;
  Faults faults_;
};

}  // namespace precast::fake_ep
