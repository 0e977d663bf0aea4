#include "util/sha256.hpp"

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace precast::util {
namespace {

constexpr std::string_view kOfEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr std::string_view kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr std::string_view kOfMillionA = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

TEST(Sha256, gives_the_digests_of_the_standard) {
  EXPECT_EQ(sha256_hex(""), kOfEmpty);
  EXPECT_EQ(sha256_hex("abc"), kOfAbc);
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1'000'000, 'a')), kOfMillionA);
}

TEST(Sha256, does_not_depend_on_how_the_bytes_are_cut) {
  Sha256 hash;
  const std::string piece(977, 'a');
  std::size_t left = 1'000'000;
  while (left > 0) {
    const std::size_t now = std::min(left, piece.size());
    hash.update(bytes_of(std::string_view(piece).substr(0, now)));
    hash.update({});
    left -= now;
  }
  EXPECT_EQ(hash.finish_hex(), kOfMillionA);
}

TEST(Sha256, keeps_what_it_has_seen_when_moved) {
  Sha256 first;
  first.update(bytes_of("a"));
  Sha256 second = std::move(first);
  second.update(bytes_of("b"));
  Sha256 third;
  third.update(bytes_of("something else"));
  third = std::move(second);
  third.update(bytes_of("c"));
  EXPECT_EQ(third.finish_hex(), kOfAbc);
}

TEST(Sha256, threads_hash_side_by_side) {
  std::vector<std::string> digests(8);
  std::vector<std::thread> threads;
  threads.reserve(digests.size());
  for (auto& digest : digests) {
    threads.emplace_back([&digest] { digest = sha256_hex(std::string(1'000'000, 'a')); });
  }
  for (auto& thread : threads) thread.join();
  for (const auto& digest : digests) EXPECT_EQ(digest, kOfMillionA);
}

}  // namespace
}  // namespace precast::util
