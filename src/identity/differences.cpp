#include <algorithm>
#include <array>
#include <map>

#include <nlohmann/json.hpp>

#include "identity/identity.hpp"
#include "util/text.hpp"

namespace precast::identity {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxLines = 12;
constexpr std::size_t kDigestShown = 12;
constexpr std::string_view kAbsent = "(none)";

using Fields = std::map<std::string, std::string>;

std::string shown(const json& value) {
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  if (util::is_hex(text, 64)) return text.substr(0, kDigestShown);
  return text.empty() ? "\"\"" : text;
}

bool is_pair(const json& value) {
  return value.is_array() && value.size() == 2 && value[0].is_string() && value[1].is_string();
}

std::string joined(const std::string& path, std::string_view key) {
  std::string result = path;
  if (!result.empty()) result += '.';
  return result.append(key);
}

// A list says little by position: its elements are named by what they are ("ep_libraries.libQnnHtp.so",
// "host.cpu.features.avx2").
void flatten(const json& value, const std::string& path, Fields& fields) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) flatten(inner, joined(path, key), fields);
    return;
  }
  if (!value.is_array()) {
    fields[path] = shown(value);
    return;
  }
  for (const json& inner : value) {
    if (is_pair(inner)) {
      std::string& field = fields[joined(path, inner[0].get_ref<const std::string&>())];
      if (!field.empty()) field += ", ";
      field += shown(inner[1]);
    } else {
      fields[joined(path, shown(inner))] = "yes";
    }
  }
}

// The order in which a person wants to know.
constexpr std::array<std::string_view, 12> kOrder = {
    "schema", "source",           "ep.",          "compiler",        "device",      "host", "environment",
    "embed",  "provider_options", "option_files", "session_options", "ep_libraries"};

std::size_t rank(const std::string& field) {
  for (std::size_t i = 0; i < kOrder.size(); ++i) {
    if (field.starts_with(kOrder[i])) return i;
  }
  return kOrder.size();
}

std::vector<std::string> by_rank(const Fields& a, const Fields& b) {
  std::vector<std::string> names;
  for (const auto& [name, value] : a) names.push_back(name);
  for (const auto& [name, value] : b) {
    if (!a.contains(name)) names.push_back(name);
  }
  std::sort(names.begin(), names.end(),
            [](const std::string& x, const std::string& y) { return std::pair(rank(x), x) < std::pair(rank(y), y); });
  return names;
}

std::string value_of(const Fields& fields, const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string(kAbsent) : found->second;
}

}  // namespace

std::vector<std::string> differences(const std::string& canonical_a, const std::string& canonical_b) {
  const json a = json::parse(canonical_a, nullptr, /*allow_exceptions=*/false);
  const json b = json::parse(canonical_b, nullptr, /*allow_exceptions=*/false);
  if (a.is_discarded() || b.is_discarded()) return {"identity: one of them cannot be read"};
  Fields fields_a;
  Fields fields_b;
  flatten(a, "", fields_a);
  flatten(b, "", fields_b);
  std::vector<std::string> lines;
  std::size_t more = 0;
  for (const std::string& name : by_rank(fields_a, fields_b)) {
    const std::string old_value = value_of(fields_a, name);
    const std::string new_value = value_of(fields_b, name);
    if (old_value == new_value) continue;
    if (lines.size() < kMaxLines) {
      std::string line = name;
      lines.push_back(line.append(": ").append(old_value).append(" -> ").append(new_value));
    } else {
      ++more;
    }
  }
  if (more > 0) lines.push_back("and " + std::to_string(more) + " more");
  return lines;
}

}  // namespace precast::identity
