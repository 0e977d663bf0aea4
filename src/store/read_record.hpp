// Reading the small files of a store with few calls: one open and, up to 64 KiB, one read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "fs/file_system.hpp"

namespace precast::store {

inline constexpr std::uint64_t kRecordLimit = std::uint64_t{4} << 20U;  // of markers, manifests and failed records

// nullopt: there is no such file. Not a regular file, or more than `limit` bytes: corrupt. What the system refuses: io.
[[nodiscard]] Result<std::optional<std::string>> read_record(fs::FileSystem& fs, const std::filesystem::path& path,
                                                             std::uint64_t limit = kRecordLimit);

}  // namespace precast::store
