#include "bench/element.hpp"

#include <cstddef>

#include "model/dtype.hpp"

namespace precast::bench {
namespace {

constexpr unsigned kByteBits = 8;

// The value of the low `bits` in two's complement.
std::byte extend_sign(std::byte element, unsigned bits) {
  const auto sign = std::byte{1} << (bits - 1);
  const bool negative = (element & sign) != std::byte{0};
  return negative ? element | (std::byte{0xFF} << bits) : element;
}

}  // namespace

bool is_packed(std::int32_t element_type) {
  const unsigned bits = model::element_bits(element_type);
  return bits == 4 || bits == 2;
}

bool is_signed_packed(std::int32_t element_type) {
  return element_type == tensor::kTypeInt4 || element_type == tensor::kTypeInt2;
}

std::vector<std::byte> unpack(std::span<const std::byte> packed, std::int32_t element_type, std::uint64_t elements) {
  const unsigned bits = model::element_bits(element_type);
  const unsigned per_byte = kByteBits / bits;
  const auto mask = std::byte{0xFF} >> (kByteBits - bits);
  std::vector<std::byte> unpacked(static_cast<std::size_t>(elements));
  for (std::size_t i = 0; i < unpacked.size(); ++i) {
    const auto place = static_cast<unsigned>(i % per_byte) * bits;
    unpacked[i] = (packed[i / per_byte] >> place) & mask;
    if (is_signed_packed(element_type)) unpacked[i] = extend_sign(unpacked[i], bits);
  }
  return unpacked;
}

std::vector<std::byte> pack(std::span<const std::byte> elements, std::int32_t element_type) {
  const unsigned bits = model::element_bits(element_type);
  const unsigned per_byte = kByteBits / bits;
  const auto mask = std::byte{0xFF} >> (kByteBits - bits);
  std::vector<std::byte> packed((elements.size() + per_byte - 1) / per_byte);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const auto place = static_cast<unsigned>(i % per_byte) * bits;
    packed[i / per_byte] |= (elements[i] & mask) << place;
  }
  return packed;
}

void normalize_bools(std::span<std::byte> bytes) {
  for (std::byte& one : bytes) one = one == std::byte{0} ? std::byte{0} : std::byte{1};
}

}  // namespace precast::bench
