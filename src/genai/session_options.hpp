// The session_options object of a stage: what stands in it, and how genai wants it written. Nothing here throws.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "genai/bundle.hpp"
#include "genai/config_json.hpp"

namespace precast::genai {

struct SessionOptions {
  std::vector<Provider> providers;
  std::map<std::string, std::string> entries;
};

// A scalar as genai takes it, a string: "x", true -> "1", false -> "0", 2 and 2.0 -> "2". None for null, lists,
// objects.
[[nodiscard]] std::optional<std::string> as_option_text(const Json& value);

// Whether genai reads the key itself ("log_id", "intra_op_num_threads", "provider_options"); it is then no entry.
[[nodiscard]] bool is_own_key(std::string_view key);

// `where` names the object in notes ("stage 'context': session_options").
[[nodiscard]] SessionOptions read_session_options(const Json& object, const std::string& where, Notes& notes);

}  // namespace precast::genai
