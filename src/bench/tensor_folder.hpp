// A folder of NAME.npy and input_N.pb.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/tensor_files.hpp"
#include "precast/error.hpp"
#include "tensor/tensor.hpp"

namespace precast::bench {

// Other files are left alone: output_0.pb, say.
[[nodiscard]] Result<StoredTensors> read_folder(const std::filesystem::path& folder,
                                                const std::vector<std::string>& input_names);

// The tensors of output_N.pb, ONNX's test data: what a run on the folder's inputs should give. Empty: there are none.
[[nodiscard]] Result<StoredTensors> read_expected_outputs(const std::filesystem::path& folder,
                                                          const std::vector<std::string>& output_names);

// bad_input without `overwrite` if any of the files is there; then none is written.
[[nodiscard]] Result<void> write_folder(const std::filesystem::path& folder, const tensor::Tensors& tensors,
                                        bool overwrite);

// bad_input: `path` is there.
[[nodiscard]] Result<void> refuse_existing(const std::filesystem::path& path);

}  // namespace precast::bench
