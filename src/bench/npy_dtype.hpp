// NumPy's dtypes that ONNX has a type for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bench/source.hpp"
#include "precast/error.hpp"

namespace precast::bench {

struct NpyDtype {
  enum class Kind : std::uint8_t {
    number,
    raw,        // 'V1', 'V2'
    bytes,      // 'S5': text, padded with NULs
    characters  // 'U5': the same in UCS-4
  };
  Kind kind = Kind::number;
  std::int32_t element_type = 0;  // of raw elements: uint8, uint16
  std::uint64_t item_bytes = 0;   // of one element in the file
  std::size_t swap_bytes = 0;     // units of so many bytes are big-endian; 0: nothing to swap
};

// bad_input for those that ONNX does not have, each by its name.
[[nodiscard]] Result<NpyDtype> parse_npy_dtype(std::string_view descr, const Place& place);

// As which dtype elements are written, one element each; empty for types that no file here can hold. "<U" wants the
// length behind it.
[[nodiscard]] std::string_view written_dtype(std::int32_t element_type);

}  // namespace precast::bench
