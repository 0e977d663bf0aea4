// Deleting in a folder that somebody publishes into; for src/store only.
//
// Whoever publishes holds a shared flock on the folder itself; whoever deletes there holds it exclusively, and only
// tries. So it holds between stores, too, and no temporary file or binary goes that somebody is about to need.
#pragma once

#include <filesystem>
#include <optional>

#include "fs/file_system.hpp"
#include "store/publish_destination.hpp"
#include "store/records.hpp"
#include "store/store.hpp"

namespace precast::store {

class FolderLock {
 public:
  // nullopt: not to be had now. A shared one is tried for a moment: others hold it exclusively only while they delete.
  static std::optional<FolderLock> try_acquire(fs::FileSystem& fs, const std::filesystem::path& folder,
                                               fs::LockKind kind);

 private:
  explicit FolderLock(fs::File file) : file_(std::move(file)) {}
  fs::File file_;  // its end is the lock's
};

// Temporary files of publications that were killed. Under the exclusive lock, if that can be had.
void sweep_published_folder(fs::FileSystem& fs, const std::filesystem::path& folder);

// The newest publications of one output are kept.
inline constexpr std::size_t kKeptPublications = 4;

// Removes files of older publications of `record`, which is that of `to`, and writes the record again; the caller holds
// the output's lock. Only what is unchanged goes, and what neither an .onnx of the folder nor a kept publication of
// another output names. Never fails: what could not be done is done next time.
void prune_publications(Store& store, const Destination& to, PublishRecord record);

}  // namespace precast::store
