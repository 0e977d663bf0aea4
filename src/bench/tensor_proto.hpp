// One tensor in ONNX's TensorProto, as the ONNX model zoo's test_data_set_0/input_0.pb holds it.
#pragma once

#include <filesystem>
#include <string>

#include "bench/tensor_files.hpp"
#include "precast/error.hpp"

namespace precast::bench {

struct NamedTensor {
  std::string name;  // may be empty
  StoredTensor stored;
};

// bad_input: no TensorProto, data in another file, data that does not agree with type and shape.
[[nodiscard]] Result<NamedTensor> read_tensor_proto(const std::filesystem::path& path);

}  // namespace precast::bench
