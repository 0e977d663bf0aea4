#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "store/store_state.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::store {
namespace {

constexpr std::size_t kShortestPrefix = 4;

// Of what is not in `counted`, where it then is. nullopt: the generation is not there, which `verify` reports.
std::optional<std::uint64_t> bytes_on_disk(fs::FileSystem& fs, const std::filesystem::path& generation,
                                           std::set<std::uint64_t>& counted) {
  const auto entries = fs::list_tree(fs, generation);
  if (!entries) return std::nullopt;
  std::uint64_t bytes = 0;
  for (const fs::TreeEntry& entry : *entries) {
    const auto stat = fs.lstat(generation / entry.path);
    if (stat && counted.insert(stat->inode).second) bytes += stat->block_bytes;
  }
  return bytes;
}

std::optional<Entry> entry_of(Store::State& state, Marker marker, const std::map<std::string, std::string>& uses) {
  std::set<std::uint64_t> counted;
  const auto bytes = bytes_on_disk(state.fs, state.layout.generation(marker.generation), counted);
  if (!bytes) return std::nullopt;
  std::string used = last_used(marker, uses);
  return Entry{.marker = std::move(marker), .bytes = *bytes, .last_used = std::move(used), .current = true};
}

Result<void> require_prefix(const std::string& prefix) {
  if (prefix.size() >= kShortestPrefix && prefix.size() <= 64 && util::is_hex(prefix, prefix.size())) return {};
  return fail(ErrorCode::bad_input,
              fmt::format("'{}' is not a key or the beginning of one", util::escape_invalid_utf8(prefix)), {},
              fmt::format("give at least {} of a key's hex digits, as `precast cache ls` shows them", kShortestPrefix));
}

Error ambiguous(const std::string& prefix, const std::vector<Marker>& candidates) {
  constexpr std::size_t kShown = 8;
  std::string hint = "give more digits:";
  for (std::size_t i = 0; i < std::min(candidates.size(), kShown); ++i) hint += ' ' + candidates[i].key;
  if (candidates.size() > kShown) hint += fmt::format(" and {} more", candidates.size() - kShown);
  return {ErrorCode::bad_input, fmt::format("'{}' is the beginning of {} keys", prefix, candidates.size()), {}, hint};
}

}  // namespace

Result<std::vector<Entry>> Store::list() {
  PRECAST_TRY_ASSIGN(auto markers, read_all_markers(state_->fs, state_->layout));
  const auto uses = last_uses(state_->fs, state_->layout);
  std::vector<Entry> entries;
  for (Marker& marker : markers) {
    if (auto entry = entry_of(*state_, std::move(marker), uses)) entries.push_back(*std::move(entry));
  }
  std::ranges::sort(entries, std::greater{}, &Entry::last_used);
  return entries;
}

std::uint64_t Store::bytes_together(std::span<const Entry> entries) {
  std::uint64_t bytes = 0;
  std::set<std::uint64_t> counted;
  for (const Entry& entry : entries) {
    bytes += bytes_on_disk(state_->fs, state_->layout.generation(entry.marker.generation), counted).value_or(0);
  }
  return bytes;
}

Result<Entry> Store::find(const std::string& key_or_prefix) {
  PRECAST_TRY(require_prefix(key_or_prefix));
  PRECAST_TRY_ASSIGN(const auto keys, list_keys(state_->fs, state_->layout, key_or_prefix));
  std::vector<Marker> candidates;
  for (const std::string& key : keys) {
    auto marker = read_marker(state_->fs, state_->layout, key);
    if (marker && *marker) candidates.push_back(**std::move(marker));
  }
  if (candidates.size() > 1) return std::unexpected<Error>(ambiguous(key_or_prefix, candidates));
  std::optional<Entry> entry;
  if (!candidates.empty()) {
    entry = entry_of(*state_, std::move(candidates.front()), last_uses(state_->fs, state_->layout));
  }
  if (entry) return *std::move(entry);
  return fail(ErrorCode::not_found, fmt::format("the cache has no entry for '{}'", key_or_prefix), {},
              "`precast cache ls` shows what it has");
}

}  // namespace precast::store
