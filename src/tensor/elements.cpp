#include "tensor/elements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "model/dtype.hpp"
#include "tensor/element_type.hpp"

namespace precast::tensor {

namespace {

// A binary floating-point format narrower than 32 bits.
struct Narrow {
  unsigned exponent_bits = 0;
  unsigned mantissa_bits = 0;
  int bias = 0;
  enum class Specials : std::uint8_t { ieee, finite_with_nan, unsigned_zero_with_nan, none, exponent_only };
  Specials specials = Specials::ieee;
};

const Narrow* narrow(std::int32_t element_type) {
  using enum Narrow::Specials;
  static constexpr Narrow kFloat16{5, 10, 15, ieee};
  static constexpr Narrow kBfloat16{8, 7, 127, ieee};
  static constexpr Narrow kE4M3FN{4, 3, 7, finite_with_nan};
  static constexpr Narrow kE4M3FNUZ{4, 3, 8, unsigned_zero_with_nan};
  static constexpr Narrow kE5M2{5, 2, 15, ieee};
  static constexpr Narrow kE5M2FNUZ{5, 2, 16, unsigned_zero_with_nan};
  static constexpr Narrow kE2M1{2, 1, 1, none};
  static constexpr Narrow kE8M0{8, 0, 127, exponent_only};
  switch (element_type) {
    case kTypeFloat16:
      return &kFloat16;
    case kTypeBfloat16:
      return &kBfloat16;
    case kTypeFloat8E4M3FN:
      return &kE4M3FN;
    case kTypeFloat8E4M3FNUZ:
      return &kE4M3FNUZ;
    case kTypeFloat8E5M2:
      return &kE5M2;
    case kTypeFloat8E5M2FNUZ:
      return &kE5M2FNUZ;
    case kTypeFloat4E2M1:
      return &kE2M1;
    case kTypeFloat8E8M0:
      return &kE8M0;
    default:
      return nullptr;
  }
}

bool is_nan(const Narrow& type, std::uint64_t code, std::uint64_t exponent, std::uint64_t mantissa) {
  const std::uint64_t highest = (std::uint64_t{1} << type.exponent_bits) - 1;
  switch (type.specials) {
    case Narrow::Specials::ieee:
      return exponent == highest && mantissa != 0;
    case Narrow::Specials::finite_with_nan:
      return exponent == highest && mantissa == (std::uint64_t{1} << type.mantissa_bits) - 1;
    case Narrow::Specials::unsigned_zero_with_nan:
      return code == std::uint64_t{1} << (type.exponent_bits + type.mantissa_bits);
    case Narrow::Specials::exponent_only:
      return exponent == highest;
    case Narrow::Specials::none:
      break;
  }
  return false;
}

double decode(const Narrow& type, std::uint64_t code) {
  const std::uint64_t mantissa = code & ((std::uint64_t{1} << type.mantissa_bits) - 1);
  const std::uint64_t exponent = (code >> type.mantissa_bits) & ((std::uint64_t{1} << type.exponent_bits) - 1);
  const bool negative = (code >> (type.exponent_bits + type.mantissa_bits) & 1U) != 0;
  if (is_nan(type, code, exponent, mantissa)) return std::numeric_limits<double>::quiet_NaN();
  const bool highest = exponent == (std::uint64_t{1} << type.exponent_bits) - 1;
  double value = 0;
  if (highest && type.specials == Narrow::Specials::ieee) {
    value = std::numeric_limits<double>::infinity();
  } else if (exponent == 0 && type.specials != Narrow::Specials::exponent_only) {
    value = std::ldexp(static_cast<double>(mantissa), 1 - type.bias - static_cast<int>(type.mantissa_bits));
  } else {
    value = std::ldexp(1 + std::ldexp(static_cast<double>(mantissa), -static_cast<int>(type.mantissa_bits)),
                       static_cast<int>(exponent) - type.bias);
  }
  return negative ? -value : value;
}

// Of a finite value in the type's range.
std::uint64_t encode(const Narrow& type, double value) {
  const std::uint64_t sign = std::signbit(value) ? std::uint64_t{1} << (type.exponent_bits + type.mantissa_bits) : 0;
  const double magnitude = std::fabs(value);
  if (type.specials == Narrow::Specials::exponent_only) {
    return magnitude == 0 ? 0 : static_cast<std::uint64_t>(std::lround(std::log2(magnitude)) + type.bias);
  }
  if (magnitude == 0) return type.specials == Narrow::Specials::unsigned_zero_with_nan ? 0 : sign;
  // Exponent and mantissa together count the representable numbers from zero up: rounding may carry from one to the
  // other.
  const int exponent = std::max(std::ilogb(magnitude), 1 - type.bias);
  const double scaled = std::ldexp(magnitude, static_cast<int>(type.mantissa_bits) - exponent);
  const auto mantissa = static_cast<std::uint64_t>(std::nearbyint(scaled));
  const auto below = static_cast<std::uint64_t>(exponent + type.bias - 1) << type.mantissa_bits;
  const std::uint64_t code = below + mantissa;
  return code == 0 && type.specials == Narrow::Specials::unsigned_zero_with_nan ? 0 : sign | code;
}

std::int64_t sign_extended(std::uint64_t code, unsigned width) {
  const unsigned unused = 64 - width;
  return std::bit_cast<std::int64_t>(code << unused) >> unused;
}

bool is_signed(std::int32_t element_type) {
  switch (element_type) {
    case kTypeInt8:
    case kTypeInt16:
    case kTypeInt32:
    case kTypeInt64:
    case kTypeInt4:
    case kTypeInt2:
      return true;
    default:
      return false;
  }
}

}  // namespace

Kind kind_of(std::int32_t element_type) {
  if (narrow(element_type) != nullptr) return Kind::floating;
  switch (element_type) {
    case kTypeFloat:
    case kTypeDouble:
      return Kind::floating;
    case kTypeBool:
      return Kind::boolean;
    case kTypeString:
      return Kind::text;
    case kTypeUint8:
    case kTypeUint16:
    case kTypeUint32:
    case kTypeUint64:
    case kTypeUint4:
    case kTypeUint2:
      return Kind::integer;
    default:
      return is_signed(element_type) ? Kind::integer : Kind::other;
  }
}

Bounds bounds_of(std::int32_t element_type) {
  if (element_type == kTypeDouble) return {-std::numeric_limits<double>::max(), std::numeric_limits<double>::max()};
  if (element_type == kTypeFloat) return {-std::numeric_limits<float>::max(), std::numeric_limits<float>::max()};
  if (const Narrow* type = narrow(element_type)) {
    double high = 0;
    const std::uint64_t codes = std::uint64_t{1} << model::element_bits(element_type);
    for (std::uint64_t code = 0; code < codes; ++code) {
      const double value = decode(*type, code);
      if (std::isfinite(value)) high = std::max(high, value);
    }
    return {type->specials == Narrow::Specials::exponent_only ? 0 : -high, high};
  }
  const auto bits = static_cast<int>(element_type == kTypeBool ? 1 : model::element_bits(element_type));
  if (is_signed(element_type)) return {-std::ldexp(1, bits - 1), std::ldexp(1, bits - 1) - 1};
  return {0, std::ldexp(1, bits) - 1};
}

ElementReader::ElementReader(const Tensor& tensor)
    : tensor_(tensor), width_(model::element_bits(tensor.element_type)) {}

std::uint64_t ElementReader::bits(std::uint64_t index) const {
  if (width_ < 8) {
    const auto byte = std::to_integer<std::uint64_t>(tensor_.bytes[index * width_ / 8]);
    return byte >> (index * width_ % 8) & ((std::uint64_t{1} << width_) - 1);
  }
  std::uint64_t code = 0;
  const std::uint64_t size = width_ / 8;
  for (std::uint64_t i = 0; i < size; ++i) {
    code |= std::to_integer<std::uint64_t>(tensor_.bytes[index * size + i]) << (8 * i);
  }
  return code;
}

double ElementReader::operator[](std::uint64_t index) const {
  const std::uint64_t code = bits(index);
  if (const Narrow* type = narrow(tensor_.element_type)) return decode(*type, code);
  switch (tensor_.element_type) {
    case kTypeFloat:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(code)));
    case kTypeDouble:
      return std::bit_cast<double>(code);
    default:
      return is_signed(tensor_.element_type) ? static_cast<double>(sign_extended(code, width_))
                                             : static_cast<double>(code);
  }
}

std::uint64_t encode_element(std::int32_t element_type, double value) {
  if (const Narrow* type = narrow(element_type)) return encode(*type, value);
  switch (element_type) {
    case kTypeFloat:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case kTypeDouble:
      return std::bit_cast<std::uint64_t>(value);
    default:
      break;
  }
  const std::uint64_t code =
      value < 0 ? std::bit_cast<std::uint64_t>(static_cast<std::int64_t>(value)) : static_cast<std::uint64_t>(value);
  const unsigned width = model::element_bits(element_type);
  return width < 64 ? code & ((std::uint64_t{1} << width) - 1) : code;
}

void write_element(Tensor& tensor, std::uint64_t index, std::uint64_t code) {
  const unsigned width = model::element_bits(tensor.element_type);
  if (width < 8) {
    const std::uint64_t shift = index * width % 8;
    const std::uint64_t mask = ((std::uint64_t{1} << width) - 1) << shift;
    std::byte& byte = tensor.bytes[index * width / 8];
    byte = static_cast<std::byte>((std::to_integer<std::uint64_t>(byte) & ~mask) | (code << shift & mask));
    return;
  }
  const std::uint64_t size = width / 8;
  for (std::uint64_t i = 0; i < size; ++i) tensor.bytes[index * size + i] = static_cast<std::byte>(code >> (8 * i));
}

}  // namespace precast::tensor
