#include "store/memo_entry.hpp"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "store/json_fields.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"

namespace precast::store {
namespace {

using Json = nlohmann::json;

// No separator can stand inside a field: they are digits, hex or a UUID.
std::string checksum(const MemoEntry& entry) {
  return util::sha256_hex(fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}", entry.path, entry.device, entry.inode, entry.size,
                                      entry.mtime_ns, entry.ctime_ns, entry.sha256, entry.boot, entry.mount));
}

Json to_json(const MemoEntry& entry) {
  return {{"path", entry.path},         {"device", entry.device},     {"inode", entry.inode},   {"size", entry.size},
          {"mtime_ns", entry.mtime_ns}, {"ctime_ns", entry.ctime_ns}, {"sha256", entry.sha256}, {"boot", entry.boot},
          {"mount", entry.mount},       {"checksum", checksum(entry)}};
}

// False: not as it was written.
bool read_entry(const Json& json, MemoEntry& entry) {
  JsonFields fields(json);
  entry.path = fields.text("path");
  entry.device = fields.whole_number("device");
  entry.inode = fields.whole_number("inode");
  entry.size = fields.whole_number("size");
  entry.mtime_ns = fields.signed_number("mtime_ns");
  entry.ctime_ns = fields.signed_number("ctime_ns");
  entry.sha256 = fields.text("sha256");
  entry.boot = fields.text("boot");
  entry.mount = fields.whole_number("mount");
  const std::string written = fields.text("checksum");
  return fields.good() && util::is_hex(entry.sha256, 64) && written == checksum(entry);
}

}  // namespace

std::string serialize_group(std::string_view group, const std::vector<MemoEntry>& entries) {
  Json array = Json::array();
  for (const MemoEntry& entry : entries) array.push_back(to_json(entry));
  return dump_json({{"schema", 1}, {"group", group}, {"entries", std::move(array)}}) + '\n';
}

std::vector<MemoEntry> parse_group(std::string_view group, std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  JsonFields fields(json);
  const bool mine = fields.whole_number("schema") == 1 && fields.text("group") == group;
  const Json& array = fields.field("entries");
  std::vector<MemoEntry> entries;
  if (!mine || !fields.good() || !array.is_array()) return entries;
  for (const Json& one : array) {
    MemoEntry entry;
    if (read_entry(one, entry)) entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace precast::store
