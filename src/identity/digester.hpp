// Digests of files, with the evidence that they were true at a moment. The store's digest memo implements this; a plain
// one that always hashes serves tests and --no-cache.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fs/file_system.hpp"
#include "precast/error.hpp"

namespace precast::identity {

// lstat of a symbolic link on a file's path: retargeting it is a change.
struct LinkEvidence {
  std::filesystem::path path;
  std::uint64_t inode = 0;
  std::int64_t ctime_ns = 0;
  friend bool operator==(const LinkEvidence&, const LinkEvidence&) = default;
};

struct FileEvidence {
  std::filesystem::path path;  // as asked for, absolute
  std::string sha256;          // 64 hex
  fs::FileStat stat;           // of the open file (links followed)
  std::vector<LinkEvidence> links;
  friend bool operator==(const FileEvidence&, const FileEvidence&) = default;  // "equal, not only in digests"
};

// Thread-safe.
class Digester {
 public:
  virtual ~Digester() = default;
  // Digest of every path, in order; several large files are hashed in parallel. `group` says which files are used
  // together: their memo stands in one file of the store, read at once ("model:<path>", "ep:<plugin path>",
  // "generation:<uuid>"). A path that is no regular file or cannot be read: an error naming it.
  [[nodiscard]] virtual Result<std::vector<FileEvidence>> digest(std::span<const std::filesystem::path> paths,
                                                                 std::string_view group) = 0;
  // Facts remembered under a name that contains a digest, e.g. "model-<sha256>": what was derived from the bytes.
  [[nodiscard]] virtual std::optional<std::string> facts(std::string_view name) = 0;
  virtual void remember_facts(std::string_view name, std::string_view text) = 0;  // losing it costs time only
};

}  // namespace precast::identity
