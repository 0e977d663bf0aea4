// Names shared by the functions that take evidence: which digests are used together.
#pragma once

#include <filesystem>
#include <string>

#include "identity/identity.hpp"

namespace precast::identity {

// The library that stands for the EP: its plugin, or ORT's own library for an EP that is built into ORT. Absolute.
[[nodiscard]] std::filesystem::path base_library(const Settings& settings);
[[nodiscard]] std::string library_group(const Settings& settings);          // "ep:<plugin path>"
[[nodiscard]] std::string model_group(const std::filesystem::path& model);  // "model:<absolute path>"

}  // namespace precast::identity
