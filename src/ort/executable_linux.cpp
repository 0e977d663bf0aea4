#include <system_error>

#include "ort/executable.hpp"

namespace precast::ort {

std::filesystem::path executable_directory() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path{} : program.parent_path();
}

std::vector<std::filesystem::path> with_parents(const std::filesystem::path& directory, std::size_t parents) {
  std::vector<std::filesystem::path> found;
  std::filesystem::path at = directory;
  for (std::size_t i = 0; i <= parents && !at.empty(); ++i) {
    found.push_back(at);
    if (at == at.parent_path()) break;
    at = at.parent_path();
  }
  return found;
}

}  // namespace precast::ort
