// --shape-config FILE: {"pixels": [1, 3, 224, 224], "sequence": 128}, a whole shape for an input or a size for a
// symbolic dimension; and the same from the command line.
#pragma once

#include <filesystem>
#include <string>

#include "precast/error.hpp"
#include "tensor/generate.hpp"

namespace precast::bench {

// Adds to `wanted`. not_found; bad_input names the file and the key: not JSON, not such an object, a size that is not a
// positive whole number.
[[nodiscard]] Result<void> read_shape_config(const std::filesystem::path& path, tensor::Wanted& wanted);
// "NAME=128" and "NAME=0:30522"; bad_input quotes what was not understood.
[[nodiscard]] Result<void> add_dimension(const std::string& text, tensor::Wanted& wanted);
[[nodiscard]] Result<void> add_value_range(const std::string& text, tensor::Wanted& wanted);

}  // namespace precast::bench
