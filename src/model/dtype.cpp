#include "model/dtype.hpp"

#include <array>
#include <cstddef>
#include <string_view>

#include "model/model_facts.hpp"

namespace precast::model {
namespace {

struct ElementType {
  std::string_view name;
  unsigned bits = 0;
};

// In the order of TensorProto.DataType.
constexpr std::array kElementTypes = {
    ElementType{"unknown", 0},
    ElementType{"float32", 32},
    ElementType{"uint8", 8},
    ElementType{"int8", 8},
    ElementType{"uint16", 16},
    ElementType{"int16", 16},
    ElementType{"int32", 32},
    ElementType{"int64", 64},
    ElementType{"str", 0},
    ElementType{"bool", 8},
    ElementType{"float16", 16},
    ElementType{"float64", 64},
    ElementType{"uint32", 32},
    ElementType{"uint64", 64},
    ElementType{"complex64", 64},
    ElementType{"complex128", 128},
    ElementType{"bfloat16", 16},
    ElementType{"float8_e4m3fn", 8},
    ElementType{"float8_e4m3fnuz", 8},
    ElementType{"float8_e5m2", 8},
    ElementType{"float8_e5m2fnuz", 8},
    ElementType{"uint4", 4},
    ElementType{"int4", 4},
    ElementType{"float4_e2m1fn", 4},
    ElementType{"float8_e8m0fnu", 8},
    ElementType{"uint2", 2},
    ElementType{"int2", 2},
    // How six-bit elements are packed is not settled for external data: no size is claimed.
    ElementType{"float6_e2m3fn", 0},
    ElementType{"float6_e3m2fn", 0},
};

const ElementType& element(std::int32_t element_type) {
  const auto index = static_cast<std::size_t>(element_type);
  return element_type >= 0 && index < kElementTypes.size() ? kElementTypes.at(index) : kElementTypes.front();
}

}  // namespace

std::string_view dtype_name(std::int32_t element_type) {
  return element(element_type).name;
}

std::int32_t element_type_of(std::string_view name) {
  for (std::size_t i = 1; i < kElementTypes.size(); ++i) {
    if (kElementTypes.at(i).name == name) return static_cast<std::int32_t>(i);
  }
  return 0;
}

unsigned element_bits(std::int32_t element_type) {
  return element(element_type).bits;
}

std::uint64_t bytes_of(const StoredWeights& weights) {
  const std::uint64_t bits = element_bits(weights.element_type);
  return weights.elements / 8 * bits + (weights.elements % 8 * bits + 7) / 8;
}

}  // namespace precast::model
