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
    Number{"f2", element::kFloat16, 2, 2},   Number{"f4", element::kFloat32, 4, 4},
    Number{"f8", element::kFloat64, 8, 8},   Number{"i1", element::kInt8, 1, 1},
    Number{"i2", element::kInt16, 2, 2},     Number{"i4", element::kInt32, 4, 4},
    Number{"i8", element::kInt64, 8, 8},     Number{"u1", element::kUint8, 1, 1},
    Number{"u2", element::kUint16, 2, 2},    Number{"u4", element::kUint32, 4, 4},
    Number{"u8", element::kUint64, 8, 8},    Number{"b1", element::kBool, 1, 1},
    Number{"c8", element::kComplex64, 8, 4}, Number{"c16", element::kComplex128, 16, 8},
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
  NpyDtype dtype{.element_type = element::kString};
  dtype.kind = characters ? NpyDtype::Kind::characters : NpyDtype::Kind::bytes;
  dtype.item_bytes = characters ? *length * sizeof(char32_t) : *length;
  dtype.swap_bytes = characters && big_endian ? sizeof(char32_t) : 0;
  return dtype;
}

std::optional<NpyDtype> known_dtype(std::string_view name, bool big_endian) {
  // What raw bytes mean is not NumPy's to know: they have no byte order.
  if (name == "V1") return NpyDtype{NpyDtype::Kind::raw, element::kUint8, 1, 0};
  if (name == "V2") return NpyDtype{NpyDtype::Kind::raw, element::kUint16, 2, 0};
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
    case element::kFloat16:
      return "<f2";
    case element::kFloat32:
      return "<f4";
    case element::kFloat64:
      return "<f8";
    case element::kInt8:
    case element::kInt4:
    case element::kInt2:
      return "|i1";
    case element::kInt16:
      return "<i2";
    case element::kInt32:
      return "<i4";
    case element::kInt64:
      return "<i8";
    case element::kUint8:
    case element::kUint4:
    case element::kUint2:
      return "|u1";
    case element::kUint16:
      return "<u2";
    case element::kUint32:
      return "<u4";
    case element::kUint64:
      return "<u8";
    case element::kBool:
      return "|b1";
    case element::kComplex64:
      return "<c8";
    case element::kComplex128:
      return "<c16";
    case element::kBfloat16:
      return "|V2";
    case element::kFloat8E4m3fn:
    case element::kFloat8E4m3fnuz:
    case element::kFloat8E5m2:
    case element::kFloat8E5m2fnuz:
    case element::kFloat8E8m0fnu:
    case element::kFloat4E2m1fn:
      return "|V1";
    case element::kString:
      return "<U";
    default:
      return {};
  }
}

}  // namespace precast::bench
