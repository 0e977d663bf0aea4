// What `doctor` wants to know of a store: found by stat and by reading its small files; nothing is hashed and nothing
// changed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "store/store.hpp"
#include "store/volumes.hpp"

namespace precast::store {

struct Health {
  CtimeTrust trust = CtimeTrust::never;  // in the time stamps of the store's file system
  fs::FileSystem::Volume volume;         // of the store's file system
  std::uint64_t entries = 0;
  std::vector<Finding> findings;  // as of verify(), without looking at the bytes of artifacts
  // Artifacts, and sources (graph and external data) that are still where they were compiled from: hashed at every use
  // until that time has come.
  std::vector<std::filesystem::path> from_the_future;
  // Folders in tmp/ that nobody holds and that a sweep would have taken.
  std::vector<std::filesystem::path> leftovers;
  std::uint64_t remembered_failures = 0;  // compiles that failed; not models of which no node runs on the EP
};

// Less than 1 GiB free, and less than a tenth of the disk.
[[nodiscard]] bool nearly_full(const fs::FileSystem::Volume& volume);

}  // namespace precast::store
