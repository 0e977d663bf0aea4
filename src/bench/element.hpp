// The numbers of TensorProto.DataType that the files here speak of, and how elements of less than a byte are packed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace precast::bench {

namespace element {
constexpr std::int32_t kFloat32 = 1;
constexpr std::int32_t kUint8 = 2;
constexpr std::int32_t kInt8 = 3;
constexpr std::int32_t kUint16 = 4;
constexpr std::int32_t kInt16 = 5;
constexpr std::int32_t kInt32 = 6;
constexpr std::int32_t kInt64 = 7;
constexpr std::int32_t kString = 8;
constexpr std::int32_t kBool = 9;
constexpr std::int32_t kFloat16 = 10;
constexpr std::int32_t kFloat64 = 11;
constexpr std::int32_t kUint32 = 12;
constexpr std::int32_t kUint64 = 13;
constexpr std::int32_t kComplex64 = 14;
constexpr std::int32_t kComplex128 = 15;
constexpr std::int32_t kBfloat16 = 16;
constexpr std::int32_t kFloat8E4m3fn = 17;
constexpr std::int32_t kFloat8E4m3fnuz = 18;
constexpr std::int32_t kFloat8E5m2 = 19;
constexpr std::int32_t kFloat8E5m2fnuz = 20;
constexpr std::int32_t kUint4 = 21;
constexpr std::int32_t kInt4 = 22;
constexpr std::int32_t kFloat4E2m1fn = 23;
constexpr std::int32_t kFloat8E8m0fnu = 24;
constexpr std::int32_t kUint2 = 25;
constexpr std::int32_t kInt2 = 26;
}  // namespace element

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
