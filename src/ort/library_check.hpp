// What can be wrong with a library's file that dlopen does not survive.
#pragma once

#include <filesystem>

#include "precast/error.hpp"

namespace precast::ort {

// The loader maps what the header of a library promises and touches it: one that was cut off (a copy or download that
// stopped) would end this process with SIGBUS, and a FIFO would hang it. ep_unavailable naming the file. What is no
// 64-bit ELF file passes: dlopen says what is wrong with it.
[[nodiscard]] Result<void> check_library_file(const std::filesystem::path& library);

}  // namespace precast::ort
