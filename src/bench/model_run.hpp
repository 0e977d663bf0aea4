// One inference on a session that the compile cache prepared: inputs, outputs, and how far they are from ORT's CPU EP.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ort/inference.hpp"
#include "precast/tensor_info.hpp"
#include "session/prepared_session.hpp"
#include "tensor/compare.hpp"
#include "tensor/generate.hpp"

namespace precast::bench {

struct InputSource {
  std::filesystem::path data;  // .npz, or a folder of .npy and .pb (tensor_files.hpp); empty: made up
  tensor::Wanted wanted;       // how they are made up
};

// What the session wants, from its file or made up. bad_input names inputs that are missing, unknown, or of another
// dtype or shape, and the file. `source`: the model that the session's was compiled from, for what its inputs may be
// (empty or compiled already: not known).
[[nodiscard]] Result<tensor::Tensors> make_inputs(const InputSource& from, const std::vector<TensorInfo>& inputs,
                                                  const std::filesystem::path& source);

// What the session takes, in the model's order.
[[nodiscard]] Result<std::vector<TensorInfo>> inputs_of(const Ort::Session& session);

struct CheckedOutput {
  std::string name;
  tensor::Difference difference;
};
// The same inputs on `source` and ORT's CPU EP. Outputs that are no tensors are left out.
[[nodiscard]] Result<std::vector<CheckedOutput>> check_against_cpu(ort::Catalog& catalog,
                                                                   const std::filesystem::path& source,
                                                                   const ort::SessionSettings& settings,
                                                                   tensor::Tensors& inputs, const ort::TensorRun& run);

// Over the packed elements; strings each with a NUL behind it.
[[nodiscard]] std::string sha256_of(const tensor::Tensor& tensor);

}  // namespace precast::bench
