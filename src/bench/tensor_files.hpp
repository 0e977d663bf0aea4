// Tensors in files: what `run` and `perf` take with --input-data and write with --output-data.
//
//   .npz            NumPy's archive of named arrays, stored or deflated: entry "NAME.npy"
//   a folder        of NAME.npy and of input_0.pb, ... (ONNX TensorProto, as in test_data_set_0; the name inside
//   counts,
//                   and where it has none the number in the file's name is the position of the input)
//
// A character of a name that a file name cannot have ('/', NUL), and '%', is written as %2F and so on in a folder's
// .npy, and read back. NumPy has no dtype for some of ONNX's: bfloat16 travels as raw two-byte elements ('V2'; '<u2'
// is taken too), the float8 types as one byte ('V1' or '|u1'), int4 and int2 as int8, uint4 and uint2 as uint8, one
// element each; strings as '<U' of the longest. Reinterpreting happens in `as_type`, which knows what the model wants.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "precast/error.hpp"
#include "tensor/tensor.hpp"

namespace precast::bench {

// A tensor as the file has it. `carrier`: the element type is only how the bytes travel (raw 'V1', 'V2').
struct StoredTensor {
  tensor::Tensor tensor;
  bool raw = false;            // 'V1' (element_type uint8) or 'V2' (uint16)
  std::filesystem::path path;  // for messages
};
using StoredTensors = std::map<std::string, StoredTensor, std::less<>>;

// `input_names`: of the model, in order, for .pb files without a name. Errors, each naming file and entry: not_found;
// bad_input (neither .npz nor folder; a folder without such files; not the format, truncated, an object array, Fortran
// order is accepted, big-endian is converted; a name twice; an array larger than its file says); io.
[[nodiscard]] Result<StoredTensors> read_tensors(const std::filesystem::path& path,
                                                 const std::vector<std::string>& input_names);

// The same values as `element_type` where the file could only carry them (see above); an exact match comes back as it
// is. bad_input names both types ("input 'x' is float64 in 'a.npz', the model wants float32").
[[nodiscard]] Result<tensor::Tensor> as_type(StoredTensor stored, std::int32_t element_type, const std::string& name);

// FILE.npz (made whole beside it, then renamed; an existing one is replaced only with `overwrite`, else bad_input), or
// any other path: a folder, made if it is not there, one NAME.npy each.
[[nodiscard]] Result<void> write_tensors(const std::filesystem::path& path, const tensor::Tensors& tensors,
                                         bool overwrite);

}  // namespace precast::bench
