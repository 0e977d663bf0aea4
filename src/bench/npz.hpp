// NumPy's archive of named arrays: a zip of "NAME.npy", stored or deflated.
#pragma once

#include <filesystem>

#include "bench/tensor_files.hpp"
#include "precast/error.hpp"
#include "tensor/tensor.hpp"

namespace precast::bench {

[[nodiscard]] Result<StoredTensors> read_npz(const std::filesystem::path& path);

// Stored; replaces what is there. Names as they are, '/' too.
[[nodiscard]] Result<void> write_npz(const std::filesystem::path& path, const tensor::Tensors& tensors);

}  // namespace precast::bench
