#include "genai/config_json.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "util/text.hpp"

namespace precast::genai {

namespace {

constexpr std::size_t kMostLevels = 64;
constexpr std::size_t kMostMembers = 1000;
constexpr std::size_t kMostNotes = 100;
constexpr double kExactWholes = 9007199254740992.0;  // 2^53

struct Problem {
  std::size_t offset = 0;
  std::string text;
};

std::unexpected<Error> not_json(const std::filesystem::path& path, std::string_view text, const Problem& problem) {
  const std::string_view before = text.substr(0, std::min(problem.offset, text.size()));
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = 1 + before.size() - (newline == std::string_view::npos ? 0 : newline + 1);
  return fail(ErrorCode::bad_input,
              fmt::format("{}, line {}, column {}: {}", util::quoted(path), line, column, problem.text), path,
              "correct the file, or export the bundle again");
}

// The parser keeps nesting on the heap, but copying and printing recurse; and its ordered objects look for a key from
// the front. So depth and size are bounded before anything is built.
class ShapeScan {
 public:
  std::optional<Problem> scan(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (in_string_) {
        if (text[i] == '\\')
          ++i;
        else if (text[i] == '"')
          in_string_ = false;
      } else if (auto problem = step(text[i])) {
        return Problem{i, std::move(*problem)};
      }
    }
    return std::nullopt;
  }

 private:
  struct Level {
    bool object = false;
    std::size_t commas = 0;
  };

  std::optional<std::string> step(char c) {
    if (c == '"') in_string_ = true;
    if (c == '{' || c == '[') levels_.push_back({c == '{', 0});
    if ((c == '}' || c == ']') && !levels_.empty()) levels_.pop_back();
    if (levels_.size() > kMostLevels) return fmt::format("more than {} levels of nesting", kMostLevels);
    if (c == ',' && !levels_.empty() && ++levels_.back().commas >= kMostMembers && levels_.back().object) {
      return fmt::format("an object with more than {} members", kMostMembers);
    }
    return std::nullopt;
  }

  bool in_string_ = false;
  std::vector<Level> levels_;
};

// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error ..." -> "syntax error ..."
std::string reason_of(std::string_view what) {
  const std::size_t colon = what.find(": ");
  return util::escape_to_line(colon == std::string_view::npos ? what : what.substr(colon + 2));
}

}  // namespace

Result<Json> parse_config(const std::filesystem::path& config_path, std::string_view text) {
  if (const auto problem = ShapeScan().scan(text)) return not_json(config_path, text, *problem);
  std::vector<std::set<std::string>> seen;  // of each object that is open
  std::string twice;
  const auto note_keys = [&](int /*depth*/, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) seen.emplace_back();
    if (event == Json::parse_event_t::object_end) seen.pop_back();
    if (event == Json::parse_event_t::key && !seen.back().insert(parsed.get<std::string>()).second) {
      twice = parsed.get<std::string>();
    }
    return true;
  };
  try {
    Json document = Json::parse(text, note_keys);
    if (!twice.empty()) {  // genai merges the two, other readers take the last
      return fail(ErrorCode::bad_input,
                  fmt::format("{}: an object has '{}' twice", util::quoted(config_path), util::escape_to_line(twice)),
                  config_path, "leave one of them");
    }
    if (document.is_object()) return document;
    return fail(ErrorCode::bad_input,
                fmt::format("{} holds {}, not an object", util::quoted(config_path), kind_of(document)), config_path,
                "a genai_config.json starts with {\"model\": {...");
  } catch (const Json::parse_error& error) {
    return not_json(config_path, text,
                    {error.byte == 0 ? 0 : error.byte - 1, "invalid JSON: " + reason_of(error.what())});
  } catch (const Json::exception& error) {  // a number that no double holds
    return fail(ErrorCode::bad_input,
                fmt::format("{}: invalid JSON: {}", util::quoted(config_path), util::escape_to_line(error.what())),
                config_path, "correct the file, or export the bundle again");
  }
}

const Json* member(const Json& object, const std::string& key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

Json* member(Json& object, const std::string& key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::optional<std::int64_t> whole_number(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    return number <= INT64_MAX ? std::optional(static_cast<std::int64_t>(number)) : std::nullopt;
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const auto number = value.get<double>();
  if (!(std::abs(number) <= kExactWholes) || std::trunc(number) != number) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::string_view kind_of(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_boolean()) return "a boolean";
  if (value.is_string()) return "a string";
  if (value.is_array()) return "a list";
  if (value.is_object()) return "an object";
  return "a number";
}

std::string dump_config(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void Notes::add(std::string_view note) {
  if (notes_.size() < kMostNotes) notes_.push_back(util::escape_to_line(note));
  if (notes_.size() == kMostNotes) notes_.emplace_back("and more like these");
}

}  // namespace precast::genai
