// One remembered digest, and the text of a group of them (docs/store-format.md, "Digests").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fs/file_system.hpp"

namespace precast::store {

struct MemoEntry {
  std::string path{};  // SHA-256 of the path it was last met under: only to find what it replaces
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::string sha256{};     // of the bytes
  std::string boot{};       // boot id without which it does not hold; empty = any boot
  std::uint64_t mount = 0;  // the same of the mount; 0 = any
  friend bool operator==(const MemoEntry&, const MemoEntry&) = default;

  [[nodiscard]] bool is_about(const fs::FileStat& stat) const {
    return device == stat.device && inode == stat.inode && size == stat.size && mtime_ns == stat.mtime_ns &&
           ctime_ns == stat.ctime_ns;
  }
};

// `group` is the SHA-256 of the group's name.
[[nodiscard]] std::string serialize_group(std::string_view group, const std::vector<MemoEntry>& entries);
// Whatever is not exactly as it was written is left out: an entry by its checksum, the whole by its frame.
[[nodiscard]] std::vector<MemoEntry> parse_group(std::string_view group, std::string_view text);

}  // namespace precast::store
