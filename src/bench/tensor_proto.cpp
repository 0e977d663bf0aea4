#include "bench/tensor_proto.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "bench/element.hpp"
#include "bench/source.hpp"
#include "bench/tensor_fields.hpp"
#include "model/dtype.hpp"
#include "model/file_stream.hpp"
#include "model/model_facts.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::bench {
namespace {

constexpr std::uint64_t kProtobufLimit = std::numeric_limits<int>::max();
constexpr std::string_view kHint = "write it with onnx.numpy_helper.from_array(array, name).SerializeToString()";

struct Range {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

constexpr bool is_signed(std::int32_t element_type) {
  return element_type == tensor::kTypeInt8 || element_type == tensor::kTypeInt16 || element_type == tensor::kTypeInt32;
}

// What an integer of a typed field may be, to be stored in so many bytes.
Range range_of(std::int32_t element_type, std::size_t width) {
  const auto bits = static_cast<unsigned>(8 * width);
  if (bits == 64) return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  const std::int64_t span = std::int64_t{1} << bits;
  return is_signed(element_type) ? Range{-span / 2, span / 2 - 1} : Range{0, span - 1};
}

// The field of integers that elements of this type stand in, when not in raw_data.
const std::vector<std::int64_t>* integers_for(const TensorFields& fields, std::int32_t element_type) {
  switch (element_type) {
    case tensor::kTypeInt64:
      return &fields.int64_data;
    case tensor::kTypeUint32:
    case tensor::kTypeUint64:
      return &fields.uint64_data;
    default:
      return &fields.int32_data;
  }
}

const std::string* floats_for(const TensorFields& fields, std::int32_t element_type) {
  switch (element_type) {
    case tensor::kTypeFloat:
    case tensor::kTypeComplex64:
      return &fields.float_data;
    case tensor::kTypeDouble:
    case tensor::kTypeComplex128:
      return &fields.double_data;
    default:
      return nullptr;
  }
}

// Little-endian, `width` bytes each. nullopt: one is out of range.
std::optional<std::vector<std::byte>> narrow(const std::vector<std::int64_t>& values, std::int32_t element_type,
                                             std::size_t width) {
  const Range range = range_of(element_type, width);
  std::vector<std::byte> bytes;
  bytes.reserve(values.size() * width);
  for (const std::int64_t value : values) {
    if (value < range.least || value > range.most) return std::nullopt;
    const auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < width; ++i) bytes.push_back(static_cast<std::byte>(bits >> (8 * i) & 0xFFU));
  }
  return bytes;
}

std::vector<std::byte> to_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class Builder {
 public:
  Builder(TensorFields fields, Place place) : fields_(std::move(fields)), place_(std::move(place)) {}

  Result<tensor::Tensor> build();

 private:
  Result<void> check();
  Result<std::vector<std::byte>> bytes();
  Result<std::vector<std::byte>> integer_bytes();
  Result<void> take_strings(tensor::Tensor& tensor, std::uint64_t elements);
  [[nodiscard]] std::unexpected<Error> disagree(std::string_view unit, std::uint64_t has, std::uint64_t wants) const;

  TensorFields fields_;
  Place place_;
};

Result<void> Builder::check() {
  if (fields_.external) {
    return bad(place_, "keeps its data in another file (external data)", "save it again with the data inside");
  }
  if (fields_.segment) return bad(place_, "is a segment of a larger tensor", "save it again in one piece");
  const auto type = fields_.element_type;
  if (type == tensor::kTypeString || model::element_bits(type) > 0) return {};
  return bad(place_,
             fmt::format("is not an ONNX tensor (TensorProto): data type {} ({})", type, model::dtype_name(type)),
             std::string(kHint));
}

std::unexpected<Error> Builder::disagree(std::string_view unit, std::uint64_t has, std::uint64_t wants) const {
  return bad(place_,
             fmt::format("has {} {} of data; {} of shape {} is {}", has, unit, model::dtype_name(fields_.element_type),
                         shown_shape(fields_.shape), wants),
             std::string(kHint));
}

Result<void> Builder::take_strings(tensor::Tensor& tensor, std::uint64_t elements) {
  if (fields_.raw) return bad(place_, "has its text as raw data", "text belongs into string_data");
  if (fields_.strings.size() != elements) return disagree("strings", fields_.strings.size(), elements);
  const auto broken = std::ranges::find_if_not(fields_.strings, util::is_utf8);
  if (broken != fields_.strings.end()) {
    return bad(place_, fmt::format("has text that is not UTF-8: its string {}", broken - fields_.strings.begin()),
               "save text as UTF-8");
  }
  tensor.strings = std::move(fields_.strings);
  return {};
}

Result<std::vector<std::byte>> Builder::integer_bytes() {
  // Packed elements fill a byte of each integer.
  const std::size_t width = std::max(model::element_bits(fields_.element_type) / 8, 1U);
  auto narrowed = narrow(*integers_for(fields_, fields_.element_type), fields_.element_type, width);
  if (narrowed) return std::move(*narrowed);
  return bad(place_, fmt::format("has a value that {} cannot hold", model::dtype_name(fields_.element_type)),
             std::string(kHint));
}

Result<std::vector<std::byte>> Builder::bytes() {
  if (fields_.raw) return to_bytes(*fields_.raw);
  if (const std::string* floats = floats_for(fields_, fields_.element_type)) return to_bytes(*floats);
  return integer_bytes();
}

Result<tensor::Tensor> Builder::build() {
  PRECAST_TRY(check());
  const auto type = fields_.element_type;
  const auto elements = tensor::element_count(fields_.shape);
  const auto size = tensor::byte_count(type == tensor::kTypeString ? tensor::kTypeUint8 : type, elements.value_or(0));
  if (!elements || !size) {
    return damaged(place_, fmt::format("has an impossible shape: {}", shown_shape(fields_.shape)));
  }
  tensor::Tensor tensor{.element_type = type};
  if (type == tensor::kTypeString) {
    PRECAST_TRY(take_strings(tensor, *elements));
  } else {
    PRECAST_TRY_ASSIGN(tensor.bytes, bytes());
    if (tensor.bytes.size() != *size) return disagree("bytes", tensor.bytes.size(), *size);
  }
  if (type == tensor::kTypeBool) normalize_bools(tensor.bytes);
  tensor.shape = std::move(fields_.shape);
  return tensor;
}

}  // namespace

Result<NamedTensor> read_tensor_proto(const std::filesystem::path& path) {
  PRECAST_TRY_ASSIGN(OpenedFile opened, open_regular(path));
  Place place{path, util::quoted(path)};
  if (opened.size > kProtobufLimit) return bad(place, "is larger than protobuf allows (2 GiB)", "save it as .npy");
  model::FileStream stream(fs::FileSystem::posix(), opened.file, opened.size);
  Result<TensorFields> fields = read_tensor_fields(stream, static_cast<int>(opened.size), place);
  // What the walk made of a sudden end does not matter.
  if (const std::optional<Error>& error = stream.error()) return std::unexpected(*error);
  if (!fields) return std::unexpected(std::move(fields).error());
  NamedTensor named{.name = std::move(fields->name), .stored = {.path = path}};
  PRECAST_TRY_ASSIGN(named.stored.tensor, Builder(std::move(*fields), std::move(place)).build());
  return named;
}

}  // namespace precast::bench
