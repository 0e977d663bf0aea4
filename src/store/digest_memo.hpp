// The digest memo (docs/architecture.md, "What makes a hit cheap"): a digest is remembered under (device,
// inode, size, mtime ns, ctime ns) and trusted only on file systems whose ctime can be trusted. Losing or damaging it
// costs time, never correctness.
//
// One file per group; each entry carries a checksum. Reading a group costs one open, read, close per process; a file
// costs one lstat when its folder is known to be reached without links. Thread-safe.
#pragma once

#include <memory>

#include "identity/digester.hpp"
#include "store/layout.hpp"
#include "util/cancel.hpp"
#include "util/time.hpp"

namespace precast::store {

enum class VerifyMode : std::uint8_t { automatic, always };  // --verify auto|always

struct MemoOptions {
  VerifyMode verify = VerifyMode::automatic;
  bool persistent = true;  // false: entries live in this process only (a store that cannot be written)
  const util::Clock* clock = nullptr;
  std::string boot_id;                        // empty = read /proc/sys/kernel/random/boot_id
  const util::CancelToken* cancel = nullptr;  // ends hashing with `cancelled`
};

class DigestMemo : public identity::Digester {
 public:
  DigestMemo(fs::FileSystem& fs, Layout layout, MemoOptions options);
  ~DigestMemo() override;

  [[nodiscard]] Result<std::vector<identity::FileEvidence>> digest(std::span<const std::filesystem::path> paths,
                                                                   std::string_view group) override;
  [[nodiscard]] std::optional<std::string> facts(std::string_view name) override;
  void remember_facts(std::string_view name, std::string_view text) override;
  // Hashes again whatever the memo says, and remembers (used by verify and right after a compile).
  [[nodiscard]] Result<std::vector<identity::FileEvidence>> digest_afresh(std::span<const std::filesystem::path> paths,
                                                                          std::string_view group);
  // For files of the store itself: one lstat each, no link evidence (the root may be reached through links), and what
  // is not a regular file is `corrupt`.
  [[nodiscard]] Result<std::vector<identity::FileEvidence>> digest_stored(std::span<const std::filesystem::path> paths,
                                                                          std::string_view group);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace precast::store
