#include "bench/ucs4.hpp"

#include <algorithm>

#include "util/text.hpp"

namespace precast::bench {
namespace {

constexpr std::size_t kUnit = sizeof(char32_t);

char32_t unit_at(std::span<const std::byte> item, std::size_t index) {
  char32_t unit = 0;
  for (std::size_t i = kUnit; i-- > 0;) unit = unit << 8U | std::to_integer<char32_t>(item[index * kUnit + i]);
  return unit;
}

bool append_utf8(std::string& text, char32_t point) {
  const auto tail = [&](unsigned shift) { text += static_cast<char>(0x80U | ((point >> shift) & 0x3FU)); };
  if (point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return false;
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xC0U | point >> 6U);
    tail(0);
  } else if (point < 0x10000) {
    text += static_cast<char>(0xE0U | point >> 12U);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xF0U | point >> 18U);
    tail(12);
    tail(6);
    tail(0);
  }
  return true;
}

// Of valid UTF-8.
std::u32string code_points(std::string_view text) {
  std::u32string points;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80U) {
      points += byte;
    } else if (byte < 0xC0U) {
      points.back() = points.back() << 6U | (byte & 0x3FU);
    } else {
      points += byte < 0xE0U ? byte & 0x1FU : byte < 0xF0U ? byte & 0x0FU : byte & 0x07U;
    }
  }
  return points;
}

}  // namespace

std::optional<std::string> text_of_ucs4(std::span<const std::byte> item) {
  std::size_t length = item.size() / kUnit;
  while (length > 0 && unit_at(item, length - 1) == 0) --length;
  std::string text;
  for (std::size_t i = 0; i < length; ++i) {
    if (!append_utf8(text, unit_at(item, i))) return std::nullopt;
  }
  return text;
}

std::optional<std::string> text_of_bytes(std::span<const std::byte> item) {
  while (!item.empty() && item.back() == std::byte{0}) item = item.first(item.size() - 1);
  std::string text;
  for (const std::byte byte : item) text += std::to_integer<char>(byte);
  if (!util::is_utf8(text)) return std::nullopt;
  return text;
}

std::optional<Ucs4Strings> to_ucs4(const std::vector<std::string>& strings) {
  Ucs4Strings out;
  for (const std::string& text : strings) {
    if (!util::is_utf8(text) || text.ends_with('\0')) return std::nullopt;
    out.length = std::max(out.length, code_points(text).size());
  }
  out.bytes.resize(strings.size() * out.length * kUnit);
  for (std::size_t i = 0; i < strings.size(); ++i) {
    std::size_t at = i * out.length * kUnit;
    for (const char32_t point : code_points(strings[i])) {
      for (unsigned shift = 0; shift < 32; shift += 8) out.bytes[at++] = static_cast<std::byte>(point >> shift & 0xFFU);
    }
  }
  return out;
}

}  // namespace precast::bench
