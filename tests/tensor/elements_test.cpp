#include "tensor/elements.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "model/dtype.hpp"
#include "model/model_facts.hpp"
#include "tensor/element_type.hpp"

namespace precast::tensor {
namespace {

Tensor of_one(std::int32_t element_type, std::uint64_t code) {
  Tensor tensor;
  tensor.element_type = element_type;
  tensor.shape = {1};
  tensor.bytes.resize(*byte_count(element_type, 1));
  write_element(tensor, 0, code);
  return tensor;
}

double value_of(std::int32_t element_type, std::uint64_t code) {
  return ElementReader(of_one(element_type, code))[0];
}

struct Known {
  std::int32_t element_type;
  std::uint64_t code;
  double value;
};

class KnownCodes : public ::testing::TestWithParam<Known> {};

TEST_P(KnownCodes, HaveTheValuesOfTheirStandards) {
  const auto& [element_type, code, value] = GetParam();
  EXPECT_EQ(value_of(element_type, code), value) << model::dtype_name(element_type) << " " << code;
  if (std::isfinite(value)) {
    EXPECT_EQ(encode_element(element_type, value), code);
  }
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
INSTANTIATE_TEST_SUITE_P(OfEveryType, KnownCodes,
                         ::testing::Values(Known{kTypeFloat, 0x3f800000, 1}, Known{kTypeDouble, 0x4000000000000000, 2},
                                           Known{kTypeFloat16, 0x3c00, 1}, Known{kTypeFloat16, 0x7bff, 65504},
                                           Known{kTypeFloat16, 0x0001, std::ldexp(1, -24)},
                                           Known{kTypeFloat16, 0xfc00, -kInfinity}, Known{kTypeBfloat16, 0x3f80, 1},
                                           Known{kTypeBfloat16, 0xc000, -2}, Known{kTypeFloat8E4M3FN, 0x7e, 448},
                                           Known{kTypeFloat8E4M3FNUZ, 0x7f, 240}, Known{kTypeFloat8E5M2, 0x7b, 57344},
                                           Known{kTypeFloat8E5M2, 0x7c, kInfinity},
                                           Known{kTypeFloat8E5M2FNUZ, 0x7f, 57344}, Known{kTypeFloat4E2M1, 0x7, 6},
                                           Known{kTypeFloat4E2M1, 0x1, 0.5}, Known{kTypeFloat8E8M0, 127, 1},
                                           Known{kTypeFloat8E8M0, 0, std::ldexp(1, -127)}, Known{kTypeInt4, 0x8, -8},
                                           Known{kTypeInt2, 0x3, -1}, Known{kTypeUint4, 0xf, 15},
                                           Known{kTypeInt8, 0xff, -1}, Known{kTypeUint8, 0xff, 255},
                                           Known{kTypeInt64, 5, 5}, Known{kTypeUint64, 1ULL << 40U, 0x1p40},
                                           Known{kTypeBool, 1, 1}));

TEST(Elements, CodesThatAreNoNumberAreRead) {
  for (const auto& [element_type, code] : {std::pair{kTypeFloat16, 0x7e00U},
                                           {kTypeBfloat16, 0x7fc0U},
                                           {kTypeFloat8E4M3FN, 0x7fU},
                                           {kTypeFloat8E4M3FNUZ, 0x80U},
                                           {kTypeFloat8E5M2, 0x7dU},
                                           {kTypeFloat8E8M0, 0xffU}}) {
    EXPECT_TRUE(std::isnan(value_of(element_type, code))) << model::dtype_name(element_type);
  }
}

TEST(Elements, EveryFiniteCodeOfANarrowTypeComesBack) {
  for (const std::int32_t type : {kTypeFloat16, kTypeBfloat16, kTypeFloat8E4M3FN, kTypeFloat8E4M3FNUZ, kTypeFloat8E5M2,
                                  kTypeFloat8E5M2FNUZ, kTypeFloat4E2M1, kTypeFloat8E8M0}) {
    const std::uint64_t codes = std::uint64_t{1} << model::element_bits(type);
    std::uint64_t finite = 0;
    for (std::uint64_t code = 0; code < codes; ++code) {
      const double value = value_of(type, code);
      if (!std::isfinite(value)) continue;
      ++finite;
      EXPECT_EQ(encode_element(type, value), code) << model::dtype_name(type);
    }
    EXPECT_GT(finite, codes * 9 / 10) << model::dtype_name(type);
  }
}

TEST(Elements, BetweenTwoCodesTheNearestOneAndOfEquallyNearOnesTheEvenOne) {
  EXPECT_EQ(encode_element(kTypeFloat16, 1 + std::ldexp(1, -11)), 0x3c00U);
  EXPECT_EQ(encode_element(kTypeFloat16, 1 + 3 * std::ldexp(1, -11)), 0x3c02U);
  EXPECT_EQ(encode_element(kTypeFloat16, 1.9999), 0x4000U);  // carries into the exponent
  EXPECT_EQ(encode_element(kTypeBfloat16, 0.3), 0x3e9aU);
}

TEST(Elements, PackedElementsLieFromTheLowBitsUp) {
  Tensor tensor;
  tensor.element_type = kTypeInt4;
  tensor.shape = {3};
  tensor.bytes.resize(2);
  for (std::uint64_t i = 0; i < 3; ++i)
    write_element(tensor, i, encode_element(kTypeInt4, -1.0 - static_cast<double>(i)));
  EXPECT_EQ(tensor.bytes, (std::vector{std::byte{0xef}, std::byte{0x0d}}));
  const ElementReader values(tensor);
  EXPECT_EQ(values[0], -1);
  EXPECT_EQ(values[1], -2);
  EXPECT_EQ(values[2], -3);
}

}  // namespace
}  // namespace precast::tensor
