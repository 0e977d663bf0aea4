#include "store/json_fields.hpp"

#include <nlohmann/json.hpp>

namespace precast::store {

JsonFields::JsonFields(const nlohmann::json& value) : value_(value) {
  require(value.is_object(), "it is not a JSON object");
}

bool JsonFields::has(std::string_view name) const {
  return value_.is_object() && value_.contains(name);
}

const nlohmann::json& JsonFields::field(std::string_view name) {
  static const nlohmann::json kNothing;
  if (has(name)) return value_.find(name).value();
  require_field(false, name, "is missing");
  return kNothing;
}

std::string JsonFields::text(std::string_view name) {
  const nlohmann::json& value = field(name);
  require_field(value.is_string(), name, "is not a string");
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::uint64_t JsonFields::whole_number(std::string_view name) {
  const nlohmann::json& value = field(name);
  require_field(value.is_number_unsigned(), name, "is not a whole number");
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

std::int64_t JsonFields::signed_number(std::string_view name) {
  const nlohmann::json& value = field(name);
  // An unsigned number beyond the signed range would wrap.
  const bool fits =
      value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
  require_field(fits, name, "is not a whole number");
  return fits ? value.get<std::int64_t>() : 0;
}

double JsonFields::number(std::string_view name) {
  const nlohmann::json& value = field(name);
  require_field(value.is_number(), name, "is not a number");
  return value.is_number() ? value.get<double>() : 0;
}

std::string dump_json(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace precast::store
