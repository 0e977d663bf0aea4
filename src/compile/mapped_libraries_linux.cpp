#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "compile/mapped_libraries.hpp"
#include "util/text.hpp"

namespace precast::compile {

namespace {

bool in_system_folder(const std::string& path) {
  for (const std::string_view folder : {"/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/libexec/"}) {
    if (path.starts_with(folder)) return true;
  }
  return false;
}

// "55d0-55d1 r-xp 00000000 fe:00 1234   /path with blanks": six fields, the last one to the end of the line.
bool parse_line(const std::string& line, MappedLibrary& library) {
  std::istringstream fields(line);
  std::string range;
  std::string permissions;
  std::string offset;
  std::string device;
  std::uint64_t inode = 0;
  if (!(fields >> range >> permissions >> offset >> device >> inode) || inode == 0) return false;
  if (permissions.size() < 3 || permissions[2] != 'x') return false;
  std::string path;
  std::getline(fields >> std::ws, path);
  if (!path.starts_with('/')) return false;
  library = {path, inode};
  return true;
}

}  // namespace

std::vector<MappedLibrary> parse_maps(std::string_view maps, const std::filesystem::path& program) {
  std::vector<MappedLibrary> libraries;
  for (const std::string& line : util::split(maps, '\n')) {
    MappedLibrary library;
    if (!parse_line(line, library)) continue;
    if (library.path == program || in_system_folder(library.path.native())) continue;
    if (std::ranges::find(libraries, library) == libraries.end()) libraries.push_back(std::move(library));
  }
  std::ranges::sort(libraries, {}, &MappedLibrary::path);
  return libraries;
}

std::vector<MappedLibrary> mapped_libraries() {
  std::ifstream file("/proc/self/maps");
  std::stringstream text;
  text << file.rdbuf();
  std::error_code ignored;  // without /proc the maps are empty too
  return parse_maps(text.str(), std::filesystem::read_symlink("/proc/self/exe", ignored));
}

}  // namespace precast::compile
