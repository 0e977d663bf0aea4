#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <sys/random.h>

#include "util/text.hpp"

namespace precast::util {

std::string new_uuid() {
  std::array<unsigned char, 16> bytes{};
  ssize_t got = 0;
  do {
    got = getrandom(bytes.data(), bytes.size(), 0);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(bytes.size())) {
    // The kernel promises up to 256 bytes whole. Anything less random could name two generations alike.
    std::fputs("precast: getrandom(2) gives no random bytes\n", stderr);
    std::abort();
  }
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0FU) | 0x40U);  // version 4
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3FU) | 0x80U);  // the variant of RFC 9562

  constexpr std::string_view digits = "0123456789abcdef";
  std::string uuid;
  uuid.reserve(36);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) uuid.push_back('-');
    uuid.push_back(digits[bytes[i] >> 4U]);
    uuid.push_back(digits[bytes[i] & 0xFU]);
  }
  return uuid;
}

}  // namespace precast::util
