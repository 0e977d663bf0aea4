#include "identity/environment.hpp"

#include <algorithm>
#include <set>

#include "util/text.hpp"

namespace precast::identity {
namespace {

// ORT_DISABLE_TELEMETRY: what was switched off here must not be switched on in the worker.
const std::vector<std::string>& always_passed() {
  static const std::vector<std::string> names = {
      "PATH", "HOME", "LANG", "TMPDIR", "PRECAST_*", "LD_LIBRARY_PATH", "ORT_DISABLE_TELEMETRY"};
  return names;
}

bool matches(const std::vector<std::string>& globs, const std::string& name) {
  return std::any_of(globs.begin(), globs.end(), [&](const auto& glob) { return util::glob_match(glob, name); });
}

bool listed(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::map<std::string, std::optional<std::string>> identity_environment(const Settings& settings) {
  std::map<std::string, std::optional<std::string>> result;
  const std::vector<std::string> globs = ort::environment_identity_globs(settings.target);
  for (const auto& [name, value] : settings.environment) {  // the first of a name counts, as for getenv
    if (matches(globs, name) || listed(settings.worker_environment, name)) result.emplace(name, value);
  }
  for (const std::string& name : settings.worker_environment) result.emplace(name, std::nullopt);
  return result;
}

std::vector<std::pair<std::string, std::string>> worker_environment(const Settings& settings) {
  const std::vector<std::string> globs = ort::environment_passed_globs(settings.target);
  std::vector<std::pair<std::string, std::string>> result;
  std::set<std::string> seen;
  for (const auto& [name, value] : settings.environment) {
    const bool passed =
        matches(always_passed(), name) || matches(globs, name) || listed(settings.worker_environment, name);
    if (passed && seen.insert(name).second) result.emplace_back(name, value);
  }
  return result;
}

}  // namespace precast::identity
