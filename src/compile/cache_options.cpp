#include "compile/cache_options.hpp"

#include <fstream>
#include <functional>
#include <optional>
#include <sstream>

#include <nlohmann/json.hpp>

#include "util/text.hpp"

namespace precast::compile {

namespace {

using Json = nlohmann::json;
using Change = std::function<void(Json& object, const std::string& key)>;

// Applies `change` to every CACHE_DIR of `json`; true if there was one.
bool change_cache_dirs(Json& json, const Change& change) {
  bool changed = false;
  if (!json.is_object()) return false;
  if (json.contains("CACHE_DIR")) {
    change(json, "CACHE_DIR");
    changed = true;
  }
  for (auto& [key, value] : json.items()) changed |= change_cache_dirs(value, change);
  return changed;
}

// The JSON of a file option's value: inline, or in the file that it names.
std::optional<Json> json_of(const std::string& value) {
  const bool inline_json = util::trim(value).starts_with('{');
  std::string text = value;
  if (!inline_json) {
    std::ifstream file(value, std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    text = content.str();
  }
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return std::nullopt;  // not ours to judge: the EP says what is wrong with it
  return json;
}

Options change_options(const ort::EpSpec* spec, const Options& options, const std::optional<std::string>& folder) {
  if (spec == nullptr) return options;
  Options changed;
  const Change change = [&](Json& object, const std::string& key) {
    if (folder) {
      object[key] = *folder;
    } else {
      object.erase(key);
    }
  };
  for (const auto& [key, value] : options) {
    if (ort::matches_any(spec->cache_options, key)) {
      if (folder) changed.emplace(key, *folder);
      continue;
    }
    std::string result = value;
    if (ort::matches_any(spec->file_options, key)) {
      if (auto json = json_of(value); json && change_cache_dirs(*json, change)) result = json->dump();
    }
    changed.emplace(key, std::move(result));
  }
  return changed;
}

}  // namespace

Options redirect_cache_options(const ort::EpSpec* spec, const Options& options, const std::filesystem::path& folder) {
  return change_options(spec, options, folder.native());
}

Options drop_cache_options(const ort::EpSpec* spec, const Options& options) {
  return change_options(spec, options, std::nullopt);
}

}  // namespace precast::compile
