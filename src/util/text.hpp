// Small pure functions on text. All text is UTF-8.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace precast::util {

[[nodiscard]] bool is_utf8(std::string_view text);
// Bytes that are not UTF-8, and control characters other than tab and newline, as \xNN: always valid UTF-8.
[[nodiscard]] std::string escape_invalid_utf8(std::string_view text);
// The same with tab and newline as \t and \n: one line, one cell of a table.
[[nodiscard]] std::string escape_to_line(std::string_view text);
// A path as messages show it: escaped to one line, between single quotes.
[[nodiscard]] std::string quoted(const std::filesystem::path& path);
[[nodiscard]] bool is_hex(std::string_view text, std::size_t length);  // lower case, exactly that long
[[nodiscard]] bool is_uuid(std::string_view text);                     // 8-4-4-4-12 lower-case hex
[[nodiscard]] std::string new_uuid();                                  // random (version 4), from getrandom(2)
[[nodiscard]] std::string ascii_lower(std::string_view text);
[[nodiscard]] std::vector<std::string> split(std::string_view text, char separator);
[[nodiscard]] std::string_view trim(std::string_view text);
// "*" and "?" as in a shell, no brackets; the whole of `text` must match.
[[nodiscard]] bool glob_match(std::string_view pattern, std::string_view text);
// `what` must not be empty.
void replace_all(std::string& text, std::string_view what, std::string_view by);
// "a, b and 5 more" of more than `most`.
[[nodiscard]] std::string listed(std::span<const std::string> parts, std::size_t most);
// The same of names that are to be quoted: "'a', 'b'".
template <typename Names>
[[nodiscard]] std::string listed_quoted(const Names& names, std::size_t most = SIZE_MAX) {
  std::vector<std::string> parts;
  parts.reserve(names.size());
  for (const auto& name : names) parts.push_back(util::quoted(name));
  return listed(parts, most);
}
// A library's words, which may go over lines and end with blanks, as one line of at most about `most` bytes.
[[nodiscard]] std::string one_line(std::string_view words, std::size_t most = 1500);
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);  // "0 B", "1.5 KiB", "340.0 MiB"

// Rows of cells to aligned columns, two spaces apart, no trailing blanks, one '\n' per row; cells are escaped
// to one line. The first row is the head.
[[nodiscard]] std::string format_table(std::vector<std::vector<std::string>> rows);

}  // namespace precast::util
