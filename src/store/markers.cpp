#include <fmt/format.h>

#include "store/read_record.hpp"
#include "store/store_state.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::store {
namespace {

Result<std::vector<fs::DirEntry>> list_if_there(fs::FileSystem& fs, const std::filesystem::path& folder) {
  auto entries = fs.list(folder);
  if (!entries && fs::is_not_found(entries.error())) return std::vector<fs::DirEntry>{};
  return entries;
}

template <typename Record, typename Parse>
Result<std::optional<Record>> read_and_parse(fs::FileSystem& fs, const std::filesystem::path& path,
                                             const std::string& key, Parse parse) {
  PRECAST_TRY_ASSIGN(const auto text, read_record(fs, path));
  if (!text) return std::nullopt;
  auto record = parse(*text);
  if (!record) {
    return fail(ErrorCode::corrupt, fmt::format("'{}': {}", shown(path), record.error().message), path);
  }
  if (record->key != key) return fail(ErrorCode::corrupt, fmt::format("'{}' is of another key", shown(path)), path);
  return std::optional<Record>(*std::move(record));
}

}  // namespace

Result<std::optional<Marker>> read_marker(fs::FileSystem& fs, const Layout& layout, const std::string& key) {
  return read_and_parse<Marker>(fs, layout.marker(key), key, parse_marker);
}

Result<std::optional<FailedRecord>> read_failed_record(fs::FileSystem& fs, const Layout& layout,
                                                       const std::string& key) {
  return read_and_parse<FailedRecord>(fs, layout.failed(key), key, parse_failed_record);
}

Result<std::vector<std::string>> list_keys(fs::FileSystem& fs, const Layout& layout, std::string_view prefix) {
  std::vector<std::string> keys;
  PRECAST_TRY_ASSIGN(const auto shards, list_if_there(fs, layout.keys()));
  for (const fs::DirEntry& shard : shards) {
    if (!util::is_hex(shard.name, 2) || !shard.name.starts_with(prefix.substr(0, 2))) continue;
    PRECAST_TRY_ASSIGN(const auto folders, list_if_there(fs, layout.keys() / shard.name));
    for (const fs::DirEntry& folder : folders) {
      if (!util::is_hex(folder.name, 64) || !folder.name.starts_with(shard.name)) continue;
      if (folder.name.starts_with(prefix)) keys.push_back(folder.name);
    }
  }
  return keys;
}

Result<std::vector<Marker>> read_all_markers(fs::FileSystem& fs, const Layout& layout) {
  PRECAST_TRY_ASSIGN(const auto keys, list_keys(fs, layout));
  std::vector<Marker> markers;
  for (const std::string& key : keys) {
    auto marker = read_marker(fs, layout, key);
    if (marker && *marker) markers.push_back(**std::move(marker));
  }
  return markers;
}

Result<std::optional<FailedRecord>> Store::read_failed(const std::string& key) {
  PRECAST_TRY(require_key(key));
  auto record = read_failed_record(state_->fs, state_->layout, key);
  // A damaged record remembers nothing: the compile is tried again, which costs time only.
  if (!record && record.error().code == ErrorCode::corrupt) return std::nullopt;
  return record;
}

Result<void> Store::write_failed(const FailedRecord& record) {
  PRECAST_TRY(state_->require_writable());
  const std::string text = serialize(record);
  if (const auto readable = parse_failed_record(text); !readable) {
    return fail(ErrorCode::internal, "a failed record that could not be read again: " + readable.error().message);
  }
  const auto path = state_->layout.failed(record.key);
  PRECAST_TRY(fs::make_directories(state_->fs, path.parent_path(), kFolderMode, fs::Durability::durable));
  return fs::write_file_atomically(state_->fs, path, text, fs::Durability::durable);
}

Result<void> Store::remove_failed(const std::string& key) {
  PRECAST_TRY(require_key(key));
  auto removed = state_->fs.unlink(state_->layout.failed(key));
  if (!removed && fs::is_not_found(removed.error())) return {};
  return removed;
}

Result<void> Store::remove_marker(const std::string& key, const std::string& generation) {
  PRECAST_TRY(require_key(key));
  const auto marker = read_marker(state_->fs, state_->layout, key);
  // A marker that cannot be understood does not name this generation.
  if (!marker && marker.error().code == ErrorCode::corrupt) return {};
  if (!marker) return std::unexpected<Error>(marker.error());
  if (!*marker || (*marker)->generation != generation) return {};
  return state_->fs.unlink(state_->layout.marker(key));
}

}  // namespace precast::store
