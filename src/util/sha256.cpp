#include "util/sha256.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <openssl/crypto.h>
#include <openssl/evp.h>

namespace precast::util {
namespace {

// OpenSSL's digest fails only when memory is gone or its build is broken. Going on would hand out a wrong digest, and
// everything here rests on digests being right.
void require(bool ok) {
  if (ok) return;
  std::fputs("precast: OpenSSL cannot compute SHA-256\n", stderr);
  std::abort();
}

// Fetched once: an implicit fetch per digest costs more than hashing a small file. openssl.cnf is not read: it costs
// file accesses at start-up, and a configuration that loads other providers has no business here. Error texts and the
// tables of all ciphers are not made either: they are more than half of the first digest's time.
const EVP_MD* algorithm() {
  static const EVP_MD* const fetched_once = [] {
    constexpr std::uint64_t little = OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS |
                                     OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ADD_ALL_DIGESTS |
                                     OPENSSL_INIT_NO_ATEXIT;
    require(OPENSSL_init_crypto(little, nullptr) == 1);
    const EVP_MD* fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    require(fetched != nullptr);
    return fetched;
  }();
  return fetched_once;
}

std::string to_hex(std::span<const unsigned char> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) {
    hex.push_back(digits[byte >> 4U]);
    hex.push_back(digits[byte & 0xFU]);
  }
  return hex;
}

}  // namespace

struct Sha256::Context {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  std::unique_ptr<EVP_MD_CTX, Free> evp;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  const EVP_MD* const digest = algorithm();
  context_->evp.reset(EVP_MD_CTX_new());
  require(context_->evp != nullptr);
  require(EVP_DigestInit_ex2(context_->evp.get(), digest, nullptr) == 1);
}

Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(std::span<const std::byte> bytes) {
  require(EVP_DigestUpdate(context_->evp.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::finish_hex() {
  std::array<unsigned char, 32> digest{};
  unsigned int length = 0;
  require(EVP_DigestFinal_ex(context_->evp.get(), digest.data(), &length) == 1 && length == digest.size());
  return to_hex(digest);
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(bytes)));
  return hash.finish_hex();
}

}  // namespace precast::util
