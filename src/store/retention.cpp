#include <algorithm>
#include <exception>
#include <utility>

#include "store/store_state.hpp"
#include "util/text.hpp"

namespace precast::store {
namespace {

constexpr std::chrono::hours kKeptAfterUse{24};

void remove_key_folder(fs::FileSystem& fs, const Layout& layout, const std::string& key, fs::Lock& held) {
  if (!held.unlink_while_held()) return;
  // Not empty: a record of failure, another lock made meanwhile, or other keys of the shard. Then they stay.
  if (fs.remove_directory(layout.key_folder(key))) (void)fs.remove_directory(layout.key_folder(key).parent_path());
}

void evict(Store::State& state, const Marker& victim) {
  fs::FileSystem& fs = state.fs;
  auto key_lock = fs::Lock::try_acquire(fs, state.layout.key_lock(victim.key), fs::LockKind::exclusive);
  if (!key_lock || !*key_lock) return;  // busy: somebody compiles it, or deletes it
  auto lease = try_lock_lease(fs, state.layout, victim.generation);
  if (!lease) return;  // in use
  const auto current = read_marker(fs, state.layout, victim.key);
  const bool still_named = current && *current && (*current)->generation == victim.generation;
  if (still_named && !fs.unlink(state.layout.marker(victim.key))) return;
  move_generation_away(fs, state.layout, victim.generation);
  if (still_named) remove_key_folder(fs, state.layout, victim.key, **key_lock);
  (*key_lock)->release();
  // Still under the lease, so that no sweep is at the same files.
  remove_generation(fs, state.layout, victim.generation, *std::move(lease));
}

bool used_lately(const std::string& time, util::WallTime now) {
  const auto used = util::parse_rfc3339(time);
  return used && now - *used < kKeptAfterUse;
}

void prune_family(Store::State& state, const Marker& newest) {
  auto markers = read_all_markers(state.fs, state.layout);
  if (!markers) return;
  const std::string family = family_of(newest);
  std::erase_if(*markers, [&](const Marker& one) { return one.key == newest.key || family_of(one) != family; });
  const auto uses = last_uses(state.fs, state.layout);
  std::ranges::sort(*markers, std::greater{}, [&](const Marker& one) { return last_used(one, uses); });
  const std::size_t others = std::max(state.options.keep, 1U) - 1;
  const util::WallTime now = state.clock().now();
  for (std::size_t i = others; i < markers->size(); ++i) {
    const Marker& one = (*markers)[i];
    if (!used_lately(last_used(one, uses), now)) evict(state, one);
  }
}

}  // namespace

void Store::retain(const Marker& newest, std::chrono::seconds leftover_age) noexcept {
  if (!writable()) return;
  try {
    const auto lock = fs::Lock::try_acquire(state_->fs, state_->layout.locks() / "retention", fs::LockKind::exclusive);
    if (!lock || !*lock) return;  // somebody else is at it
    prune_family(*state_, newest);
    sweep(*state_, newest, leftover_age);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    // No memory: what was not done is done next time.
  }
}

}  // namespace precast::store
