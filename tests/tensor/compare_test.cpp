#include "tensor/compare.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>

#include "tensor/element_type.hpp"

namespace precast::tensor {
namespace {

using ::testing::HasSubstr;

Tensor floats(const std::vector<float>& values) {
  Tensor tensor;
  tensor.element_type = kTypeFloat;
  tensor.shape = {static_cast<std::int64_t>(values.size())};
  tensor.bytes.resize(values.size() * sizeof(float));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Compare, EqualTensorsDoNotDiffer) {
  const Difference difference = compare(floats({1, -2, 3}), floats({1, -2, 3}));
  EXPECT_TRUE(difference.agrees());
  EXPECT_EQ(difference.max_abs, 0);
  EXPECT_EQ(difference.max_rel, 0);
  EXPECT_NEAR(difference.cosine, 1, 1e-12);
  EXPECT_EQ(difference.why(), "");
}

TEST(Compare, TheLargestDifferencesAreOfTheElements) {
  const Difference difference = compare(floats({1.5F, 100, 0.5F}), floats({1, 101, 0}));
  EXPECT_DOUBLE_EQ(difference.max_abs, 1);
  EXPECT_DOUBLE_EQ(difference.max_rel, 0.5);
  EXPECT_TRUE(difference.agrees());
}

TEST(Compare, AnotherDirectionDoesNotAgree) {
  const Difference difference = compare(floats({1, 0}), floats({0, 1}));
  EXPECT_EQ(difference.cosine, 0);
  EXPECT_FALSE(difference.agrees());
  EXPECT_THAT(difference.why(), HasSubstr("cosine is 0.0000"));
  EXPECT_FALSE(compare(floats({0, 0}), floats({1, 1})).agrees());
  EXPECT_TRUE(compare(floats({0, 0}), floats({0, 0})).agrees());
}

TEST(Compare, TheSameDirectionAndAnotherLengthDoesNotAgree) {
  const Difference thousand = compare(floats({1000, -2000, 3000}), floats({1, -2, 3}));
  EXPECT_NEAR(thousand.cosine, 1, 1e-12);
  EXPECT_NEAR(thousand.scale, 1000, 1e-9);
  EXPECT_FALSE(thousand.agrees());
  EXPECT_THAT(thousand.why(), HasSubstr("1000 times as large"));
  EXPECT_FALSE(compare(floats({5}), floats({1})).agrees()) << "of one element the cosine says nothing";
  EXPECT_TRUE(compare(floats({1.05F, 2.1F}), floats({1, 2})).agrees());
  EXPECT_FALSE(compare(floats({1, 1}), floats({0, 0})).agrees());
}

TEST(Compare, WhatIsLargeOrSmallDoesNotLeaveADoublesRange) {
  const auto doubles = [](std::vector<double> values) {
    Tensor tensor{.element_type = 11, .shape = {static_cast<std::int64_t>(values.size())}, .bytes = {}, .strings = {}};
    tensor.bytes.resize(values.size() * sizeof(double));
    std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
    return tensor;
  };
  for (const double unit : {1e200, 1e-200}) {
    EXPECT_TRUE(compare(doubles({unit, -2 * unit}), doubles({unit, -2 * unit})).agrees()) << unit;
    EXPECT_FALSE(compare(doubles({unit, 2 * unit}), doubles({unit, -2 * unit})).agrees()) << unit;
  }
  EXPECT_LE(compare(doubles({0.1, 0.2, 0.3}), doubles({0.1, 0.2, 0.3})).cosine, 1);
}

TEST(Compare, WhatIsNotFiniteWhereTheReferenceIsDoesNotAgree) {
  EXPECT_EQ(compare(floats({kNan, 1, kInfinity}), floats({1, 1, 1})).not_finite, 2U);
  EXPECT_FALSE(compare(floats({kNan, 1, 1}), floats({1, 1, 1})).agrees());
  EXPECT_TRUE(compare(floats({kNan, 1, 5}), floats({kNan, 1, kInfinity})).agrees());
}

TEST(Compare, AnotherTypeOrShapeIsNamed) {
  Tensor other = floats({1, 2});
  other.shape = {2, 1};
  EXPECT_THAT(compare(other, floats({1, 2})).why(), HasSubstr("float32[2, 1] where the reference is float32[2]"));
}

TEST(Compare, StringsAgreeWhenTheyAreEqual) {
  Tensor text;
  text.element_type = kTypeString;
  text.shape = {1};
  text.strings = {"a"};
  EXPECT_TRUE(compare(text, text).agrees());
  Tensor other = text;
  other.strings = {"b"};
  EXPECT_FALSE(compare(other, text).agrees());
}

TEST(Compare, ASummaryIsOfTheFiniteElements) {
  const Summary summary = summarize(floats({3, kNan, -1, kInfinity}));
  EXPECT_EQ(summary.counted, 2U);
  EXPECT_EQ(summary.min, -1);
  EXPECT_EQ(summary.max, 3);
  EXPECT_EQ(summary.mean, 1);
  EXPECT_EQ(summarize(floats({kNan})).counted, 0U);
}

}  // namespace
}  // namespace precast::tensor
