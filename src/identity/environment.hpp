// Environment variables that can influence a compile.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "identity/identity.hpp"

namespace precast::identity {

// Variables of the EP's table that are set, and every name of --worker-env (nullopt = not set).
[[nodiscard]] std::map<std::string, std::optional<std::string>> identity_environment(const Settings& settings);

}  // namespace precast::identity
