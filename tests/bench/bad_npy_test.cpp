// .npy files that are none, broken or hostile: always an error that says what is wrong, never a crash.
#include "tensor_support.hpp"

namespace precast::bench {
namespace {

std::string four_floats() {
  return npy_of_type("<f4", "(2, 2)", std::string(16, '\1'));
}

TEST(BadNpy, CutOffAnywhere) {
  const std::string whole = four_floats();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto stored = read_npy_bytes(whole.substr(0, size));
    ASSERT_FALSE(stored) << size;
    EXPECT_EQ(stored.error().code, ErrorCode::bad_input);
    EXPECT_THAT(stored.error().message, testing::HasSubstr("x.npy' ends ")) << size;
  }
}

// Values may be anything; a changed head may still be one.
TEST(BadNpy, EveryBitFlippedIsReadOrRefused) {
  const std::string whole = four_floats();
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto stored = read_npy_bytes(flipped);
    if (stored) continue;
    ++refused;
    EXPECT_EQ(stored.error().code, ErrorCode::bad_input) << stored.error().message;
    EXPECT_THAT(stored.error().message, testing::HasSubstr("x.npy'"));
  }
  EXPECT_GT(refused, 8 * 60U);  // most of the head means something
}

TEST(BadNpy, AnotherKindOfFile) {
  expect_bad_npy("GIF89a, say", "is not a NumPy array");
}

TEST(BadNpy, Empty) {
  expect_bad_npy("", "is truncated");
}

TEST(BadNpy, LaterVersion) {
  std::string bytes = four_floats();
  bytes[6] = 4;
  expect_bad_npy(bytes, "format 4.0; 1.0, 2.0 and 3.0 are known");
}

TEST(BadNpy, HeaderThatClaimsFourGigabytes) {
  expect_bad_npy(std::string("\x93NUMPY\2\0\xff\xff\xff\xff{}", 14), "claims a header of 4294967295 bytes");
}

TEST(BadNpy, ValuesThatEndEarly) {
  expect_bad_npy(npy_of_type("<f4", "(2, 2)", "123"), "ends after 3 of the 16 bytes of its values");
}

TEST(BadNpy, ShapeThatClaimsATerabyteOfNothing) {
  expect_bad_npy(npy_of_type("<f4", "(1099511627776,)", "1234"), "ends after 4 of the 4398046511104 bytes");
}

TEST(BadNpy, ShapeThatNoMemoryHolds) {
  expect_bad_npy(npy_of_type("<f4", "(9223372036854775807,)", "1234"), "larger than memory can hold");
  expect_bad_npy(npy_of_type("|u1", "(4294967296, 4294967296)", "1234"), "larger than memory can hold");
  expect_bad_npy(npy_of_type("|u1", "(18446744073709551617,)", "1"), "larger than memory can hold");
}

TEST(BadNpy, MoreValuesThanTheShapeSays) {
  expect_bad_npy(npy_of_type("<f4", "(2, 2)", std::string(17, '\1')), "has more bytes than its shape [2, 2] says");
}

TEST(BadNpy, NegativeSize) {
  expect_bad_npy(npy_of_type("<f4", "(-1,)", ""), "has a negative size in its shape");
}

TEST(BadNpy, SubArray) {
  expect_bad_npy(npy_of("{'descr': ('<f4', (2,)), 'fortran_order': False, 'shape': (1,)}", "12345678"), "sub-array");
}

TEST(BadNpy, DtypesWithoutAnOnnxType) {
  for (const char* descr : {"<f16", "<c32", "|V3", "<i3", "f", "", "<", "<<f4", "<U-1", "<U", "<U99999999999999999999",
                            "|b2", "<S3x", "float32"}) {
    expect_bad_npy(npy_of_type(descr, "()", "12345678"), "has the dtype '" + std::string(descr) + "', which no ONNX");
  }
}

TEST(BadNpy, ALongDtypeIsNotShownWhole) {
  expect_bad_npy(npy_of_type(std::string(5000, 'q'), "()", ""), "qqq...', which no ONNX type matches");
}

TEST(BadNpy, StringsOfNoBytesThatNothingVouchesFor) {
  expect_bad_npy(npy_of_type("<U0", "(1099511627776,)", ""), "has elements of no bytes: dtype '<U0'");
  expect_bad_npy(npy_of_type("|S0", "(1,)", ""), "has elements of no bytes: dtype '|S0'");
  EXPECT_TRUE(read_npy_bytes(npy_of_type("<U0", "(0,)", "")));
}

TEST(BadNpy, TextThatIsNotUnicode) {
  const std::string good("a\0\0\0", 4);
  expect_bad_npy(npy_of_type("<U1", "(2,)", good + std::string("\0\xd8\0\0", 4)), "not Unicode: its string 1");
  expect_bad_npy(npy_of_type("<U1", "(2,)", std::string("\0\0\x11\0", 4) + good), "not Unicode: its string 0");
  expect_bad_npy(npy_of_type("|S2", "(1,)", "\xff\xfe"), "not Unicode: its string 0");
}

TEST(BadNpy, DictThatIsNoDict) {
  for (const char* dict : {"",
                           "{",
                           "[]",
                           "{}",
                           "{,}",
                           "import os",
                           "{'descr'}",
                           "{'descr': '<f4'",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': ()}}",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (),,}",
                           "{'descr': '<f4' 'fortran_order': False, 'shape': ()}",
                           "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}",
                           "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
                           "{'descr': '<f4\", 'fortran_order': False, 'shape': ()}",
                           "{'descr': '<\\x664', 'fortran_order': False, 'shape': ()}",
                           "{'descr': <f4, 'fortran_order': False, 'shape': ()}",
                           "{'descr': 4, 'fortran_order': False, 'shape': ()}",
                           "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
                           "{'descr': '<f4', 'fortran_order': Falsehood, 'shape': ()}"}) {
    expect_bad_npy(npy_of(dict, "1234"), "header");
  }
}

TEST(BadNpy, ShapeThatIsNoTuple) {
  for (const char* shape : {"1", "[1]", "(1)", "(,)", "(1,,)", "(1 1)", "(1.0,)", "(01,)", "(+1,)", "(1_0,)", "(1",
                            "(1+1,)", "(x,)", "('1',)", "(None,)"}) {
    expect_bad_npy(npy_of_type("|u1", shape, "1"), "has a malformed header");
  }
}

TEST(BadNpy, MissingKeysAreNamed) {
  expect_bad_npy(npy_of("{'fortran_order': False, 'shape': ()}", ""), "without 'descr'");
  expect_bad_npy(npy_of("{'descr': '<f4', 'shape': ()}", ""), "without 'fortran_order'");
  expect_bad_npy(npy_of("{'descr': '<f4', 'fortran_order': False}", ""), "without 'shape'");
}

// What NumPy reads too, though it does not write it.
TEST(Npy, OtherWaysToWriteTheDict) {
  for (const char* dict : {"{'shape':(2,),'fortran_order':False,'descr':'|u1'}",
                           "{\"descr\": \"u1\", \"fortran_order\": False, \"shape\": (2,), }\n",
                           " { 'descr' : '=u1' , 'fortran_order' : True , 'shape' : ( 2L , ) , }  \t\n"}) {
    const auto stored = read_npy_bytes(npy_of(dict, "\1\2"));
    ASSERT_TRUE(stored) << dict << stored.error().message;
    EXPECT_EQ(stored->tensor, make_tensor<std::uint8_t>(Type::UINT8, {2}, {1, 2}));
  }
}

TEST(Npy, AnyByteThatIsNotZeroIsTrue) {
  const auto stored = read_npy_bytes(npy_of_type("|b1", "(3,)", std::string("\0\1\xff", 3)));
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->tensor, make_tensor<std::uint8_t>(Type::BOOL, {3}, {0, 1, 1}));
}

// A step past the last of many dimensions of one must not cost a look at each of them.
TEST(Npy, FortranOrderOfManyDimensionsOfOne) {
  std::string shape = "(2, ";
  for (int i = 0; i < 15'000; ++i) shape += "1, ";
  const std::string dict = "{'descr': '|u1', 'fortran_order': True, 'shape': " + shape + "3)}";
  const auto stored = read_npy_bytes(npy_of(dict, "abcdef"));
  ASSERT_TRUE(stored) << stored.error().message;
  const std::string_view wanted = "acebdf";
  EXPECT_EQ(std::memcmp(stored->tensor.bytes.data(), wanted.data(), wanted.size()), 0);
}

}  // namespace
}  // namespace precast::bench
