// Tensors in files: what `run` and `perf` take with --input-data and write with --output-data.
//
//   .npz            NumPy's archive of named arrays, stored or deflated: entry "NAME.npy"; read below 4 GiB only
//   a folder        of NAME.npy and of input_0.pb, ... (ONNX TensorProto, as in test_data_set_0; the name inside
//                   counts, and where it has none the number in the file's name is the position of the input); other
//                   files in it are left alone
//
// In a folder's .npy, a character of a name that a file name cannot have ('/', NUL) and '%' are written as %2F, %00 and
// %25, and read back. NumPy has no dtype for some of ONNX's types: bfloat16 travels as raw two-byte elements ('V2';
// '<u2' is taken too), the float8 types and float4_e2m1fn as one byte each ('V1' or '|u1'), int4 and int2 as int8,
// uint4 and uint2 as uint8, one element each ('V1', ml_dtypes' way, is taken too); strings as '<U' of the longest.
// Reinterpreting happens in `as_type`, which knows what the model wants.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "precast/error.hpp"
#include "tensor/tensor.hpp"

namespace precast::bench {

// A tensor as the file has it.
struct StoredTensor {
  tensor::Tensor tensor;
  bool raw = false;            // 'V1' (element_type is then uint8) or 'V2' (uint16): bytes of a type unknown
  std::filesystem::path path;  // for messages
};
using StoredTensors = std::map<std::string, StoredTensor, std::less<>>;

// `input_names`: of the model, in order, for .pb files without a name. Errors, each naming file and entry: not_found;
// bad_input (neither .npz nor folder; one without arrays; not the format, truncated, damaged; an object array, a
// structured or another dtype that ONNX does not have; a name twice; values that do not agree with their shape; more
// than memory holds); io. Fortran order and big-endian are converted; memory is only taken for bytes that are there.
[[nodiscard]] Result<StoredTensors> read_tensors(const std::filesystem::path& path,
                                                 const std::vector<std::string>& input_names);

// The same values as `element_type` where the file could only carry them (see above); an exact match comes back as it
// is. bad_input names both types ("input 'x' is float64 in 'a.npz', the model wants float32").
[[nodiscard]] Result<tensor::Tensor> as_type(StoredTensor stored, std::int32_t element_type, const std::string& name);

// FILE.npz, or any other path: a folder, made if it is not there, one NAME.npy each. Files are made whole beside their
// place, then renamed; those that exist are replaced only with `overwrite`, else bad_input before anything is written.
// unsupported: an element type that NumPy's files cannot carry (float6).
[[nodiscard]] Result<void> write_tensors(const std::filesystem::path& path, const tensor::Tensors& tensors,
                                         bool overwrite);

}  // namespace precast::bench
