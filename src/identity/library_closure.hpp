// Which files the dynamic linker takes for the names in DT_NEEDED: RPATH (of the library and of those that load it;
// none of it if the library has a RUNPATH), LD_LIBRARY_PATH, RUNPATH, with $ORIGIN, $LIB and glibc-hwcaps. Where
// several files could be taken, all are: too many digests in an identity cost nothing, one too few is a wrong hit.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "identity/elf.hpp"
#include "identity/folder_index.hpp"
#include "precast/error.hpp"

namespace precast::identity {

// One of the system's own library folders: /lib, /usr/lib, their 64-bit and multiarch siblings. What lies there belongs
// to the system, not to the EP.
[[nodiscard]] bool is_system_folder(const std::filesystem::path& folder);

// The folders of a LD_LIBRARY_PATH, absolute; empty entries mean the working directory.
[[nodiscard]] std::vector<std::filesystem::path> split_search_path(std::string_view text);

struct ClosureRequest {
  // The first one is the plugin; the others are loaded by it (dlopen), so its RPATH holds for them too.
  std::vector<std::filesystem::path> roots;
  std::vector<std::filesystem::path> library_path;
};
// Answers with an owned copy: the answers may come from different sources while the closure grows.
using ElfLookup = std::function<Result<ElfFacts>(const std::filesystem::path&)>;

// The roots and everything they need that lies in none of the system's folders, each file once, in the order found.
[[nodiscard]] Result<std::vector<std::filesystem::path>> library_closure(FolderIndex& folders,
                                                                         const ClosureRequest& request,
                                                                         const ElfLookup& elf);

}  // namespace precast::identity
