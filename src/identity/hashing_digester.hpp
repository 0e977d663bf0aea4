// A digester without a memory: every digest is computed from the bytes. For --no-cache and tests; its parts serve the
// digest memo.
#pragma once

#include "identity/digester.hpp"
#include "util/cancel.hpp"

namespace precast::identity {

// Hashes a regular file in blocks of 1 MiB. The links on its path and the stat of the open file are taken before and
// after and must be equal; a file that keeps changing is tried three times, then `busy`. Anything but a regular file:
// bad_input naming it. Once `cancel` is set: cancelled, within one block.
[[nodiscard]] Result<FileEvidence> hash_file(fs::FileSystem& fs, const std::filesystem::path& path,
                                             const util::CancelToken* cancel = nullptr);

// hash_file for each path, in order; several large files side by side. The first error in the order of paths.
[[nodiscard]] Result<std::vector<FileEvidence>> hash_files(fs::FileSystem& fs,
                                                           std::span<const std::filesystem::path> paths,
                                                           const util::CancelToken* cancel = nullptr);

class HashingDigester : public Digester {
 public:
  explicit HashingDigester(fs::FileSystem& fs, const util::CancelToken* cancel = nullptr) : fs_(fs), cancel_(cancel) {}
  [[nodiscard]] Result<std::vector<FileEvidence>> digest(std::span<const std::filesystem::path> paths,
                                                         std::string_view group) override;
  [[nodiscard]] std::optional<std::string> facts(std::string_view) override { return std::nullopt; }
  void remember_facts(std::string_view, std::string_view) override {}

 private:
  fs::FileSystem& fs_;
  const util::CancelToken* cancel_;
};

}  // namespace precast::identity
