#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "program.hpp"

namespace precast::fake_ep {

// The bytes of a context binary (format: README.md). Each partition ends with its weights and then
// output_scale, so a change of the file's last byte changes every output.
std::string write_blob(const std::vector<Program>& partitions);

// Throws EpError if magic, version or size are wrong or the structure cannot be read; wrong weights go unnoticed.
std::vector<Program> read_blob(std::string_view bytes);

}  // namespace precast::fake_ep
