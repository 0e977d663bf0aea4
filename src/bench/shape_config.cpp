#include "bench/shape_config.hpp"

#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

#include "fs/file_system.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::bench {

namespace {

using nlohmann::json;
constexpr std::uint64_t kMostBytes = 1U << 20U;

std::optional<std::int64_t> positive(const json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
    return std::nullopt;
  }
  const auto size = value.get<std::int64_t>();
  return size > 0 ? std::optional(size) : std::nullopt;
}

std::unexpected<Error> bad_key(const std::filesystem::path& path, const std::string& key) {
  return fail(ErrorCode::bad_input,
              util::quoted(path) + ": " + util::quoted(key) + " is not a positive size or a list of them", path,
              R"(write {"input": [1, 3, 224, 224]} or {"dimension": 128})");
}

std::unexpected<Error> bad_text(const std::string& option, const std::string& text, const std::string& hint) {
  return fail(ErrorCode::bad_input, option + " " + util::quoted(text) + " is not understood", {}, hint);
}

template <typename Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<void> read_shape_config(const std::filesystem::path& path, tensor::Wanted& wanted) {
  fs::FileSystem& fs = fs::FileSystem::posix();
  const auto text = fs::read_small_file(fs, path, kMostBytes);
  if (!text && fs::is_not_found(text.error())) {
    return fail(ErrorCode::not_found, "the shape configuration " + util::quoted(path) + " does not exist", path,
                "check the path");
  }
  if (!text) return std::unexpected(text.error());
  const json config = json::parse(*text, nullptr, false);
  if (!config.is_object()) {
    return fail(ErrorCode::bad_input, util::quoted(path) + " is not a JSON object", path,
                R"(write {"input": [1, 3, 224, 224]} or {"dimension": 128})");
  }
  for (const auto& [key, value] : config.items()) {
    if (const auto size = positive(value)) {
      wanted.dimensions[key] = *size;
      continue;
    }
    if (!value.is_array()) return bad_key(path, key);
    std::vector<std::int64_t> shape;
    for (const json& element : value) {
      const auto size = positive(element);
      if (!size) return bad_key(path, key);
      shape.push_back(*size);
    }
    wanted.shapes[key] = std::move(shape);
  }
  return {};
}

Result<void> add_dimension(const std::string& text, tensor::Wanted& wanted) {
  const std::size_t at = text.rfind('=');
  std::int64_t size = 0;
  if (at == std::string::npos || at == 0 || !parse(std::string_view(text).substr(at + 1), size) || size <= 0) {
    return bad_text("--dim", text, "write NAME=N with a positive N");
  }
  wanted.dimensions[text.substr(0, at)] = size;
  return {};
}

Result<void> add_value_range(const std::string& text, tensor::Wanted& wanted) {
  const std::size_t at = text.rfind('=');
  const std::size_t colon = text.rfind(':');
  double low = 0;
  double high = 0;
  const std::string_view view = text;
  if (at == std::string::npos || at == 0 || colon == std::string::npos || colon < at ||
      !parse(view.substr(at + 1, colon - at - 1), low) || !parse(view.substr(colon + 1), high) || !(low < high) ||
      !std::isfinite(low) || !std::isfinite(high)) {
    return bad_text("--value-range", text, "write NAME=LOW:HIGH with LOW < HIGH; HIGH itself is left out");
  }
  wanted.ranges[text.substr(0, at)] = {low, high};
  return {};
}

}  // namespace precast::bench
