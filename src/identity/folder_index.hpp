// Questions about which files exist, answered from one listing per folder. One object serves one request: what it has
// listed it does not look at again. Not thread-safe.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fs/file_system.hpp"
#include "precast/error.hpp"

namespace precast::identity {

class FolderIndex {
 public:
  explicit FolderIndex(fs::FileSystem& fs) : fs_(fs) {}

  // Does `folder` hold a file of that name (a link must lead to one)? A folder that is missing holds nothing; one that
  // may be searched but not listed is asked name by name, as the dynamic linker does.
  [[nodiscard]] bool holds(const std::filesystem::path& folder, const std::string& name);
  [[nodiscard]] bool holds(const std::filesystem::path& file);
  // Names of files (or links to files) in `folder` that one of the globs matches, sorted. Missing folder: none; one
  // that cannot be listed: its error.
  [[nodiscard]] Result<std::vector<std::string>> matching(const std::filesystem::path& folder,
                                                          const std::vector<std::string_view>& globs);
  // Names of the sub-folders.
  [[nodiscard]] std::vector<std::string> folders_in(const std::filesystem::path& folder);
  // `folder` without ".." where its text says what it means (no links on it), so that one folder has one name.
  [[nodiscard]] std::filesystem::path plain(const std::filesystem::path& folder);

 private:
  struct Folder {
    std::map<std::string, fs::FileKind, std::less<>> entries;
    std::optional<Error> error;  // it could not be listed
  };
  const Folder& listed(const std::filesystem::path& folder);
  [[nodiscard]] bool is_file(const std::filesystem::path& path, fs::FileKind kind);

  fs::FileSystem& fs_;
  std::map<std::filesystem::path, Folder> folders_;
  std::map<std::filesystem::path, bool> links_to_files_;
  std::map<std::filesystem::path, std::filesystem::path> plain_;
};

}  // namespace precast::identity
