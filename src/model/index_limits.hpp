// Which inputs of a graph index a stored table (token ids into an embedding), and how many entries that table has: what
// a made-up value of such an input must stay below.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "fs/file_system.hpp"
#include "precast/error.hpp"

namespace precast::model {

// By the name of the input. From Gather and GatherBlockQuantized nodes of the main graph whose data is an initialiser,
// or one that was dequantised or cast, and whose indices are the input, or a cast or reshape of it; the least of
// several counts. Of a model that read_model accepts; other errors are its.
using IndexLimits = std::map<std::string, std::int64_t, std::less<>>;
[[nodiscard]] Result<IndexLimits> read_index_limits(fs::FileSystem& fs, const std::filesystem::path& path);
[[nodiscard]] Result<IndexLimits> parse_index_limits(std::string_view bytes, std::string_view name);

}  // namespace precast::model
