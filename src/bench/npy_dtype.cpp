#include "bench/npy_dtype.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "bench/element.hpp"

namespace precast::bench {
namespace {

struct Number {
  std::string_view name;
  std::int32_t element_type = 0;
  std::uint8_t item_bytes = 0;
  std::uint8_t unit_bytes = 0;  // what a byte order applies to
};

constexpr std::array kNumbers = {
    Number{"f2", tensor::kTypeFloat16, 2, 2},   Number{"f4", tensor::kTypeFloat, 4, 4},
    Number{"f8", tensor::kTypeDouble, 8, 8},    Number{"i1", tensor::kTypeInt8, 1, 1},
    Number{"i2", tensor::kTypeInt16, 2, 2},     Number{"i4", tensor::kTypeInt32, 4, 4},
    Number{"i8", tensor::kTypeInt64, 8, 8},     Number{"u1", tensor::kTypeUint8, 1, 1},
    Number{"u2", tensor::kTypeUint16, 2, 2},    Number{"u4", tensor::kTypeUint32, 4, 4},
    Number{"u8", tensor::kTypeUint64, 8, 8},    Number{"b1", tensor::kTypeBool, 1, 1},
    Number{"c8", tensor::kTypeComplex64, 8, 4}, Number{"c16", tensor::kTypeComplex128, 16, 8},
};

// No string of an array is longer in NumPy (its items end at 2^31 bytes).
constexpr std::uint64_t kLongestString = std::uint64_t{1} << 29U;

struct Foreign {
  char letter = '\0';
  std::string_view what;
};

constexpr std::array kForeign = {
    Foreign{'O', "is an object array (pickled Python objects), which is never loaded"},
    Foreign{'M', "is an array of dates"},
    Foreign{'m', "is an array of time differences"},
};

std::optional<std::uint64_t> string_length(std::string_view digits) {
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
  if (error != std::errc() || end != digits.data() + digits.size() || length > kLongestString) return std::nullopt;
  return length;
}

// `name` is a descr without its byte order.
std::optional<NpyDtype> text_dtype(std::string_view name, bool big_endian) {
  const bool characters = name.starts_with('U');
  if (!characters && !name.starts_with('S')) return std::nullopt;
  const auto length = string_length(name.substr(1));
  if (!length) return std::nullopt;
  NpyDtype dtype{.element_type = tensor::kTypeString};
  dtype.kind = characters ? NpyDtype::Kind::characters : NpyDtype::Kind::bytes;
  dtype.item_bytes = characters ? *length * sizeof(char32_t) : *length;
  dtype.swap_bytes = characters && big_endian ? sizeof(char32_t) : 0;
  return dtype;
}

std::optional<NpyDtype> known_dtype(std::string_view name, bool big_endian) {
  // What raw bytes mean is not NumPy's to know: they have no byte order.
  if (name == "V1") return NpyDtype{NpyDtype::Kind::raw, tensor::kTypeUint8, 1, 0};
  if (name == "V2") return NpyDtype{NpyDtype::Kind::raw, tensor::kTypeUint16, 2, 0};
  const auto number = std::ranges::find(kNumbers, name, &Number::name);
  if (number == kNumbers.end()) return text_dtype(name, big_endian);
  const bool swap = big_endian && number->unit_bytes > 1;
  return NpyDtype{NpyDtype::Kind::number, number->element_type, number->item_bytes,
                  swap ? std::size_t{number->unit_bytes} : 0};
}

}  // namespace

Result<NpyDtype> parse_npy_dtype(std::string_view descr, const Place& place) {
  const bool ordered = !descr.empty() && std::string_view("<>|=").contains(descr.front());
  const std::string_view name = descr.substr(ordered ? 1 : 0);
  if (const auto dtype = known_dtype(name, descr.starts_with('>'))) return *dtype;
  const auto foreign = std::ranges::find(kForeign, name.empty() ? '\0' : name.front(), &Foreign::letter);
  if (foreign != kForeign.end()) {
    return bad(place, fmt::format("{}: dtype {}", foreign->what, shown_text(descr)),
               "convert it first: array.astype(numpy.float32), say, or astype(str) for text");
  }
  return bad(place, fmt::format("has the dtype {}, which no ONNX type matches", shown_text(descr)),
             "convert it first: array.astype(numpy.float32), say");
}

std::string_view written_dtype(std::int32_t element_type) {
  switch (element_type) {
    case tensor::kTypeFloat16:
      return "<f2";
    case tensor::kTypeFloat:
      return "<f4";
    case tensor::kTypeDouble:
      return "<f8";
    case tensor::kTypeInt8:
    case tensor::kTypeInt4:
    case tensor::kTypeInt2:
      return "|i1";
    case tensor::kTypeInt16:
      return "<i2";
    case tensor::kTypeInt32:
      return "<i4";
    case tensor::kTypeInt64:
      return "<i8";
    case tensor::kTypeUint8:
    case tensor::kTypeUint4:
    case tensor::kTypeUint2:
      return "|u1";
    case tensor::kTypeUint16:
      return "<u2";
    case tensor::kTypeUint32:
      return "<u4";
    case tensor::kTypeUint64:
      return "<u8";
    case tensor::kTypeBool:
      return "|b1";
    case tensor::kTypeComplex64:
      return "<c8";
    case tensor::kTypeComplex128:
      return "<c16";
    case tensor::kTypeBfloat16:
      return "|V2";
    case tensor::kTypeFloat8E4M3FN:
    case tensor::kTypeFloat8E4M3FNUZ:
    case tensor::kTypeFloat8E5M2:
    case tensor::kTypeFloat8E5M2FNUZ:
    case tensor::kTypeFloat8E8M0:
    case tensor::kTypeFloat4E2M1:
      return "|V1";
    case tensor::kTypeString:
      return "<U";
    default:
      return {};
  }
}

}  // namespace precast::bench
