#include "compile/embedding.hpp"

#include <gmock/gmock.h>

#include "compile/support.hpp"
#include "onnx/onnx.pb.h"
#include "tensor/element_type.hpp"

namespace precast::compile {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::ResolverTest;

constexpr std::uint64_t kElements = (std::uint64_t{1} << 31U) / 4;  // of 4 bytes: one byte too many

model::ModelFacts weights_of(std::int32_t element_type, std::uint64_t elements) {
  model::ModelFacts facts;
  facts.stored_weights.push_back({element_type, 1, elements});
  return facts;
}

ort::Target target_of(const char* alias) {
  ort::Target target;
  target.ep.found.name = alias;
  target.ep.found.spec = ort::find_ep(alias);
  return target;
}

TEST(Embeddable, WhatAnOnnxFileCanHold) {
  EXPECT_TRUE(check_embeddable(weights_of(tensor::kTypeFloat, kElements - 1), target_of("openvino"), "m.onnx"));
  const auto refused = check_embeddable(weights_of(tensor::kTypeFloat, kElements), target_of("openvino"), "m.onnx");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::bad_input);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("m.onnx"), HasSubstr("2 GiB")));
  EXPECT_THAT(refused.error().hint, HasSubstr("--embed"));
  EXPECT_TRUE(check_embeddable(weights_of(tensor::kTypeUint8, kElements), target_of("openvino"), "m.onnx"));
}

// QNN's HTP keeps floats in 16 bits.
TEST(Embeddable, FloatsAreAsWideAsTheEpKeepsThem) {
  EXPECT_TRUE(check_embeddable(weights_of(tensor::kTypeFloat, kElements), target_of("qnn"), "m.onnx"));
  EXPECT_FALSE(check_embeddable(weights_of(tensor::kTypeFloat, 2 * kElements), target_of("qnn"), "m.onnx"));
  EXPECT_FALSE(check_embeddable(weights_of(tensor::kTypeInt32, kElements), target_of("qnn"), "m.onnx"));
}

// 2 GiB of weights that no disk holds: the data file is one hole.
TEST_F(ResolverTest, EmbeddingWhatDoesNotFitIsRefusedBeforeAnythingIsCompiled) {
  const auto path = model("large.onnx", false);
  onnx::ModelProto proto;
  proto.ParseFromString(precast::testing::read_file(path));
  onnx::TensorProto& hole = *proto.mutable_graph()->add_initializer();
  hole.set_name("hole");
  hole.set_data_type(tensor::kTypeFloat);
  hole.add_dims(kElements);
  hole.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto& location = *hole.add_external_data();
  location.set_key("location");
  location.set_value("hole.data");
  precast::testing::write_file(path, proto.SerializeAsString());
  precast::testing::write_file(folder_ / "hole.data", "");
  std::filesystem::resize_file(folder_ / "hole.data", 4 * kElements);
  Request wanted = request(path);
  wanted.embed = true;
  const auto refused = resolver_->resolve(wanted);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::bad_input);
  EXPECT_THAT(refused.error().message, HasSubstr("large.onnx"));
  EXPECT_EQ(compiles(), 0U);
}

}  // namespace
}  // namespace precast::compile
