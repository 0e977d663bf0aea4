// What a file system's kind says about its time stamps and about being shared with other machines.
#pragma once

#include <cstdint>

#include "fs/file_system.hpp"

namespace precast::store {

enum class CtimeTrust : std::uint8_t {
  never,       // a write may leave ctime as it was, or two images may answer alike: hash always
  this_mount,  // only as long as this boot and this mount last
  always,
};

[[nodiscard]] CtimeTrust ctime_trust(const fs::FileSystem::Volume& volume);

// Other machines, or a program of the user's, answer for it: locks and renames may not be what they are here.
[[nodiscard]] bool is_network_or_fuse(const fs::FileSystem::Volume& volume);

}  // namespace precast::store
