// Arrays of text as NumPy has them: every string as long as the longest, padded with NULs at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace precast::bench {

// Strings of `item_bytes` each, NULs at their ends left out, to UTF-8. nullopt: one is not Unicode.
[[nodiscard]] std::optional<std::string> text_of_ucs4(std::span<const std::byte> item);   // little-endian
[[nodiscard]] std::optional<std::string> text_of_bytes(std::span<const std::byte> item);  // UTF-8 already

struct Ucs4Strings {
  std::size_t length = 1;  // of each, in code points
  std::vector<std::byte> bytes;
};
// nullopt: one is not UTF-8, or ends in NUL, which would be lost.
[[nodiscard]] std::optional<Ucs4Strings> to_ucs4(const std::vector<std::string>& strings);

}  // namespace precast::bench
