// Files that NumPy itself wrote (data/README.md says how).
#include "tensor_support.hpp"

namespace precast::bench {
namespace {

StoredTensors read_golden(std::string_view name) {
  auto tensors = read_tensors(golden(name), {});
  EXPECT_TRUE(tensors) << tensors.error().message;
  return tensors ? std::move(*tensors) : StoredTensors();
}

void expect_tensor(const StoredTensors& tensors, const std::string& name, const tensor::Tensor& wanted) {
  ASSERT_TRUE(tensors.contains(name)) << name;
  EXPECT_EQ(tensors.at(name).tensor, wanted) << name;
  EXPECT_FALSE(tensors.at(name).raw) << name;
}

tensor::Tensor read_golden_array(std::string_view name) {
  const auto stored = read_npy_bytes(read_bytes(golden(name)));
  EXPECT_TRUE(stored) << stored.error().message;
  return stored ? stored->tensor : tensor::Tensor();
}

TEST(NumpyFile, DeflatedIntegers) {
  const auto tensors = read_golden("integers.npz");
  EXPECT_EQ(tensors.size(), 8U);
  expect_tensor(tensors, "i1", make_tensor<std::int8_t>(Type::INT8, {2}, {1, -2}));
  expect_tensor(tensors, "i2", make_tensor<std::int16_t>(Type::INT16, {2}, {1, -2}));
  expect_tensor(tensors, "i4", make_tensor<std::int32_t>(Type::INT32, {2}, {1, -2}));
  expect_tensor(tensors, "i8", make_tensor<std::int64_t>(Type::INT64, {2}, {1, -2}));
  expect_tensor(tensors, "u1", make_tensor<std::uint8_t>(Type::UINT8, {2}, {1, 200}));
  expect_tensor(tensors, "u2", make_tensor<std::uint16_t>(Type::UINT16, {2}, {1, 200}));
  expect_tensor(tensors, "u4", make_tensor<std::uint32_t>(Type::UINT32, {2}, {1, 200}));
  expect_tensor(tensors, "u8", make_tensor<std::uint64_t>(Type::UINT64, {2}, {1, 200}));
}

TEST(NumpyFile, DeflatedFloatsComplexAndBools) {
  const auto tensors = read_golden("floats.npz");
  EXPECT_EQ(tensors.size(), 6U);
  expect_tensor(tensors, "f2", make_tensor<std::uint16_t>(Type::FLOAT16, {2}, {0x3E00, 0xC000}));
  expect_tensor(tensors, "f4", floats({2}, {1.5F, -2}));
  expect_tensor(tensors, "f8", make_tensor<double>(Type::DOUBLE, {2}, {1.5, -2}));
  expect_tensor(tensors, "c8", make_tensor<float>(Type::COMPLEX64, {1}, {1, 2}));
  expect_tensor(tensors, "c16", make_tensor<double>(Type::COMPLEX128, {1}, {1, 2}));
  expect_tensor(tensors, "b1", make_tensor<std::uint8_t>(Type::BOOL, {2}, {1, 0}));
}

TEST(NumpyFile, BigEndianIsConverted) {
  const auto tensors = read_golden("big_endian.npz");
  EXPECT_EQ(tensors.size(), 6U);
  expect_tensor(tensors, "f2", make_tensor<std::uint16_t>(Type::FLOAT16, {2}, {0x3E00, 0xC000}));
  expect_tensor(tensors, "f8", make_tensor<double>(Type::DOUBLE, {2}, {1.5, -2}));
  expect_tensor(tensors, "i4", make_tensor<std::int32_t>(Type::INT32, {2}, {1, -2}));
  expect_tensor(tensors, "u8", make_tensor<std::uint64_t>(Type::UINT64, {2}, {1, 200}));
  expect_tensor(tensors, "c8", make_tensor<float>(Type::COMPLEX64, {1}, {1, 2}));
  expect_tensor(tensors, "U", texts({2}, {"a", "bc"}));
}

TEST(NumpyFile, TextBecomesUtf8) {
  const auto tensors = read_golden("text.npz");
  EXPECT_EQ(tensors.size(), 3U);
  expect_tensor(tensors, "U", texts({2, 2}, {"", "é", "日本", "🙂a"}));
  expect_tensor(tensors, "S", texts({2}, {"ab", "é"}));
  expect_tensor(tensors, "scalar", texts({}, {"x"}));
}

TEST(NumpyFile, TypesOfMlDtypesAreRawUntilTheModelSaysWhatTheyAre) {
  auto tensors = read_golden("ml_dtypes.npz");
  ASSERT_EQ(tensors.size(), 4U);
  for (const auto& [name, stored] : tensors) EXPECT_TRUE(stored.raw) << name;
  EXPECT_EQ(as_type(tensors.at("bfloat16"), Type::BFLOAT16, "x"),
            make_tensor<std::uint16_t>(Type::BFLOAT16, {2}, {0x3F80, 0xC000}));
  EXPECT_EQ(as_type(tensors.at("float8"), Type::FLOAT8E4M3FN, "x"),
            make_tensor<std::uint8_t>(Type::FLOAT8E4M3FN, {2}, {0x38, 0xC0}));
  EXPECT_EQ(as_type(tensors.at("int4"), Type::INT4, "x"), make_tensor<std::uint8_t>(Type::INT4, {3}, {0x87, 0x0F}));
  EXPECT_EQ(as_type(tensors.at("uint4"), Type::UINT4, "x"), make_tensor<std::uint8_t>(Type::UINT4, {3}, {0xF0, 0x09}));
}

TEST(NumpyFile, StoredEntriesOfAnyName) {
  const auto tensors = read_golden("names.npz");
  EXPECT_EQ(tensors.size(), 3U);
  expect_tensor(tensors, "a/b", floats({}, {1}));
  expect_tensor(tensors, "100%", floats({}, {2}));
  expect_tensor(tensors, "größe", floats({}, {3}));
}

TEST(NumpyFile, FortranOrderBecomesRowMajor) {
  const auto tensor = read_golden_array("fortran.npy");
  EXPECT_EQ(tensor,
            make_tensor<std::int16_t>(Type::INT16, {2, 1, 3, 4}, {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                                                  12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
}

TEST(NumpyFile, ScalarAndEmpty) {
  EXPECT_EQ(read_golden_array("scalar.npy"), make_tensor<double>(Type::DOUBLE, {}, {2.5}));
  EXPECT_EQ(read_golden_array("empty.npy"), make_tensor<std::int64_t>(Type::INT64, {3, 0}, {}));
}

TEST(NumpyFile, Versions2And3) {
  const auto wanted = make_tensor<std::uint8_t>(Type::UINT8, {2}, {1, 2});
  EXPECT_EQ(read_golden_array("version_2.npy"), wanted);
  EXPECT_EQ(read_golden_array("version_3.npy"), wanted);
}

TEST(NumpyFile, WhatIsWrittenIsWhatNumpyWrites) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_tensors(folder / "b",
                            {{"f4", floats({2, 3}, {0, 1, 2, 3, 4, 5})},
                             {"scalar", make_tensor<double>(Type::DOUBLE, {}, {2.5})},
                             {"empty", make_tensor<std::int64_t>(Type::INT64, {3, 0}, {})}},
                            false));
  EXPECT_EQ(read_bytes(folder / "b/f4.npy"), read_bytes(golden("f4_2x3.npy")));
  EXPECT_EQ(read_bytes(folder / "b/scalar.npy"), read_bytes(golden("scalar.npy")));
  EXPECT_EQ(read_bytes(folder / "b/empty.npy"), read_bytes(golden("empty.npy")));
}

TEST(NumpyFile, ObjectArrayIsRefused) {
  expect_bad_npy(read_bytes(golden("object.npy")), "is an object array (pickled Python objects)");
}

TEST(NumpyFile, StructuredArrayIsRefused) {
  expect_bad_npy(read_bytes(golden("structured.npy")), "structured dtype");
}

TEST(NumpyFile, DatesAreRefused) {
  expect_bad_npy(read_bytes(golden("dates.npy")), "is an array of dates: dtype '<M8[D]'");
}

}  // namespace
}  // namespace precast::bench
