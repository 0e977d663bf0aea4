// Reading a JSON object field by field, strictly: the first thing that is not as it must be is kept as a sentence, and
// reading goes on with empty values. Only for .cpp files: the layer's headers show no JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace precast::store {

class JsonFields {
 public:
  explicit JsonFields(const nlohmann::json& value) : value_(value) {
    require(value.is_object(), "it is not a JSON object");
  }

  void require(bool holds, std::string_view problem) {
    if (!holds && problem_.empty()) problem_ = problem;
  }
  void require_field(bool holds, std::string_view name, std::string_view problem) {
    require(holds, "'" + std::string(name) + "' " + std::string(problem));
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] bool good() const { return problem_.empty(); }
  [[nodiscard]] bool has(std::string_view name) const { return value_.is_object() && value_.contains(name); }

  [[nodiscard]] const nlohmann::json& field(std::string_view name) {
    static const nlohmann::json kNothing;
    if (has(name)) return value_.find(name).value();
    require_field(false, name, "is missing");
    return kNothing;
  }
  [[nodiscard]] std::string text(std::string_view name) {
    const nlohmann::json& value = field(name);
    require_field(value.is_string(), name, "is not a string");
    return value.is_string() ? value.get<std::string>() : std::string();
  }
  [[nodiscard]] std::uint64_t whole_number(std::string_view name) {
    const nlohmann::json& value = field(name);
    require_field(value.is_number_unsigned(), name, "is not a whole number");
    return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
  }
  [[nodiscard]] std::int64_t signed_number(std::string_view name) {
    const nlohmann::json& value = field(name);
    // An unsigned number beyond the signed range would wrap.
    const bool fits =
        value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
    require_field(fits, name, "is not a whole number");
    return fits ? value.get<std::int64_t>() : 0;
  }
  [[nodiscard]] double number(std::string_view name) {
    const nlohmann::json& value = field(name);
    require_field(value.is_number(), name, "is not a number");
    return value.is_number() ? value.get<double>() : 0;
  }

 private:
  const nlohmann::json& value_;
  std::string problem_;
};

// Never throws: bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] inline std::string dump_json(const nlohmann::json& value, int indent = -1) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace precast::store
