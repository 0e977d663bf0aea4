// A private copy of a source model and its external data, under their logical names: for models that are reached
// through links (Hugging Face layouts; OpenVINO refuses data outside the model's folder), and for sources that keep
// changing.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "fs/file_system.hpp"
#include "model/model_facts.hpp"
#include "precast/error.hpp"

namespace precast::compile {

// Reflinks, else copies; with `bytes` those are the model, whose external data lies beside `model`. The result is the
// staged model's path inside `folder`, which is made.
[[nodiscard]] Result<std::filesystem::path> stage_source(fs::FileSystem& fs, const std::filesystem::path& model,
                                                         std::optional<std::string_view> bytes,
                                                         const model::ModelFacts& facts,
                                                         const std::filesystem::path& folder);

}  // namespace precast::compile
