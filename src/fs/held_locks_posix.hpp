// The open descriptors of all lock holders of this process. A child made by fork shares its parent's open files, and
// with them their locks: it would keep them alive after the parent has died. So a pthread_atfork handler closes them in
// the child (without LOCK_UN, which would take the lock from the parent too). Not for other layers.
#pragma once

#include <mutex>

#include "fs/file_system.hpp"

namespace precast::fs::posix {

// One lock's open file. Must not move while it is in the list.
struct HeldFile {
  File file;
  HeldFile* previous = nullptr;
  HeldFile* next = nullptr;
};

// While this is held, no other thread can fork. Open the file and add it under the same guard, or a fork in between
// would carry the descriptor away. The first call installs the handlers.
[[nodiscard]] Result<std::unique_lock<std::mutex>> forbid_fork();
void add_held(const std::unique_lock<std::mutex>& guard, HeldFile& held);
// And closes the file. Nothing happens in a forked child, whose handler has done it already.
void remove_held(HeldFile& held) noexcept;

}  // namespace precast::fs::posix
