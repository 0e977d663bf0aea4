// What a compile must have made before anybody may use it.
#pragma once

#include <filesystem>
#include <string>

#include "fs/file_system.hpp"
#include "model/model_facts.hpp"
#include "precast/error.hpp"
#include "store/layout.hpp"

namespace precast::compile {

// `folder` is the future generation, `name` the compiled model in it. Parses; at least one EPContext node; every
// `source` is the EP; each main node has inline bytes or a reference; references relative, UTF-8, without "..", inside
// the folder, regular files (no links), not empty; external data likewise; nothing refers to memory or to anything
// outside. A secondary node (main_context = 0) may have no context of its own. On success the facts of the compiled
// model.
[[nodiscard]] Result<model::ModelFacts> check_compiled(fs::FileSystem& fs, const std::filesystem::path& folder,
                                                       const std::string& ep_name,
                                                       std::string_view name = store::kModelName);

}  // namespace precast::compile
