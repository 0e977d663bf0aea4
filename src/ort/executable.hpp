// Where this program and its checkout are. No ORT header.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

namespace precast::ort {

// The folder of the running program (links resolved); empty if the system does not say.
[[nodiscard]] std::filesystem::path executable_directory();

// `directory` and its parents, nearest first, at most `parents` of them: where a checkout's .deps may be.
[[nodiscard]] std::vector<std::filesystem::path> with_parents(const std::filesystem::path& directory,
                                                              std::size_t parents);

// Four: build/bin, build, checkout, and one to spare for a build folder that lies deeper.
inline constexpr std::size_t kCheckoutParents = 4;

}  // namespace precast::ort
