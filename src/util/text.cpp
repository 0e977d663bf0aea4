#include "util/text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

namespace precast::util {
namespace {

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

struct LeadByte {
  std::size_t length = 0;  // of the whole sequence; 0 = cannot start one
  char32_t smallest = 0;   // anything less would have a shorter form
  char32_t bits = 0;       // its share of the code point
};

LeadByte classify(unsigned char byte) {
  if (byte < 0x80U) return {1, 0, byte};
  if ((byte & 0xE0U) == 0xC0U) return {2, 0x80, byte & 0x1FU};
  if ((byte & 0xF0U) == 0xE0U) return {3, 0x800, byte & 0x0FU};
  if ((byte & 0xF8U) == 0xF0U) return {4, 0x10000, byte & 0x07U};
  return {};
}

struct Sequence {
  std::size_t length = 0;  // 0 = not UTF-8 here
  char32_t code_point = 0;
};

// The sequence that `text` (not empty) starts with: shortest form only, no surrogates, nothing past U+10FFFF.
Sequence decode(std::string_view text) {
  const LeadByte lead = classify(static_cast<unsigned char>(text.front()));
  if (lead.length == 0 || lead.length > text.size()) return {};
  char32_t code_point = lead.bits;
  for (const char byte : text.substr(1, lead.length - 1)) {
    if (!is_continuation(byte)) return {};
    code_point = (code_point << 6U) | (static_cast<unsigned char>(byte) & 0x3FU);
  }
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < lead.smallest || surrogate || code_point > 0x10FFFF) return {};
  return {lead.length, code_point};
}

bool is_control(char32_t code_point) {
  if (code_point == U'\t' || code_point == U'\n') return false;
  return code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
}

bool is_lower_hex(char digit) {
  return (digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f');
}

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Bytes of the first character; a stray byte counts as one.
std::size_t character_length(std::string_view text) {
  return std::max<std::size_t>(decode(text).length, 1);
}

std::size_t width_of(std::string_view cell) {
  return static_cast<std::size_t>(std::ranges::count_if(cell, [](char byte) { return !is_continuation(byte); }));
}

std::vector<std::size_t> column_widths(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    if (row.size() > widths.size()) widths.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  return widths;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = decode(text).length;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string escape_invalid_utf8(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const Sequence sequence = decode(text);
    const std::string_view piece = text.substr(0, std::max<std::size_t>(sequence.length, 1));
    if (sequence.length == 0 || is_control(sequence.code_point)) {
      for (const char byte : piece) escaped += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    } else {
      escaped += piece;
    }
    text.remove_prefix(piece.size());
  }
  return escaped;
}

std::string escape_to_line(std::string_view text) {
  std::string line;
  for (const char c : escape_invalid_utf8(text)) {
    if (c == '\n') {
      line += "\\n";
    } else if (c == '\t') {
      line += "\\t";
    } else {
      line += c;
    }
  }
  return line;
}

std::string quoted(const std::filesystem::path& path) {
  return "'" + escape_to_line(path.native()) + "'";
}

bool is_hex(std::string_view text, std::size_t length) {
  return text.size() == length && std::ranges::all_of(text, is_lower_hex);
}

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_lower_hex(text[i])) return false;
  }
  return true;
}

std::string ascii_lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> pieces;
  for (;;) {
    const std::size_t end = text.find(separator);
    pieces.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Only the last "*" is ever taken up again: whatever an earlier one could give, the last one can give too. So the time
// is at most the product of the lengths, whoever writes the pattern.
bool glob_match(std::string_view pattern, std::string_view text) {
  constexpr std::size_t none = std::string_view::npos;
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t after_star = none;
  std::size_t star_end = 0;  // where in `text` the last "*" stops for now
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      star_end = t;
    } else if (p < pattern.size() && pattern[p] == '?') {
      ++p;
      t += character_length(text.substr(t));
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (after_star != none) {
      star_end += character_length(text.substr(star_end));
      p = after_star;
      t = star_end;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == none;
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

std::string listed(std::span<const std::string> parts, std::size_t most) {
  std::string text;
  for (const std::string& part : parts.first(std::min(parts.size(), most))) text += (text.empty() ? "" : ", ") + part;
  if (parts.size() > most) text += fmt::format(" and {} more", parts.size() - most);
  return text;
}

std::string one_line(std::string_view words, std::size_t most) {
  std::string line;
  for (const std::string& part : split(words, '\n')) {
    const std::string_view trimmed = trim(part);
    if (trimmed.empty()) continue;
    if (!line.empty()) line += ' ';
    line += trimmed;
  }
  if (line.size() > most) line = line.substr(0, most) + " ...";
  return escape_to_line(line);
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // 1023.95 would be shown as "1024.0".
  while (value >= 1023.95 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, units[unit]);
}

std::string format_table(std::vector<std::vector<std::string>> rows) {
  for (auto& row : rows) {
    for (std::string& cell : row) cell = escape_to_line(cell);
  }
  const std::vector<std::size_t> widths = column_widths(rows);
  std::string table;
  for (const auto& row : rows) {
    std::size_t blanks = 0;  // owed, and paid only when something follows
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::size_t width = width_of(row[i]);
      if (!row[i].empty()) {
        table.append(blanks, ' ');
        table += row[i];
        blanks = 0;
      }
      blanks += widths[i] - width + 2;
    }
    table += '\n';
  }
  return table;
}

}  // namespace precast::util
