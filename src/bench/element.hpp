// How elements of less than a byte are packed, and what a bool is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/element_type.hpp"

namespace precast::bench {

[[nodiscard]] bool is_packed(std::int32_t element_type);  // several elements share a byte
// int4 and int2: the byte that carries one element is its value, else its bits.
[[nodiscard]] bool is_signed_packed(std::int32_t element_type);

// `elements` packed ones to a byte each. `packed` holds them all.
[[nodiscard]] std::vector<std::byte> unpack(std::span<const std::byte> packed, std::int32_t element_type,
                                            std::uint64_t elements);
// The other way: only the low bits of each byte are taken.
[[nodiscard]] std::vector<std::byte> pack(std::span<const std::byte> elements, std::int32_t element_type);

// NumPy's True is 1, ONNX's too; any other byte that is not 0 is taken for it.
void normalize_bools(std::span<std::byte> bytes);

}  // namespace precast::bench
