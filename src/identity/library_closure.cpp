#include "identity/library_closure.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>

#include "identity/links.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::identity {
namespace {

constexpr std::size_t kMaxLibraries = 4096;
constexpr std::array<std::string_view, 6> kSystemFolders = {"/lib",     "/lib64",     "/lib32",
                                                            "/usr/lib", "/usr/lib64", "/usr/lib32"};

struct Library {
  std::filesystem::path path;
  const Library* loader = nullptr;
  ElfFacts elf;
};

// "$ORIGIN/../lib" and "$LIB" as folders; $LIB differs between distributions, so every meaning is tried.
std::vector<std::filesystem::path> expand(std::string text, const std::filesystem::path& origin) {
  for (const std::string_view token : {"${ORIGIN}", "$ORIGIN"}) util::replace_all(text, token, origin.string());
  std::vector<std::filesystem::path> folders;
  if (text.find("$LIB") == std::string::npos && text.find("${LIB}") == std::string::npos) {
    return {logical_absolute(text)};
  }
  for (const std::string_view lib : {"lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib64", "lib"}) {
    std::string one = text;
    for (const std::string_view token : {"${LIB}", "$LIB"}) util::replace_all(one, token, lib);
    folders.push_back(logical_absolute(one));
  }
  return folders;
}

void append_folders(std::vector<std::filesystem::path>& folders, std::string_view search_path,
                    const std::filesystem::path& origin) {
  if (search_path.empty()) return;
  for (const std::string& entry : util::split(search_path, ':')) {
    for (auto& folder : expand(entry.empty() ? "." : entry, origin)) folders.push_back(std::move(folder));
  }
}

class Closure {
 public:
  Closure(FolderIndex& folders, const ClosureRequest& request, const ElfLookup& elf)
      : folders_(folders), request_(request), elf_(elf) {}

  Result<std::vector<std::filesystem::path>> run() {
    const Library* plugin = nullptr;
    for (const auto& root : request_.roots) {
      PRECAST_TRY_ASSIGN(const Library* const added, add(root, plugin));
      if (plugin == nullptr) plugin = added;
    }
    for (std::size_t i = 0; i < libraries_.size(); ++i) {
      for (const std::string& name : libraries_[i].elf.needed) PRECAST_TRY(resolve(libraries_[i], name));
    }
    std::vector<std::filesystem::path> paths;
    paths.reserve(libraries_.size());
    for (const Library& library : libraries_) paths.push_back(library.path);
    return paths;
  }

 private:
  Result<const Library*> add(const std::filesystem::path& path, const Library* loader) {
    const auto known = by_path_.find(path);
    if (known != by_path_.end()) return known->second;
    if (libraries_.size() == kMaxLibraries) {
      return fail(ErrorCode::unsupported,
                  "the libraries that " + util::quoted(request_.roots.front()) + " needs are too many to be followed",
                  request_.roots.front());
    }
    PRECAST_TRY_ASSIGN(ElfFacts facts, elf_(path));
    libraries_.push_back({path, loader, std::move(facts)});
    return by_path_.emplace(path, &libraries_.back()).first->second;
  }

  // Folders in the linker's order.
  std::vector<std::filesystem::path> search_folders(const Library& library) const {
    std::vector<std::filesystem::path> folders;
    if (library.elf.runpath.empty()) {
      for (const Library* l = &library; l != nullptr; l = l->loader) {
        if (l->elf.runpath.empty()) append_folders(folders, l->elf.rpath, l->path.parent_path());
      }
    }
    folders.insert(folders.end(), request_.library_path.begin(), request_.library_path.end());
    append_folders(folders, library.elf.runpath, library.path.parent_path());
    return folders;
  }

  Result<void> resolve(const Library& library, const std::string& name) {
    if (name.find('/') != std::string::npos) {
      for (const auto& path : expand(name, library.path.parent_path())) PRECAST_TRY(take(library, path));
      return {};
    }
    std::set<std::filesystem::path> seen;
    for (const auto& searched : search_folders(library)) {
      const std::filesystem::path folder = folders_.plain(searched);
      if (!seen.insert(folder).second || is_system_folder(folder)) continue;
      PRECAST_TRY(take_capable(library, folder, name));
      PRECAST_TRY_ASSIGN(const bool taken, take(library, folder / name));
      if (taken) break;
    }
    return {};
  }

  // Which of the variants for better processors is loaded depends on the processor: take them all.
  Result<void> take_capable(const Library& library, const std::filesystem::path& folder, const std::string& name) {
    const std::vector<std::string> inner = folders_.folders_in(folder);
    if (std::find(inner.begin(), inner.end(), "glibc-hwcaps") == inner.end()) return {};
    for (const std::string& level : folders_.folders_in(folder / "glibc-hwcaps")) {
      PRECAST_TRY(take(library, folder / "glibc-hwcaps" / level / name));
    }
    return {};
  }

  // True if the linker's search ends here: a file of another machine is skipped by it.
  Result<bool> take(const Library& library, const std::filesystem::path& path) {
    if (is_system_folder(path.parent_path()) || !folders_.holds(path)) return false;
    PRECAST_TRY_ASSIGN(const Library* const added, add(path, &library));
    return added->elf.machine == library.elf.machine;
  }

  FolderIndex& folders_;
  const ClosureRequest& request_;
  const ElfLookup& elf_;
  std::deque<Library> libraries_;  // stable addresses
  std::map<std::filesystem::path, const Library*> by_path_;
};

}  // namespace

bool is_system_folder(const std::filesystem::path& folder) {
  const auto is_one = [](const std::filesystem::path& path) {
    return std::find(kSystemFolders.begin(), kSystemFolders.end(), path.native()) != kSystemFolders.end();
  };
  std::filesystem::path plain = folder.lexically_normal();
  if (!plain.has_filename()) plain = plain.parent_path();  // "/usr/lib/"
  if (is_one(plain)) return true;
  return is_one(plain.parent_path()) && util::glob_match("*-linux-gnu*", plain.filename().string());
}

std::vector<std::filesystem::path> split_search_path(std::string_view text) {
  std::vector<std::filesystem::path> folders;
  if (text.empty()) return folders;
  std::string entries(text);
  std::replace(entries.begin(), entries.end(), ';', ':');
  for (const std::string& entry : util::split(entries, ':')) {
    folders.push_back(logical_absolute(entry.empty() ? "." : entry));
  }
  return folders;
}

Result<std::vector<std::filesystem::path>> library_closure(FolderIndex& folders, const ClosureRequest& request,
                                                           const ElfLookup& elf) {
  return Closure(folders, request, elf).run();
}

}  // namespace precast::identity
