// What is written is read again as it was, of every type, in both kinds of place.
#include "model/model_facts.hpp"
#include "tensor_support.hpp"

namespace precast::bench {
namespace {

const std::vector<std::vector<std::int64_t>> kShapes = {{}, {0}, {3, 0, 2}, {5}, {2, 3}, {1, 1, 7, 1}};

tensor::Tensor sample(std::int32_t type, const std::vector<std::int64_t>& shape) {
  tensor::Tensor tensor{.element_type = type, .shape = shape};
  const std::uint64_t count = tensor::element_count(shape).value_or(0);
  if (type == Type::STRING) {
    const std::vector<std::string> some = {"", "plain", "größe", "日本", "🙂", "a\nb", std::string("x\0y", 3)};
    for (std::uint64_t i = 0; i < count; ++i) tensor.strings.push_back(some[i % some.size()]);
    return tensor;
  }
  tensor.bytes.resize(tensor::byte_count(type, count).value_or(0));
  for (std::size_t i = 0; i < tensor.bytes.size(); ++i) {
    tensor.bytes[i] = static_cast<std::byte>(type == Type::BOOL ? i % 2 : (i * 37 + 0x9B) & 0xFFU);
  }
  // What no element stands in is zero.
  const std::uint64_t bits = tensor::byte_count(type, 8).value_or(0);
  if (const std::uint64_t used = count * bits % 8; used > 0) tensor.bytes.back() &= std::byte{0xFF} >> (8 - used);
  return tensor;
}

class RoundTrip : public testing::TestWithParam<std::int32_t> {};

void expect_round_trip(const std::filesystem::path& path, std::int32_t type) {
  tensor::Tensors tensors;
  for (const auto& shape : kShapes) tensors.emplace("t" + tensor::shape_text(shape), sample(type, shape));
  const auto written = write_tensors(path, tensors, false);
  ASSERT_TRUE(written) << written.error().message;
  auto read = read_tensors(path, {});
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_EQ(read->size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    const auto typed = as_type(read->at(name), type, name);
    ASSERT_TRUE(typed) << typed.error().message;
    EXPECT_EQ(*typed, tensor) << name;
  }
}

TEST_P(RoundTrip, InAnArchive) {
  const TemporaryFolder folder;
  expect_round_trip(folder / "a.npz", GetParam());
}

TEST_P(RoundTrip, InAFolder) {
  const TemporaryFolder folder;
  expect_round_trip(folder / "not/yet/there", GetParam());
}

INSTANTIATE_TEST_SUITE_P(Types, RoundTrip, testing::Range(std::int32_t{Type::FLOAT}, std::int32_t{Type::FLOAT6E2M3}),
                         [](const auto& type) { return std::string(model::dtype_name(type.param)); });

// Each kind of place has its own way with a '/'.
TEST(Names, OfAllKindsAreKept) {
  const TemporaryFolder folder;
  tensor::Tensors tensors;
  for (const char* name : {"a/b", "../a", "100%", "%2F", "größe", "a b", "input:0", ".hidden", "x.npy", "-"}) {
    tensors.emplace(name, floats({}, {static_cast<float>(tensors.size())}));
  }
  for (const auto& path : {folder / "a.npz", folder / "b"}) {
    ASSERT_TRUE(write_tensors(path, tensors, false));
    const auto read = read_tensors(path, {});
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->size(), tensors.size());
    for (const auto& [name, tensor] : tensors) EXPECT_EQ(read->at(name).tensor, tensor) << name;
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "b/..%2Fa.npy"));
  EXPECT_TRUE(std::filesystem::exists(folder / "b/%252F.npy"));
}

TEST(Names, NulIsKeptInAFolderAndRefusedInAnArchive) {
  const TemporaryFolder folder;
  const tensor::Tensors tensors = {{std::string("a\0b", 3), floats({}, {1})}};
  ASSERT_TRUE(write_tensors(folder / "b", tensors, false));
  EXPECT_TRUE(std::filesystem::exists(folder / "b/a%00b.npy"));
  EXPECT_EQ(read_tensors(folder / "b", {})->begin()->first, tensors.begin()->first);
  expect_bad(write_tensors(folder / "a.npz", tensors, false), "a.npz", "cannot have an array of the name 'a\\x00b'");
}

TEST(Shape, OfManyDimensionsTakesVersion2) {
  const TemporaryFolder folder;
  const tensor::Tensors tensors = {{"x", floats(std::vector<std::int64_t>(30'000, 1), {1})}};
  ASSERT_TRUE(write_tensors(folder / "b", tensors, false));
  const std::string bytes = read_bytes(folder / "b/x.npy");
  EXPECT_EQ(bytes[6], 2);
  EXPECT_EQ((bytes.size() - sizeof(float)) % 64, 0U);
  EXPECT_EQ(read_tensors(folder / "b", {})->at("x").tensor, tensors.at("x"));
}

}  // namespace
}  // namespace precast::bench
