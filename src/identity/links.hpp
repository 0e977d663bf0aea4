// The symbolic links that a path goes through: part of a file's evidence, since retargeting one changes what the path
// means without touching any file.
#pragma once

#include <filesystem>
#include <vector>

#include "fs/file_system.hpp"
#include "identity/digester.hpp"
#include "precast/error.hpp"

namespace precast::identity {

// `path` made absolute against the working directory, without "." and doubled slashes. Links are not resolved and ".."
// stays: behind a link it does not mean what its text says.
[[nodiscard]] std::filesystem::path logical_absolute(const std::filesystem::path& path);

// Every link met while `path` (absolute) is resolved, in that order. A link of the path itself is named by the path
// that was asked for; links met inside another link's target by their physical path. One system call when there are
// none. More than 40 links: bad_input, as the kernel says. A missing component: not_found.
[[nodiscard]] Result<std::vector<LinkEvidence>> links_on_path(fs::FileSystem& fs, const std::filesystem::path& path);

// What of a FileStat is evidence: all but the blocks on disk, which the file system moves about without a write.
[[nodiscard]] fs::FileStat evidence_stat(fs::FileStat stat);

}  // namespace precast::identity
