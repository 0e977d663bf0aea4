#include "bench/file_name.hpp"

#include <charconv>

#include <fmt/format.h>

#include "util/text.hpp"

namespace precast::bench {

std::string to_file_name(std::string_view name) {
  std::string file_name;
  for (const char c : name) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (c == '/' || c == '%' || control) {
      file_name += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      file_name += c;
    }
  }
  return file_name;
}

std::optional<std::string> from_file_name(std::string_view file_name) {
  std::string name;
  while (!file_name.empty()) {
    if (file_name.front() != '%') {
      name += file_name.front();
      file_name.remove_prefix(1);
      continue;
    }
    const std::string_view digits = file_name.substr(1, 2);
    unsigned value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc() || end != digits.data() + 2) return std::nullopt;
    name += static_cast<char>(value);
    file_name.remove_prefix(3);
  }
  if (!util::is_utf8(name)) return std::nullopt;
  return name;
}

}  // namespace precast::bench
