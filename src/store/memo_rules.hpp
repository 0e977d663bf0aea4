// When a digest may be remembered, and when what was remembered still holds (docs/architecture.md). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/memo_entry.hpp"
#include "store/volumes.hpp"
#include "util/time.hpp"

namespace precast::store {

// The least age of a ctime at which no later write can have the same one: 20 ms where the file system keeps
// nanoseconds, 2 s where it does not.
[[nodiscard]] std::chrono::nanoseconds ctime_margin(std::int64_t ctime_ns);

// The stat holds only together with this boot and mount.
[[nodiscard]] bool needs_binding(CtimeTrust trust, std::int64_t ctime_ns);

// What was seen of a file while its digest was taken.
struct Observation {
  fs::FileStat stat;
  CtimeTrust trust = CtimeTrust::never;
  util::WallTime clock{};  // read before the first stat
  bool writable = false;   // somebody had it open for writing
};

// An entry without path and digest; nullopt = not to be remembered.
[[nodiscard]] std::optional<MemoEntry> entry_for(const Observation& seen, std::string_view boot);

[[nodiscard]] bool still_holds(const MemoEntry& entry, const fs::FileStat& stat, CtimeTrust trust,
                               std::string_view boot);

// Adds `entry` as the newest: what it replaces goes, then the oldest beyond `limit`.
void insert_entry(std::vector<MemoEntry>& entries, MemoEntry entry, std::size_t limit);

}  // namespace precast::store
