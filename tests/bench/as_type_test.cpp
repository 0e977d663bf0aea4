// What the file carries against what the model wants.
#include "tensor_support.hpp"

namespace precast::bench {
namespace {

StoredTensor stored(tensor::Tensor tensor, bool raw = false) {
  return {.tensor = std::move(tensor), .raw = raw, .path = "a.npz"};
}

StoredTensor bytes_of(std::int32_t type, std::initializer_list<std::uint8_t> values, bool raw = false) {
  return stored(make_tensor<std::uint8_t>(type, {static_cast<std::int64_t>(values.size())}, values), raw);
}

TEST(AsType, AnExactMatchIsKept) {
  EXPECT_EQ(as_type(stored(floats({2}, {1, 2})), Type::FLOAT, "x"), floats({2}, {1, 2}));
  EXPECT_EQ(as_type(stored(texts({1}, {"a"})), Type::STRING, "x"), texts({1}, {"a"}));
}

TEST(AsType, AnotherTypeNamesBoth) {
  const auto tensor = make_tensor<double>(Type::DOUBLE, {1}, {1});
  expect_bad(as_type(stored(tensor), Type::FLOAT, "x"), "'a.npz'",
             "input 'x' is float64 in 'a.npz', the model wants float32");
}

TEST(AsType, Bfloat16IsCarriedByPairsAndUint16) {
  const auto pairs = make_tensor<std::uint16_t>(Type::UINT16, {1}, {0x3F80});
  const auto wanted = make_tensor<std::uint16_t>(Type::BFLOAT16, {1}, {0x3F80});
  EXPECT_EQ(as_type(stored(pairs, true), Type::BFLOAT16, "x"), wanted);
  EXPECT_EQ(as_type(stored(pairs), Type::BFLOAT16, "x"), wanted);
  expect_bad(as_type(stored(pairs), Type::FLOAT16, "x"), "'a.npz'", "is uint16");
}

TEST(AsType, RawIsNoIntegerOfThatSize) {
  expect_bad(as_type(bytes_of(Type::UINT8, {1}, true), Type::UINT8, "x"), "'a.npz'", "is raw bytes ('V1')");
  const auto pairs = make_tensor<std::uint16_t>(Type::UINT16, {1}, {1});
  expect_bad(as_type(stored(pairs, true), Type::UINT16, "x"), "'a.npz'", "is raw byte pairs ('V2')");
}

TEST(AsType, BytesCarryFloat8) {
  for (const int type :
       {Type::FLOAT8E4M3FN, Type::FLOAT8E4M3FNUZ, Type::FLOAT8E5M2, Type::FLOAT8E5M2FNUZ, Type::FLOAT8E8M0}) {
    const auto wanted = make_tensor<std::uint8_t>(type, {2}, {1, 255});
    EXPECT_EQ(as_type(bytes_of(Type::UINT8, {1, 255}, true), type, "x"), wanted);
    EXPECT_EQ(as_type(bytes_of(Type::UINT8, {1, 255}), type, "x"), wanted);
  }
  expect_bad(as_type(bytes_of(Type::INT8, {1}), Type::FLOAT8E5M2, "x"), "'a.npz'", "the model wants float8_e5m2");
}

TEST(AsType, Int8CarriesInt4AndInt2) {
  EXPECT_EQ(as_type(bytes_of(Type::INT8, {7, 0xF8, 0xFF}), Type::INT4, "x"),
            make_tensor<std::uint8_t>(Type::INT4, {3}, {0x87, 0x0F}));
  EXPECT_EQ(as_type(bytes_of(Type::INT8, {1, 0xFE, 0xFF, 0, 1}), Type::INT2, "x"),
            make_tensor<std::uint8_t>(Type::INT2, {5}, {0b00'11'10'01, 1}));
  expect_bad(as_type(bytes_of(Type::UINT8, {1}), Type::INT4, "x"), "'a.npz'", "is uint8");
}

TEST(AsType, Uint8CarriesUint4AndUint2) {
  EXPECT_EQ(as_type(bytes_of(Type::UINT8, {15, 1, 2}), Type::UINT4, "x"),
            make_tensor<std::uint8_t>(Type::UINT4, {3}, {0x1F, 0x02}));
  EXPECT_EQ(as_type(bytes_of(Type::UINT8, {3, 2, 1}), Type::UINT2, "x"),
            make_tensor<std::uint8_t>(Type::UINT2, {3}, {0b00'01'10'11}));
  expect_bad(as_type(bytes_of(Type::INT8, {1}), Type::UINT4, "x"), "'a.npz'", "is int8");
}

TEST(AsType, BitsAloneAreInt4WhenRaw) {
  EXPECT_EQ(as_type(bytes_of(Type::UINT8, {0x0F, 0xFF, 0x07}, true), Type::INT4, "x"),
            make_tensor<std::uint8_t>(Type::INT4, {3}, {0xFF, 0x07}));
}

TEST(AsType, ValuesOutsideAreRefused) {
  const std::string words = "has a value in 'a.npz' that int4 cannot hold: element 1";
  expect_bad(as_type(bytes_of(Type::INT8, {0, 8}), Type::INT4, "x"), "input 'x'", words);
  expect_bad(as_type(bytes_of(Type::INT8, {0, 0xF7}), Type::INT4, "x"), "input 'x'", words);
  expect_bad(as_type(bytes_of(Type::UINT8, {0, 16}, true), Type::INT4, "x"), "input 'x'", words);
  expect_bad(as_type(bytes_of(Type::UINT8, {16}), Type::UINT4, "x"), "'a.npz'", "uint4 cannot hold");
  expect_bad(as_type(bytes_of(Type::INT8, {2}), Type::INT2, "x"), "'a.npz'", "int2 cannot hold");
  expect_bad(as_type(bytes_of(Type::UINT8, {4}), Type::UINT2, "x"), "'a.npz'", "uint2 cannot hold");
  expect_bad(as_type(bytes_of(Type::UINT8, {16}), Type::FLOAT4E2M1, "x"), "'a.npz'", "float4_e2m1fn cannot hold");
}

}  // namespace
}  // namespace precast::bench
