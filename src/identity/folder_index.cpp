#include "identity/folder_index.hpp"

#include <algorithm>

#include "util/text.hpp"

namespace precast::identity {

const FolderIndex::Folder& FolderIndex::listed(const std::filesystem::path& folder) {
  const auto [found, added] = folders_.try_emplace(folder);
  if (!added) return found->second;
  auto entries = fs_.list(folder);
  if (entries) {
    for (fs::DirEntry& entry : *entries) found->second.entries.emplace(std::move(entry.name), entry.kind);
  } else if (!fs::is_not_found(entries.error())) {
    found->second.error = std::move(entries).error();
  }
  return found->second;
}

bool FolderIndex::is_file(const std::filesystem::path& path, fs::FileKind kind) {
  if (kind == fs::FileKind::regular) return true;
  if (kind == fs::FileKind::directory) return false;
  const auto [found, added] = links_to_files_.try_emplace(path, false);
  if (added) {
    const auto stat = fs_.stat(path);
    found->second = stat && stat->kind == fs::FileKind::regular;
  }
  return found->second;
}

bool FolderIndex::holds(const std::filesystem::path& folder, const std::string& name) {
  const Folder& content = listed(folder);
  if (content.error) return is_file(folder / name, fs::FileKind::other);
  const auto found = content.entries.find(name);
  return found != content.entries.end() && is_file(folder / name, found->second);
}

bool FolderIndex::holds(const std::filesystem::path& file) {
  return holds(file.parent_path(), file.filename().string());
}

Result<std::vector<std::string>> FolderIndex::matching(const std::filesystem::path& folder,
                                                       const std::vector<std::string_view>& globs) {
  const Folder& content = listed(folder);
  if (content.error) return std::unexpected(*content.error);
  std::vector<std::string> names;
  for (const auto& [name, kind] : content.entries) {
    const auto matches = [&](std::string_view glob) { return util::glob_match(glob, name); };
    if (std::any_of(globs.begin(), globs.end(), matches) && is_file(folder / name, kind)) names.push_back(name);
  }
  return names;
}

std::vector<std::string> FolderIndex::folders_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& [name, kind] : listed(folder).entries) {
    if (kind != fs::FileKind::regular) names.push_back(name);
  }
  return names;
}

std::filesystem::path FolderIndex::plain(const std::filesystem::path& folder) {
  const bool climbs = std::find(folder.begin(), folder.end(), "..") != folder.end();
  if (!climbs) return folder;
  const auto [found, added] = plain_.try_emplace(folder, folder);
  if (added) {
    const auto straight = fs_.has_no_links(folder);
    if (straight && *straight) found->second = folder.lexically_normal();
  }
  return found->second;
}

}  // namespace precast::identity
