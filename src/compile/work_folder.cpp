#include "compile/work_folder.hpp"

#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::compile {

Result<WorkFolder> WorkFolder::temporary(fs::FileSystem& fs) {
  std::error_code error;
  const std::filesystem::path base = std::filesystem::temp_directory_path(error);
  if (error) {
    return fail(ErrorCode::io, "there is no temporary folder: " + error.message(), {},
                "set TMPDIR to an existing folder");
  }
  WorkFolder folder(fs, base / ("precast-" + util::new_uuid()));
  PRECAST_TRY(fs.make_directory(folder.folder_, 0700));
  PRECAST_TRY(fs.make_directory(folder.output_folder(), 0700));
  PRECAST_TRY(fs.make_directory(folder.work_folder(), 0700));
  return folder;
}

WorkFolder::~WorkFolder() {
  // A temporary folder that cannot be removed now is the system's to clean.
  if (fs_ != nullptr && !folder_.empty()) (void)fs::remove_tree(*fs_, folder_);
}

WorkFolder::WorkFolder(WorkFolder&& other) noexcept
    : work_(std::move(other.work_)), fs_(std::exchange(other.fs_, nullptr)), folder_(std::move(other.folder_)) {
  other.folder_.clear();
}

std::filesystem::path WorkFolder::output_folder() const {
  return work_ ? work_->output_folder() : folder_ / "out";
}
std::filesystem::path WorkFolder::source_folder() const {
  return work_ ? work_->source_folder() : folder_ / "source";
}
std::filesystem::path WorkFolder::work_folder() const {
  return work_ ? work_->work_folder() : folder_ / "work";
}

}  // namespace precast::compile
