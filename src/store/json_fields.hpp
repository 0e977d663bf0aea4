// Reading a JSON object field by field, strictly: the first thing that is not as it must be is kept as a sentence, and
// reading goes on with empty values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace precast::store {

class JsonFields {
 public:
  explicit JsonFields(const nlohmann::json& value);

  void require(bool holds, std::string_view problem) {
    if (!holds && problem_.empty()) problem_ = problem;
  }
  void require_field(bool holds, std::string_view name, std::string_view problem) {
    require(holds, "'" + std::string(name) + "' " + std::string(problem));
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] bool good() const { return problem_.empty(); }
  [[nodiscard]] bool has(std::string_view name) const;

  [[nodiscard]] const nlohmann::json& field(std::string_view name);
  [[nodiscard]] std::string text(std::string_view name);
  [[nodiscard]] std::uint64_t whole_number(std::string_view name);
  [[nodiscard]] std::int64_t signed_number(std::string_view name);
  [[nodiscard]] double number(std::string_view name);

 private:
  const nlohmann::json& value_;
  std::string problem_;
};

// Never throws: bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string dump_json(const nlohmann::json& value, int indent = -1);

}  // namespace precast::store
