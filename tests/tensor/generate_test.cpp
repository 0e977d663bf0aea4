#include "tensor/generate.hpp"

#include <algorithm>
#include <tuple>

#include <gmock/gmock.h>

#include "model/model_facts.hpp"
#include "tensor/element_type.hpp"
#include "tensor/elements.hpp"
#include "util/sha256.hpp"

namespace precast::tensor {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Lt;
using ::testing::UnorderedElementsAre;

InputSpec input(std::string name, std::int32_t type, std::vector<std::int64_t> shape,
                std::vector<std::string> dimensions = {}) {
  return {std::move(name), type, std::move(shape), std::move(dimensions), std::nullopt};
}

Tensors generate(const std::vector<InputSpec>& inputs, const Wanted& wanted = {}) {
  auto made = generate_inputs(inputs, wanted);
  EXPECT_TRUE(made) << made.error().message;
  return made ? std::move(*made) : Tensors{};
}

Error refused(const std::vector<InputSpec>& inputs, const Wanted& wanted) {
  const auto made = generate_inputs(inputs, wanted);
  EXPECT_FALSE(made);
  return made ? Error{} : made.error();
}

std::vector<double> values(const Tensor& tensor) {
  std::vector<double> all(*element_count(tensor.shape));
  const ElementReader read(tensor);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = read[i];
  return all;
}

TEST(Generate, OpenSizesFollowTheirNamesAndTheirPlace) {
  const Tensors made = generate({input("image", kTypeFloat, {-1, -1, -1, -1}),
                                 input("tokens", kTypeInt64, {-1, -1}, {"batch", "sequence"}),
                                 input("planes", kTypeFloat, {-1, -1, -1}, {"n", "num_channels", "height"})});
  EXPECT_THAT(made.at("image").shape, ElementsAre(1, 3, 224, 224));
  EXPECT_THAT(made.at("tokens").shape, ElementsAre(1, 128));
  EXPECT_THAT(made.at("planes").shape, ElementsAre(1, 3, 224));
}

TEST(Generate, OneSymbolHasOneSizeEverywhere) {
  const std::vector<InputSpec> inputs{input("a", kTypeFloat, {-1, -1}, {"batch", "n"}),
                                      input("b", kTypeFloat, {-1, -1}, {"n", "batch"})};
  Tensors made = generate(inputs);
  EXPECT_THAT(made.at("a").shape, ElementsAre(1, 128));
  EXPECT_THAT(made.at("b").shape, ElementsAre(128, 1));
  made = generate(inputs, {.dimensions = {{"n", 7}}});
  EXPECT_THAT(made.at("b").shape, ElementsAre(7, 1));
  made = generate(inputs, {.shapes = {{"a", {4, 9}}}});
  EXPECT_THAT(made.at("a").shape, ElementsAre(4, 9));
  EXPECT_THAT(made.at("b").shape, ElementsAre(9, 4));
  made = generate(inputs, {.batch = 2});
  EXPECT_THAT(made.at("a").shape, ElementsAre(2, 128));
}

TEST(Generate, IntegersFollowTheirNames) {
  const Tensors made =
      generate({input("attention_mask", kTypeInt64, {1, 4}), input("token_type_ids", kTypeInt64, {1, 4}),
                input("position_ids", kTypeInt64, {2, 3}), input("input_ids", kTypeInt32, {1, 64})});
  EXPECT_THAT(values(made.at("attention_mask")), Each(1));
  EXPECT_THAT(values(made.at("token_type_ids")), Each(0));
  EXPECT_THAT(values(made.at("position_ids")), ElementsAre(0, 1, 2, 0, 1, 2));
  EXPECT_THAT(values(made.at("input_ids")), Each(AllOf(Ge(0), Lt(2))));
  EXPECT_THAT(values(made.at("input_ids")), ::testing::Contains(1));
}

TEST(Generate, AnIndexStaysInsideItsTable) {
  InputSpec ids = input("input_ids", kTypeInt64, {1, 256});
  ids.index_limit = 30;
  InputSpec positions = input("position_ids", kTypeInt64, {1, 40});
  positions.index_limit = 16;
  const Tensors made = generate({ids, positions});
  EXPECT_THAT(values(made.at("input_ids")), Each(AllOf(Ge(0), Lt(30))));
  EXPECT_GT(std::ranges::max(values(made.at("input_ids"))), 20);
  EXPECT_THAT(values(made.at("position_ids")), Each(Lt(16)));
}

TEST(Generate, ARangeWinsOverEveryRule) {
  const Tensors made = generate({input("attention_mask", kTypeInt64, {1, 64}), input("x", kTypeFloat, {64})},
                                {.ranges = {{"attention_mask", {5, 8}}, {"x", {-2, -1}}}});
  EXPECT_THAT(values(made.at("attention_mask")), Each(AllOf(Ge(5), Lt(8))));
  EXPECT_THAT(values(made.at("x")), Each(AllOf(Ge(-2), Lt(-1))));
}

class EveryType : public ::testing::TestWithParam<std::int32_t> {};

TEST_P(EveryType, IsMadeUpWithinItsBounds) {
  const Tensors made = generate({input("x", GetParam(), {3, 5})});
  const Tensor& tensor = made.at("x");
  EXPECT_EQ(tensor.element_type, GetParam());
  if (GetParam() == kTypeString) {
    EXPECT_THAT(tensor.strings, ::testing::SizeIs(15));
    return;
  }
  EXPECT_EQ(tensor.bytes.size(), *byte_count(GetParam(), 15));
  EXPECT_THAT(values(tensor), Each(AllOf(Ge(0), ::testing::Le(1))));
  EXPECT_THAT(values(tensor), ::testing::Contains(::testing::Gt(0)));
}

INSTANTIATE_TEST_SUITE_P(OfOnnx, EveryType,
                         ::testing::Values(kTypeFloat, kTypeUint8, kTypeInt8, kTypeUint16, kTypeInt16, kTypeInt32,
                                           kTypeInt64, kTypeString, kTypeBool, kTypeFloat16, kTypeDouble, kTypeUint32,
                                           kTypeUint64, kTypeBfloat16, kTypeFloat8E4M3FN, kTypeFloat8E4M3FNUZ,
                                           kTypeFloat8E5M2, kTypeFloat8E5M2FNUZ, kTypeUint4, kTypeInt4, kTypeFloat4E2M1,
                                           kTypeFloat8E8M0, kTypeUint2),
                         [](const auto& one) { return std::string(model::dtype_name(one.param)); });

TEST(Generate, TheSameSeedGivesTheSameBytesAnywhereAndAnotherSeedOthers) {
  const std::vector<InputSpec> inputs{input("x", kTypeFloat, {4}), input("y", kTypeInt64, {4})};
  EXPECT_EQ(generate(inputs), generate(inputs));
  EXPECT_NE(generate(inputs), generate(inputs, {.seed = 1}));
  // An input's values do not depend on the others.
  EXPECT_EQ(generate(inputs).at("y"), generate({inputs[1]}).at("y"));
  util::Sha256 hash;
  hash.update(generate(inputs).at("x").bytes);
  EXPECT_EQ(hash.finish_hex().substr(0, 16), "c63cf4979efb22a8");
}

TEST(Generate, WhatTheModelDoesNotHaveIsNamed) {
  const std::vector<InputSpec> inputs{input("x", kTypeFloat, {-1, 4}, {"batch", ""})};
  EXPECT_THAT(refused(inputs, {.shapes = {{"y", {1}}}}).message, HasSubstr("no input 'y'"));
  const Error dimension = refused(inputs, {.dimensions = {{"sequence", 3}}});
  EXPECT_THAT(dimension.message, HasSubstr("no symbolic dimension 'sequence'"));
  EXPECT_THAT(dimension.hint, HasSubstr("'batch'"));
  EXPECT_THAT(refused(inputs, {.ranges = {{"z", {0, 1}}}}).message, HasSubstr("no input 'z'"));
}

TEST(Generate, WhatDoesNotFitIsNamed) {
  const std::vector<InputSpec> inputs{input("x", kTypeFloat, {-1, 4})};
  EXPECT_THAT(refused(inputs, {.shapes = {{"x", {2, 5}}}}).message,
              HasSubstr("[2, 5] does not fit input 'x', which is [?, 4]"));
  EXPECT_THAT(refused(inputs, {.shapes = {{"x", {0, 4}}}}).hint, HasSubstr("positive"));
  EXPECT_THAT(refused(inputs, {.shapes = {{"x", {4}}}}).message, HasSubstr("[4] does not fit"));
  EXPECT_THAT(refused(inputs, {.ranges = {{"x", {1, 1}}}}).message, HasSubstr("range of input 'x' is empty"));
  EXPECT_THAT(refused({input("c", kTypeComplex64, {1})}, {}).message, HasSubstr("input 'c' (complex64)"));
  EXPECT_THAT(refused({input("s", 0, {})}, {}).message, HasSubstr("not a tensor"));
}

TEST(Generate, ARangeStaysInsideItsType) {
  const auto range = [](std::int32_t type, double low, double high) {
    return generate_inputs(std::vector<InputSpec>{input("x", type, {8})}, {.ranges = {{"x", {low, high}}}});
  };
  EXPECT_TRUE(range(kTypeUint8, 0, 256));
  EXPECT_TRUE(range(kTypeInt4, -8, 8));
  EXPECT_TRUE(range(kTypeFloat16, -65504, 65504));
  EXPECT_TRUE(range(kTypeBool, 0, 2));
  for (const auto& [type, low, high] : {std::tuple(kTypeUint8, -1.0, 5.0),
                                        {kTypeUint8, 0.0, 257.0},
                                        {kTypeInt4, -9.0, 8.0},
                                        {kTypeFloat16, 0.0, 65505.0},
                                        {kTypeFloat, 1e38, 1e39},
                                        {kTypeBfloat16, 0.0, 1e39},
                                        {kTypeFloat8E4M3FN, 0.0, 449.0},
                                        {kTypeUint64, -1.0, 1.0},
                                        {kTypeFloat8E8M0, -1.0, 1.0}}) {
    const auto made = range(type, low, high);
    ASSERT_FALSE(made) << model::dtype_name(type);
    EXPECT_THAT(made.error().message, HasSubstr("the range of input 'x' leaves what "));
  }
  EXPECT_THAT(range(kTypeString, 0, 1).error().hint, HasSubstr("words"));
}

// ORT gives an input without a shape as it gives a scalar.
TEST(Generate, AnInputOfAnyRankTakesAnyShape) {
  const std::vector<InputSpec> inputs{input("x", kTypeFloat, {})};
  EXPECT_THAT(generate(inputs).at("x").shape, ElementsAre());
  EXPECT_THAT(generate(inputs, {.shapes = {{"x", {2, 3}}}}).at("x").shape, ElementsAre(2, 3));
}

TEST(Generate, MoreThanTheLimitIsRefusedBeforeAnythingIsMade) {
  const std::vector<InputSpec> inputs{input("a", kTypeFloat, {10}), input("b", kTypeFloat, {10})};
  EXPECT_TRUE(generate_inputs(inputs, {}, 80));
  const auto made = generate_inputs(inputs, {}, 79);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("input 'b' of the shape [10] is too large"));
  EXPECT_THAT(refused({input("a", kTypeFloat, {std::int64_t{1} << 40, std::int64_t{1} << 40})}, {}).message,
              HasSubstr("too large"));
}

}  // namespace
}  // namespace precast::tensor
