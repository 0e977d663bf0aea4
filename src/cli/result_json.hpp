// Answers as JSON (README, "JSON"). Times are milliseconds, sizes bytes, instants RFC 3339 UTC.
#pragma once

#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "compile/resolution.hpp"
#include "precast/error.hpp"
#include "store/store.hpp"

namespace precast::cli {

// For -v: key, generation, and where the time went.
[[nodiscard]] std::string details(const compile::Resolution& resolution);

// {"schema_version", "precast_version", "command"}: every document starts with these.
[[nodiscard]] nlohmann::json document(const std::string& command);
[[nodiscard]] nlohmann::json to_json(const Error& error);
struct CommandTimings {
  double startup = 0;
  double session_open = 0;
  std::optional<double> run;
  double publish = 0;
  double total = 0;
};
[[nodiscard]] nlohmann::json to_json(const compile::Resolution& resolution, const CommandTimings& timings,
                                     const std::filesystem::path& published = {});
[[nodiscard]] nlohmann::json to_json(const store::Entry& entry);
// Bytes that are not UTF-8 escaped.
[[nodiscard]] std::string path_text(const std::filesystem::path& path);

}  // namespace precast::cli
