// What loading onnxruntime-genai needs of the operating system.
#pragma once

#include <filesystem>

#include "genai/api.hpp"
#include "precast/error.hpp"

namespace precast::genai {

// Opens the library and finds every function. Not loadable, or one is missing: ep_unavailable with the reason.
[[nodiscard]] Result<Api> open_library(const std::filesystem::path& library);

// Whether a library that asks the loader for ORT by its usual names gets `library`.
[[nodiscard]] bool is_found_by_name(const std::filesystem::path& library);

}  // namespace precast::genai
