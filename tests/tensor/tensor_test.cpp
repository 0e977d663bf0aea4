#include "tensor/tensor.hpp"

#include <gtest/gtest.h>

#include "onnx/onnx.pb.h"

namespace precast::tensor {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 40;

TEST(Tensor, ElementsOfAScalarAnEmptyAndAnImpossibleShape) {
  EXPECT_EQ(element_count({}), 1U);
  EXPECT_EQ(element_count(std::vector<std::int64_t>{2, 3, 4}), 24U);
  EXPECT_EQ(element_count(std::vector<std::int64_t>{kHuge, 0}), 0U);
  EXPECT_EQ(element_count(std::vector<std::int64_t>{kHuge, kHuge}), std::nullopt);
  EXPECT_EQ(element_count(std::vector<std::int64_t>{2, -1}), std::nullopt);
}

TEST(Tensor, BytesOfWholeAndOfPackedElements) {
  EXPECT_EQ(byte_count(onnx::TensorProto::FLOAT, 3), 12U);
  EXPECT_EQ(byte_count(onnx::TensorProto::INT4, 3), 2U);
  EXPECT_EQ(byte_count(onnx::TensorProto::BOOL, 3), 3U);
  EXPECT_EQ(byte_count(onnx::TensorProto::STRING, 3), std::nullopt);
  EXPECT_EQ(byte_count(onnx::TensorProto::DOUBLE, std::uint64_t{1} << 60U), std::nullopt);
}

TEST(Tensor, AShapeInWords) {
  EXPECT_EQ(shape_text({}), "[]");
  EXPECT_EQ(shape_text(std::vector<std::int64_t>{1, -1, 3}), "[1, ?, 3]");
}

}  // namespace
}  // namespace precast::tensor
