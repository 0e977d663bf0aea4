// Whether a path names a language-model bundle or a model.
#pragma once

#include <filesystem>

#include "precast/error.hpp"

namespace precast::cli {

// A folder with genai_config.json, or that file itself, there or not.
[[nodiscard]] bool is_bundle(const std::filesystem::path& path);

// For commands on models: bad_input for a bundle that is there, naming the commands that take one.
[[nodiscard]] Result<void> require_model(const std::filesystem::path& path);

}  // namespace precast::cli
