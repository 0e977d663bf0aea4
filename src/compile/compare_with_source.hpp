// Whether a compiled model computes what its source does: one run of each with the same made-up inputs, the source on
// ORT's CPU EP. (An EP may compute something else only after export and import, with no other sign of it.)
#pragma once

#include <filesystem>
#include <string>

#include "ort/session_call.hpp"

namespace precast::compile {

// Empty: the outputs agree (tensor::Difference::agrees). Else the first output that differs, and how. An error: one of
// the two cannot be run. `settings` give the free dimensions, which are the source's too.
[[nodiscard]] Result<std::string> compare_with_source(ort::Catalog& catalog, Ort::Session& compiled,
                                                      const ort::SessionSettings& settings,
                                                      const std::filesystem::path& source);

}  // namespace precast::compile
