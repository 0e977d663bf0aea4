// genai_config.json as a JSON document. Key order is kept. Nothing here throws.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "precast/error.hpp"

namespace precast::genai {

using Json = nlohmann::ordered_json;

// The document, an object. bad_input if a key stands twice in an object, and with line and column if it is no JSON,
// nests deeper than 64 levels, or has an object of more than 1000 members (no config has; each costs time with the
// square of its size).
[[nodiscard]] Result<Json> parse_config(const std::filesystem::path& config_path, std::string_view text);

// The member of an object; null = `object` is none, or has no such key.
[[nodiscard]] const Json* member(const Json& object, const std::string& key);
[[nodiscard]] Json* member(Json& object, const std::string& key);

// 4, 4.0; none for what is no whole number or does not fit.
[[nodiscard]] std::optional<std::int64_t> whole_number(const Json& value);
// "a string", "a list", ...: what it is, for messages.
[[nodiscard]] std::string_view kind_of(const Json& value);
// Pretty-printed, ends with a newline; genai cannot read \u escapes, so there are none but for control characters.
[[nodiscard]] std::string dump_config(const Json& document);

// Sentences for -v. Stops after some, so that a hostile config cannot fill memory.
class Notes {
 public:
  void add(std::string_view note);
  [[nodiscard]] std::vector<std::string> take() { return std::move(notes_); }

 private:
  std::vector<std::string> notes_;
};

}  // namespace precast::genai
