// .pb files: every field that values may stand in, and those that disagree.
#include "model/model_facts.hpp"
#include "tensor_support.hpp"

namespace precast::bench {
namespace {

onnx::TensorProto proto_of(std::int32_t type, std::initializer_list<std::int64_t> dims) {
  onnx::TensorProto proto;
  proto.set_data_type(type);
  for (const std::int64_t size : dims) proto.add_dims(size);
  return proto;
}

Result<StoredTensors> read_proto(std::string_view bytes, const std::vector<std::string>& input_names = {"x"}) {
  const TemporaryFolder folder;
  (void)folder.write("input_0.pb", bytes);
  return read_tensors(folder / "", input_names);
}

void expect_proto(const onnx::TensorProto& proto, const tensor::Tensor& wanted) {
  const auto read = read_proto(proto.SerializeAsString());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->at("x").tensor, wanted);
  EXPECT_FALSE(read->at("x").raw);
}

void expect_bad_proto(const onnx::TensorProto& proto, const std::string& words) {
  expect_bad(read_proto(proto.SerializeAsString()), "input_0.pb'", words);
}

TEST(TensorProto, RawDataOfEveryType) {
  for (std::int32_t type = Type::FLOAT; type < Type::FLOAT6E2M3; ++type) {
    if (type == Type::STRING) continue;
    auto proto = proto_of(type, {3});
    const std::size_t size = tensor::byte_count(type, 3).value_or(0);
    proto.set_raw_data(std::string(size, '\1'));
    expect_proto(proto, {.element_type = type, .shape = {3}, .bytes = std::vector<std::byte>(size, std::byte{1})});
  }
}

TEST(TensorProto, FloatData) {
  auto proto = proto_of(Type::FLOAT, {2});
  for (const float value : {1.5F, -2.0F}) proto.add_float_data(value);
  expect_proto(proto, floats({2}, {1.5F, -2}));
  proto.set_data_type(Type::COMPLEX64);
  proto.set_dims(0, 1);
  expect_proto(proto, make_tensor<float>(Type::COMPLEX64, {1}, {1.5F, -2}));
}

TEST(TensorProto, DoubleData) {
  auto proto = proto_of(Type::DOUBLE, {2});
  for (const double value : {1.5, -2.0}) proto.add_double_data(value);
  expect_proto(proto, make_tensor<double>(Type::DOUBLE, {2}, {1.5, -2}));
  proto.set_data_type(Type::COMPLEX128);
  proto.set_dims(0, 1);
  expect_proto(proto, make_tensor<double>(Type::COMPLEX128, {1}, {1.5, -2}));
}

onnx::TensorProto in_int32_data(std::int32_t type, std::int64_t size, std::initializer_list<std::int32_t> values) {
  auto proto = proto_of(type, {size});
  for (const std::int32_t value : values) proto.add_int32_data(value);
  return proto;
}

TEST(TensorProto, Int32DataIsNarrowed) {
  expect_proto(in_int32_data(Type::INT32, 2, {1, -2}), make_tensor<std::int32_t>(Type::INT32, {2}, {1, -2}));
  expect_proto(in_int32_data(Type::INT16, 2, {1, -2}), make_tensor<std::int16_t>(Type::INT16, {2}, {1, -2}));
  expect_proto(in_int32_data(Type::INT8, 2, {127, -128}), make_tensor<std::int8_t>(Type::INT8, {2}, {127, -128}));
  expect_proto(in_int32_data(Type::UINT16, 1, {65535}), make_tensor<std::uint16_t>(Type::UINT16, {1}, {65535}));
  expect_proto(in_int32_data(Type::UINT8, 1, {255}), make_tensor<std::uint8_t>(Type::UINT8, {1}, {255}));
  expect_proto(in_int32_data(Type::BOOL, 3, {0, 1, 7}), make_tensor<std::uint8_t>(Type::BOOL, {3}, {0, 1, 1}));
  expect_proto(in_int32_data(Type::FLOAT16, 1, {0xC000}), make_tensor<std::uint16_t>(Type::FLOAT16, {1}, {0xC000}));
  expect_proto(in_int32_data(Type::BFLOAT16, 1, {0xC000}), make_tensor<std::uint16_t>(Type::BFLOAT16, {1}, {0xC000}));
  expect_proto(in_int32_data(Type::FLOAT8E5M2, 1, {0xC0}), make_tensor<std::uint8_t>(Type::FLOAT8E5M2, {1}, {0xC0}));
}

TEST(TensorProto, Int32DataOfPackedElements) {
  expect_proto(in_int32_data(Type::INT4, 3, {0x87, 0x0F}), make_tensor<std::uint8_t>(Type::INT4, {3}, {0x87, 0x0F}));
  expect_proto(in_int32_data(Type::UINT4, 2, {0xF0}), make_tensor<std::uint8_t>(Type::UINT4, {2}, {0xF0}));
  expect_proto(in_int32_data(Type::FLOAT4E2M1, 2, {0x21}), make_tensor<std::uint8_t>(Type::FLOAT4E2M1, {2}, {0x21}));
  expect_proto(in_int32_data(Type::INT2, 5, {0x1B, 0x03}), make_tensor<std::uint8_t>(Type::INT2, {5}, {0x1B, 0x03}));
  expect_proto(in_int32_data(Type::UINT2, 4, {0xE4}), make_tensor<std::uint8_t>(Type::UINT2, {4}, {0xE4}));
}

TEST(TensorProto, ValuesThatTheTypeCannotHold) {
  expect_bad_proto(in_int32_data(Type::INT8, 1, {128}), "has a value that int8 cannot hold");
  expect_bad_proto(in_int32_data(Type::INT8, 1, {-129}), "has a value that int8 cannot hold");
  expect_bad_proto(in_int32_data(Type::UINT8, 1, {-1}), "has a value that uint8 cannot hold");
  expect_bad_proto(in_int32_data(Type::FLOAT16, 1, {65536}), "has a value that float16 cannot hold");
  expect_bad_proto(in_int32_data(Type::INT4, 2, {256}), "has a value that int4 cannot hold");
  auto proto = proto_of(Type::UINT32, {1});
  proto.add_uint64_data(std::uint64_t{1} << 32U);
  expect_bad_proto(proto, "has a value that uint32 cannot hold");
}

TEST(TensorProto, Int64AndUint64Data) {
  auto proto = proto_of(Type::INT64, {2});
  for (const std::int64_t value : {std::int64_t{1} << 40, std::int64_t{-2}}) proto.add_int64_data(value);
  expect_proto(proto, make_tensor<std::int64_t>(Type::INT64, {2}, {std::int64_t{1} << 40, -2}));
  proto = proto_of(Type::UINT64, {1});
  proto.add_uint64_data(~std::uint64_t{0});
  expect_proto(proto, make_tensor<std::uint64_t>(Type::UINT64, {1}, {~std::uint64_t{0}}));
  proto = proto_of(Type::UINT32, {1});
  proto.add_uint64_data(0xFFFFFFFF);
  expect_proto(proto, make_tensor<std::uint32_t>(Type::UINT32, {1}, {0xFFFFFFFF}));
}

TEST(TensorProto, Strings) {
  auto proto = proto_of(Type::STRING, {2, 1});
  proto.add_string_data("größe");
  proto.add_string_data("");
  expect_proto(proto, texts({2, 1}, {"größe", ""}));
  *proto.mutable_string_data(1) = "\xff";
  expect_bad_proto(proto, "has text that is not UTF-8: its string 1");
  proto.mutable_string_data()->RemoveLast();
  expect_bad_proto(proto, "has 1 strings of data; str of shape [2, 1] is 2");
  proto.set_raw_data("a");
  expect_bad_proto(proto, "has its text as raw data");
}

TEST(TensorProto, ScalarAndEmpty) {
  auto proto = proto_of(Type::FLOAT, {});
  proto.add_float_data(1);
  expect_proto(proto, floats({}, {1}));
  expect_proto(proto_of(Type::FLOAT, {3, 0}), floats({3, 0}, {}));
}

TEST(TensorProto, DataThatDoesNotAgreeWithTheShape) {
  auto proto = proto_of(Type::FLOAT, {2, 2});
  proto.add_float_data(1);
  expect_bad_proto(proto, "has 4 bytes of data; float32 of shape [2, 2] is 16");
  proto.set_raw_data(std::string(17, '\0'));
  expect_bad_proto(proto, "has 17 bytes of data; float32 of shape [2, 2] is 16");
}

TEST(TensorProto, DataInAnotherTypesField) {
  auto proto = proto_of(Type::INT64, {1});
  proto.add_int32_data(1);
  expect_bad_proto(proto, "has 0 bytes of data; int64 of shape [1] is 8");
}

TEST(TensorProto, ImpossibleShapes) {
  expect_bad_proto(proto_of(Type::FLOAT, {-1}), "has an impossible shape: [?]");
  expect_bad_proto(proto_of(Type::FLOAT, {std::int64_t{1} << 40, std::int64_t{1} << 40}), "has an impossible shape");
  expect_bad_proto(proto_of(Type::DOUBLE, {std::int64_t{1} << 61}), "has an impossible shape");
}

TEST(TensorProto, ShapeThatClaimsATerabyte) {
  expect_bad_proto(proto_of(Type::UINT8, {std::int64_t{1} << 40}), "has 0 bytes of data");
}

TEST(TensorProto, TypesThatAreNone) {
  for (const std::int32_t type : {0, 99, -1}) expect_bad_proto(proto_of(type, {1}), "is not an ONNX tensor");
  expect_bad_proto(proto_of(Type::FLOAT6E2M3, {1}), "float6_e2m3fn");
}

TEST(TensorProto, ExternalData) {
  auto proto = proto_of(Type::FLOAT, {1});
  proto.set_data_location(onnx::TensorProto::EXTERNAL);
  expect_bad_proto(proto, "keeps its data in another file");
  onnx::TensorProto filled;
  model::fill_external(filled, "x", "x.bin");
  filled.clear_data_location();
  expect_bad_proto(filled, "keeps its data in another file");
}

TEST(TensorProto, Segment) {
  auto proto = proto_of(Type::FLOAT, {1});
  proto.mutable_segment()->set_begin(0);
  expect_bad_proto(proto, "is a segment of a larger tensor");
}

TEST(TensorProto, FloatsThatAreNotPacked) {
  const std::string one("\x25\0\0\x80\x3f", 5);  // field 4, fixed32
  expect_bad(read_proto(proto_of(Type::FLOAT, {1}).SerializeAsString() + one), "input_0.pb'", "not packed");
}

TEST(TensorProto, IntegersThatAreNotPacked) {
  const std::string one("\x28\x07", 2);  // field 5, varint
  const auto read = read_proto(proto_of(Type::INT8, {1}).SerializeAsString() + one);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->at("x").tensor, make_tensor<std::int8_t>(Type::INT8, {1}, {7}));
}

TEST(TensorProto, AnotherKindOfFile) {
  expect_bad(read_proto(""), "input_0.pb'", "is not an ONNX tensor");
  expect_bad(read_proto("GIF89a, say, and a little more"), "input_0.pb'", "not an ONNX tensor");
}

TEST(TensorProto, NameThatIsNoName) {
  auto proto = proto_of(Type::FLOAT, {0});
  proto.set_name(std::string(70'000, 'x'));
  expect_bad_proto(proto, "its name is longer than 64 KiB");
  const std::string name("\x42\x01\xff", 3);  // field 8
  expect_bad(read_proto(proto_of(Type::FLOAT, {0}).SerializeAsString() + name), "input_0.pb'", "name is not UTF-8");
}

onnx::TensorProto whole_proto() {
  auto proto = proto_of(Type::FLOAT, {2, 2});
  proto.set_name("x");
  proto.set_raw_data(std::string(16, '\1'));
  return proto;
}

TEST(TensorProto, CutOffAnywhere) {
  const std::string whole = whole_proto().SerializeAsString();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    expect_bad(read_proto(whole.substr(0, size)), "input_0.pb'", "");
  }
}

TEST(TensorProto, EveryBitFlippedIsReadOrRefused) {
  const std::string whole = whole_proto().SerializeAsString();
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto read = read_proto(flipped);
    if (read) continue;
    ++refused;
    EXPECT_EQ(read.error().code, ErrorCode::bad_input) << read.error().message;
    EXPECT_THAT(read.error().message, testing::HasSubstr("input_0.pb'"));
  }
  EXPECT_GT(refused, 8U);
}

}  // namespace
}  // namespace precast::bench
