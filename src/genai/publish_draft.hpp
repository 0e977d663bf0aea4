// The folder in which a bundle is put together before it is published, and who may put it in its place when. Of
// publish_bundle.cpp.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "genai/publish_bundle.hpp"
#include "identity/digester.hpp"

namespace precast::genai {

inline constexpr std::uint32_t kPublishedFolderMode = 0777;  // of what is published, less the umask

using Digests = std::map<std::string, std::string>;  // name of a file, relative to the bundle -> SHA-256
using Files = std::map<std::string, identity::FileEvidence>;

// The record and the lease, which are no files of the bundle.
[[nodiscard]] bool is_of_publishing(const std::filesystem::path& name);

// What is where the bundle should go.
enum class There : std::uint8_t { nothing, empty, ours };

// Publications into one folder look at it and rename one after the other. The folder itself is locked: a lock file
// would stay in it. Where folders cannot be locked (some network file systems) the drafts' leases and the renames have
// to do. busy: the request's time is up; cancelled.
class ParentLock {
 public:
  [[nodiscard]] static Result<ParentLock> take(fs::FileSystem& fs, const PublishBundle& request);

 private:
  ParentLock() = default;
  fs::File folder_;  // closing it unlocks it
};

// A folder beside the output, with a lease while it is written; it goes with its object unless it got its name.
class Draft {
 public:
  Draft(fs::FileSystem& fs, const std::filesystem::path& output);
  ~Draft();
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] Result<void> make();
  // Modes as the user's umask has them, and all of it on the disk.
  [[nodiscard]] Result<void> make_durable();
  [[nodiscard]] Result<void> write_record(const std::string& text);
  // It is the folder that was made, and its files are those that were hashed: nobody tidied it up meanwhile. Else busy.
  [[nodiscard]] Result<void> check_untouched(const Files& files);
  // What is there becomes the draft, to be removed with this object.
  [[nodiscard]] Result<void> move_to(const std::filesystem::path& output, There there);

 private:
  // For file systems that cannot exchange two names: for a moment there is nothing.
  Result<void> replace(const std::filesystem::path& output, There there);
  // The folder has the lease that this object holds.
  Result<bool> is_mine();
  // false: another publication took the folder for one that was left, before it had its lease.
  Result<bool> take_lease();

  fs::FileSystem& fs_;
  std::filesystem::path folder_;
  std::uint32_t mode_ = 0;  // of folders
  fs::File lease_;
};

// What killed publications left: folders of ours whose lease nobody holds, drafts and replaced bundles.
void remove_left_drafts(fs::FileSystem& fs, const std::filesystem::path& parent);

}  // namespace precast::genai
