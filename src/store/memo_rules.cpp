#include "store/memo_rules.hpp"

#include <utility>

namespace precast::store {
namespace {

using namespace std::chrono_literals;

// Until here a crash of the machine may bring back other bytes under the same stamps: they were not on the disk yet.
constexpr std::chrono::nanoseconds kSettled = 60s;

bool has_no_nanoseconds(std::int64_t time_ns) {
  return time_ns % 1'000'000'000 == 0;
}

}  // namespace

std::chrono::nanoseconds ctime_margin(std::int64_t ctime_ns) {
  return has_no_nanoseconds(ctime_ns) ? std::chrono::nanoseconds(2s) : std::chrono::nanoseconds(20ms);
}

bool needs_binding(CtimeTrust trust, std::int64_t ctime_ns) {
  return trust == CtimeTrust::this_mount || has_no_nanoseconds(ctime_ns);
}

std::optional<MemoEntry> entry_for(const Observation& seen, std::string_view boot) {
  if (seen.trust == CtimeTrust::never || seen.writable) return std::nullopt;
  // A ctime in the future has a negative age.
  const auto age = seen.clock.time_since_epoch() - std::chrono::nanoseconds(seen.stat.ctime_ns);
  if (age < ctime_margin(seen.stat.ctime_ns)) return std::nullopt;
  MemoEntry entry{.path = {},
                  .device = seen.stat.device,
                  .inode = seen.stat.inode,
                  .size = seen.stat.size,
                  .mtime_ns = seen.stat.mtime_ns,
                  .ctime_ns = seen.stat.ctime_ns,
                  .sha256 = {},
                  .boot = {},
                  .mount = 0};
  const bool bound = needs_binding(seen.trust, seen.stat.ctime_ns);
  if (bound || age < kSettled) {
    if (boot.empty()) return std::nullopt;
    entry.boot = boot;
  }
  if (bound) {
    if (seen.stat.mount_id == 0) return std::nullopt;  // a kernel that does not say
    entry.mount = seen.stat.mount_id;
  }
  return entry;
}

bool still_holds(const MemoEntry& entry, const fs::FileStat& stat, CtimeTrust trust, std::string_view boot) {
  if (trust == CtimeTrust::never || !entry.is_about(stat)) return false;
  if (!entry.boot.empty() && entry.boot != boot) return false;
  if (entry.mount != 0 && entry.mount != stat.mount_id) return false;
  // Remembered while the same files were mounted in a way that asked for less.
  return !needs_binding(trust, stat.ctime_ns) || (!entry.boot.empty() && entry.mount != 0);
}

void insert_entry(std::vector<MemoEntry>& entries, MemoEntry entry, std::size_t limit) {
  std::erase_if(entries, [&](const MemoEntry& old) {
    const bool same_file = old.device == entry.device && old.inode == entry.inode;
    return old.path == entry.path || same_file;
  });
  entries.push_back(std::move(entry));
  if (entries.size() > limit) {
    entries.erase(entries.begin(), entries.end() - static_cast<std::ptrdiff_t>(limit));
  }
}

}  // namespace precast::store
