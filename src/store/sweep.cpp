#include <algorithm>
#include <set>
#include <utility>

#include "store/read_record.hpp"
#include "store/store_state.hpp"
#include "util/text.hpp"

namespace precast::store {
namespace {

// Names that are UUIDs; others are not ours to judge.
std::vector<std::string> list_uuids(fs::FileSystem& fs, const std::filesystem::path& folder) {
  std::vector<std::string> uuids;
  const auto entries = fs.list(folder);
  if (!entries) return uuids;
  for (const fs::DirEntry& entry : *entries) {
    if (util::is_uuid(entry.name)) uuids.push_back(entry.name);
  }
  return uuids;
}

class Sweep {
 public:
  Sweep(Store::State& state, const Marker& newest, std::chrono::seconds age)
      : state_(state), fs_(state.fs), layout_(state.layout), newest_(newest), age_(age) {}

  void work() {
    for (const std::string& uuid : list_uuids(fs_, layout_.tmp())) {
      if (!is_old(layout_.work(uuid))) continue;
      auto lease = try_lock_lease(fs_, layout_, uuid);
      if (lease) remove_work(fs_, layout_, uuid, *std::move(lease));
    }
  }

  void generations() {
    const auto markers = read_all_markers(fs_, layout_);
    if (!markers) return;
    std::set<std::string> named;
    for (const Marker& marker : *markers) named.insert(marker.generation);
    for (const std::string& uuid : list_uuids(fs_, layout_.generations())) {
      if (named.contains(uuid)) continue;
      auto lease = try_lock_lease(fs_, layout_, uuid);
      if (lease && is_orphan(uuid)) remove_generation(fs_, layout_, uuid, *std::move(lease));
    }
  }

  // What a killed writer of a marker, a digest, a fact or a publish record left. No reader looks at it.
  void temporaries() {
    temporaries_in(layout_.root());
    temporaries_in(layout_.publish());
    if (const auto keys = list_keys(fs_, layout_)) {
      for (const std::string& key : *keys) temporaries_in(layout_.key_folder(key));
    }
    for (const auto& folder : {layout_.digests(), layout_.facts()}) {
      const auto shards = fs_.list(folder);
      if (!shards) continue;
      for (const fs::DirEntry& shard : *shards) temporaries_in(folder / shard.name);
    }
  }

  void leases() {
    for (const std::string& uuid : list_uuids(fs_, layout_.leases())) {
      if (is_protecting(uuid) || !is_old(layout_.lease(uuid))) continue;
      auto lease = fs::Lock::try_acquire(fs_, layout_.lease(uuid), fs::LockKind::exclusive, /*create=*/false);
      if (!lease || !*lease || is_protecting(uuid)) continue;
      (void)(*lease)->unlink_while_held();  // an empty file that stays is tried again next time
    }
  }

 private:
  void temporaries_in(const std::filesystem::path& folder) {
    const auto entries = fs_.list(folder);
    if (!entries) return;
    for (const fs::DirEntry& entry : *entries) {
      const auto path = folder / entry.name;
      if (fs::is_temporary(entry.name) && is_old(path)) fs::remove_left_temporary(fs_, path);
    }
  }

  [[nodiscard]] bool is_protecting(const std::string& uuid) const {
    return fs::exists(fs_, layout_.work(uuid)) || fs::exists(fs_, layout_.generation(uuid));
  }

  [[nodiscard]] bool is_old(const std::filesystem::path& path) const {
    const auto stat = fs_.lstat(path);
    if (!stat) return false;
    return state_.clock().now().time_since_epoch() - std::chrono::nanoseconds(stat->ctime_ns) >= age_;
  }

  // A manifest-like name of another schema, or this schema's name with another schema inside.
  [[nodiscard]] bool belongs_to_another_schema(const std::string& uuid, const std::string& manifest) const {
    if (!manifest.empty() && has_other_schema(manifest)) return true;
    const auto entries = fs_.list(layout_.generation(uuid));
    if (!entries) return true;  // not known: left alone
    return std::ranges::any_of(*entries, [](const fs::DirEntry& entry) {
      return entry.name != kManifestName && util::glob_match("manifest.*.json", entry.name);
    });
  }

  [[nodiscard]] bool any_marker_names(const std::string& uuid) const {
    const auto markers = read_all_markers(fs_, layout_);
    if (!markers) return true;  // not known: left alone
    return std::ranges::any_of(*markers, [&](const Marker& marker) { return marker.generation == uuid; });
  }

  // Under the exclusive lease. Only who holds the shared one writes a marker that names the generation, so the answer
  // lasts as long as the lease is held.
  [[nodiscard]] bool is_orphan(const std::string& uuid) const {
    const auto text = read_record(fs_, layout_.generation(uuid) / kManifestName);
    if (!text && text.error().code != ErrorCode::corrupt) return false;  // not known: left alone
    const std::string manifest_text = text && *text ? **text : std::string();
    if (belongs_to_another_schema(uuid, manifest_text)) return false;
    const auto manifest = parse_marker(manifest_text);
    if (!manifest) return is_old(layout_.generation(uuid)) && !any_marker_names(uuid);
    const auto marker = read_record(fs_, layout_.marker(manifest->key));
    if (!marker && marker.error().code != ErrorCode::corrupt) return false;
    if (marker && *marker) {
      if (has_other_schema(**marker)) return false;
      const auto current = parse_marker(**marker);
      if (current && current->generation == uuid) return false;
    }
    const bool replaced = manifest->key == newest_.key && uuid != newest_.generation;
    return replaced || is_old(layout_.generation(uuid));
  }

  Store::State& state_;
  fs::FileSystem& fs_;
  const Layout& layout_;
  const Marker& newest_;
  std::chrono::seconds age_;
};

}  // namespace

void sweep(Store::State& state, const Marker& newest, std::chrono::seconds leftover_age) {
  Sweep sweep(state, newest, leftover_age);
  sweep.work();
  sweep.generations();
  sweep.leases();
  sweep.temporaries();
}

}  // namespace precast::store
