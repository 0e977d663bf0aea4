// A session that the compile cache prepared: what it is fed with, and where it really runs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ort/inference.hpp"
#include "precast/tensor_info.hpp"
#include "session/prepared_session.hpp"
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

// What the session takes, and gives, in the model's order.
[[nodiscard]] Result<std::vector<TensorInfo>> inputs_of(const Ort::Session& session);
[[nodiscard]] Result<std::vector<TensorInfo>> outputs_of(const Ort::Session& session);

// The model that the session's was compiled from; empty where it was compiled already.
[[nodiscard]] std::filesystem::path source_of(const compile::Resolution& resolution, const compile::Request& request);

// ep_unavailable, with what was logged: an EP or a device other than the CPU was asked for by name, and no node runs
// there. All of it would run on ORT's CPU EP without a word.
[[nodiscard]] Result<void> check_placement(const session::PreparedSession& session, const compile::Request& request);
// ORT's name of the EP that runs it: the target's, or ORT's CPU EP where the target's got no node.
[[nodiscard]] std::string effective_ep(const session::PreparedSession& session);

// Over the packed elements; strings each with a NUL behind it.
[[nodiscard]] std::string sha256_of(const tensor::Tensor& tensor);

}  // namespace precast::bench
