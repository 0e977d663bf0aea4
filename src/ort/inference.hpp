// What a session takes and gives, and one run of it by name.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <onnxruntime_cxx_api.h>

#include "model/index_limits.hpp"
#include "precast/error.hpp"
#include "precast/tensor_info.hpp"
#include "tensor/generate.hpp"
#include "tensor/tensor.hpp"

namespace precast::ort {

using Values = std::map<std::string, Ort::Value, std::less<>>;  // by name

// Of the session's inputs or outputs, in the model's order. Throws Ort::Exception.
[[nodiscard]] std::vector<TensorInfo> inputs_of(const Ort::Session& session);
[[nodiscard]] std::vector<TensorInfo> outputs_of(const Ort::Session& session);

// bad_input that names every input that is missing, unknown, or of another dtype or shape than `wanted`. Throws
// Ort::Exception.
[[nodiscard]] Result<void> check_inputs(const std::vector<TensorInfo>& wanted, const Values& given);

struct Inference {
  Values outputs;  // all of them
  double ms = 0;   // the run call alone
};
// Errors: those of check_inputs; else compile_failed: `doing`, a colon, and ORT's words. May be called from many
// threads.
[[nodiscard]] Result<Inference> infer(Ort::Session& session, const std::vector<TensorInfo>& inputs,
                                      const std::vector<TensorInfo>& outputs, const Values& given,
                                      std::string_view doing);

// The values borrow the tensors' bytes.
[[nodiscard]] Result<Ort::Value> to_value(tensor::Tensor& given);
[[nodiscard]] Result<Values> to_values(tensor::Tensors& tensors);
// A copy, from the CPU's memory. unsupported: a sequence, map or optional, or a type of no known size.
[[nodiscard]] Result<tensor::Tensor> to_tensor(const Ort::Value& value);

struct Output {
  std::string name;
  std::optional<tensor::Tensor> tensor;  // none: a sequence, map or optional
};
struct TensorRun {
  std::vector<Output> outputs;  // in the model's order
  double run_ms = 0;            // the run call alone
};
// One inference on plain tensors; errors as infer's.
[[nodiscard]] Result<TensorRun> run_tensors(Ort::Session& session, tensor::Tensors& inputs, std::string_view doing);

// For made-up inputs of a session.
[[nodiscard]] std::vector<tensor::InputSpec> input_specs(const std::vector<TensorInfo>& inputs,
                                                         const model::IndexLimits& limits);

}  // namespace precast::ort
