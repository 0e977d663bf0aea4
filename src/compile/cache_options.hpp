// Caches that EPs write of their own (OpenVINO's CACHE_DIR): inside a compile they go to its private folder, and a
// compiled model is opened without them, so that nothing is ever written where nobody asked for it.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "ort/ep_table.hpp"

namespace precast::compile {

using Options = std::map<std::string, std::string>;

// Every cache option of the EP that is set, and CACHE_DIR in a JSON option (load_config: inline or a file), points to
// `folder`. Options without a cache come back as they are.
[[nodiscard]] Options redirect_cache_options(const ort::EpSpec* spec, const Options& options,
                                             const std::filesystem::path& folder);
// The same with the caches dropped: for opening a compiled model.
[[nodiscard]] Options drop_cache_options(const ort::EpSpec* spec, const Options& options);

}  // namespace precast::compile
