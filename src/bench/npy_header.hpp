// The head of a .npy file (NumPy's format 1.0, 2.0 and 3.0):
//
//   file   = "\x93NUMPY" major minor length dict values
//   length = 2 bytes (1.0) or 4 bytes (2.0, 3.0), little-endian: of the dict
//   dict   = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }", blanks, newline: a Python literal
//
// written so that the values begin at a multiple of 64 bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/source.hpp"
#include "precast/error.hpp"

namespace precast::bench {

struct NpyHeader {
  std::string descr;  // NumPy's name of the dtype: "<f4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;  // none negative
};

// Reads up to where the values begin. bad_input: not the format, a later version, structured or sub-array dtypes, ...
[[nodiscard]] Result<NpyHeader> read_npy_header(ByteSource& source);
// The dict alone.
[[nodiscard]] Result<NpyHeader> parse_npy_dict(std::string_view text, const Place& place);
// Everything before the values, in C order; version 1.0, or 2.0 where its length does not do.
[[nodiscard]] std::string format_npy_header(std::string_view descr, std::span<const std::int64_t> shape);

}  // namespace precast::bench
