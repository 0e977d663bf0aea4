// SHA-256 (FIPS 180-4) through OpenSSL's EVP; full length everywhere, truncated only for display.
// Thread safety: one Sha256 per thread; sha256_hex is free-threaded.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace precast::util {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  void update(std::span<const std::byte> bytes);
  // 64 lower-case hex digits; the object may not be used afterwards.
  [[nodiscard]] std::string finish_hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

[[nodiscard]] std::string sha256_hex(std::string_view bytes);

}  // namespace precast::util
