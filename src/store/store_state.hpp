// What the parts of Store share; for src/store only.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "store/store.hpp"

namespace precast::store {

inline constexpr std::uint32_t kFolderMode = 0700;
inline constexpr std::uint32_t kStoredFileMode = 0400;

struct Store::State {
  State(fs::FileSystem& file_system, const StoreOptions& given, std::optional<Error> unwritable,
        MemoOptions memo_options)
      : fs(file_system),
        options(given),
        layout(given.root),
        not_writable(std::move(unwritable)),
        memo(file_system, Layout(given.root), std::move(memo_options)) {}

  fs::FileSystem& fs;
  StoreOptions options;
  Layout layout;
  std::optional<Error> not_writable;  // why
  DigestMemo memo;

  [[nodiscard]] const util::Clock& clock() const {
    return options.clock != nullptr ? *options.clock : util::Clock::system();
  }
  [[nodiscard]] Result<void> require_writable() const {
    if (!not_writable) return {};
    return std::unexpected<Error>(*not_writable);
  }
};

// A path as messages show it.
[[nodiscard]] std::string shown(const std::filesystem::path& path);
[[nodiscard]] Result<void> require_key(std::string_view key);
[[nodiscard]] std::string group_of(std::string_view generation);  // of the digest memo

// nullopt = no marker. Damaged, of another schema, or another key's: corrupt.
[[nodiscard]] Result<std::optional<Marker>> read_marker(fs::FileSystem& fs, const Layout& layout,
                                                        const std::string& key);
// The same of what is remembered of a failed compile.
[[nodiscard]] Result<std::optional<FailedRecord>> read_failed_record(fs::FileSystem& fs, const Layout& layout,
                                                                     const std::string& key);
// Every readable marker; what cannot be read is passed over. A missing keys/ is an empty store.
[[nodiscard]] Result<std::vector<Marker>> read_all_markers(fs::FileSystem& fs, const Layout& layout);
// Names below keys/<aa>/ that are keys, sorted; of one <aa> only if given.
[[nodiscard]] Result<std::vector<std::string>> list_keys(fs::FileSystem& fs, const Layout& layout,
                                                         std::string_view prefix = {});

// Why the artifacts of `marker` are not the ones that were stored; empty = they are. The lease is the caller's.
[[nodiscard]] std::string doubt_about(Store::State& state, const Marker& marker, const std::string& marker_text);

// `held` is the exclusive lock on the lease `uuid`. They delete tmp/<uuid> or the generation, then the lease file; what
// cannot be deleted keeps its lease file, for the next sweep.
void remove_work(fs::FileSystem& fs, const Layout& layout, const std::string& uuid, fs::Lock held);
void remove_generation(fs::FileSystem& fs, const Layout& layout, const std::string& uuid, fs::Lock held);
// To tmp/<uuid>, so that no reader finds half of it. Where that cannot be done, it is deleted in place.
void move_generation_away(fs::FileSystem& fs, const Layout& layout, const std::string& uuid);
// Exclusive and only tried; nullopt = held by somebody, or not to be had.
[[nodiscard]] std::optional<fs::Lock> try_lock_lease(fs::FileSystem& fs, const Layout& layout, const std::string& uuid);

// Leftovers of work, leases and generations that no marker names.
void sweep(Store::State& state, const Marker& newest, std::chrono::seconds leftover_age);

// The end of stats.1, oldest first. Damaged lines are passed over.
[[nodiscard]] std::vector<Event> read_events(fs::FileSystem& fs, const Layout& layout);
// Generation -> RFC 3339 time of its last use.
[[nodiscard]] std::map<std::string, std::string> last_uses(fs::FileSystem& fs, const Layout& layout);
[[nodiscard]] std::string last_used(const Marker& marker, const std::map<std::string, std::string>& uses);

}  // namespace precast::store
