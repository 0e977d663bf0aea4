// Where one compile happens: in the store's tmp/ (a store::Work), or in a folder of its own under the temporary
// directory when the store takes no part. Both have out/, source/ and work/ inside.
#pragma once

#include <memory>
#include <optional>

#include "store/store.hpp"

namespace precast::compile {

class WorkFolder {
 public:
  explicit WorkFolder(store::Work work) : work_(std::move(work)) {}
  // A new folder under TMPDIR (or /tmp), mode 0700, removed by the destructor. Its lease is a locked file in it; those
  // of this user whose lease nobody holds any more (their process was killed) are removed first.
  [[nodiscard]] static Result<WorkFolder> temporary(fs::FileSystem& fs);
  ~WorkFolder();
  WorkFolder(WorkFolder&&) noexcept;
  WorkFolder& operator=(WorkFolder&&) = delete;
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  [[nodiscard]] std::filesystem::path output_folder() const;
  [[nodiscard]] std::filesystem::path source_folder() const;
  [[nodiscard]] std::filesystem::path work_folder() const;
  // For a temporary folder whose path goes to a program that this process forks and executes: that program then holds
  // the lease too.
  void inherit_lease_on_exec();
  [[nodiscard]] bool in_store() const { return work_.has_value(); }
  [[nodiscard]] store::Work take_store_work() { return std::move(*work_); }

 private:
  explicit WorkFolder(fs::FileSystem& fs, std::filesystem::path folder) : fs_(&fs), folder_(std::move(folder)) {}
  Result<bool> take_lease();  // false: somebody thought the folder abandoned and deleted it
  std::optional<store::Work> work_;
  fs::FileSystem* fs_ = nullptr;
  std::filesystem::path folder_;
  fs::File lease_;  // not an fs::Lock: a forked child must keep its copy
};

}  // namespace precast::compile
