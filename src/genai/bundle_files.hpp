// What else lies in a bundle: tokenizer, templates, data, folders.
#pragma once

#include <filesystem>
#include <set>
#include <vector>

#include "fs/file_system.hpp"
#include "precast/error.hpp"

namespace precast::genai {

// In a folder that is being published, and perhaps left in one that was: no file of a bundle.
inline constexpr const char* kLeaseName = ".precast-lease";

struct BundleFile {
  std::filesystem::path name;  // relative to the bundle
  std::filesystem::path from;  // absolute; links resolved
  friend bool operator==(const BundleFile&, const BundleFile&) = default;
};

// Every regular file of the bundle at `folder` (absolute), in the order of names, but for those in `without` (relative
// names) and what version control and download tools keep there (.git, .cache). Links are resolved: to a file or folder
// inside the bundle they stand for what they lead to; dangling ones and those that lead out are bad_input naming them.
// A name that is not UTF-8: bad_input.
[[nodiscard]] Result<std::vector<BundleFile>> files_of_bundle(fs::FileSystem& fs, const std::filesystem::path& folder,
                                                              const std::set<std::filesystem::path>& without);

}  // namespace precast::genai
