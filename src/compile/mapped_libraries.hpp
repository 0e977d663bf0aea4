// What is mapped into this process for execution, outside the system's library folders.
#pragma once

#include <vector>

#include "compile/worker_protocol.hpp"

namespace precast::compile {

// From /proc/self/maps; the program itself is left out; sorted by path, each file once.
[[nodiscard]] std::vector<MappedLibrary> mapped_libraries();
// The parser alone, for tests: text of a maps file and the path of the program.
[[nodiscard]] std::vector<MappedLibrary> parse_maps(std::string_view maps, const std::filesystem::path& program);

}  // namespace precast::compile
