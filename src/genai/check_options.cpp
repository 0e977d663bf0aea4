#include <algorithm>

#include <fmt/format.h>

#include "genai/route.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::genai {

namespace {

namespace stdfs = std::filesystem;

using Libraries = std::map<std::string, stdfs::path>;

Result<void> check_library(fs::FileSystem& fs, const std::string& where, const std::string& value,
                           const stdfs::path& ep_library) {
  const bool bare = value.find('/') == std::string::npos;
  if (bare && !value.empty() && ep_library.empty()) return {};
  const stdfs::path path = bare ? ep_library.parent_path() / value : stdfs::path(value);
  const bool usable = !value.empty() && value.find('\0') == std::string::npos;
  const auto stat = usable ? fs.stat(path) : Result<fs::FileStat>(fail(ErrorCode::not_found, "no file name"));
  if (stat && stat->kind == fs::FileKind::regular) return {};
  return fail(ErrorCode::bad_input, fmt::format("{}: there is no library '{}'", where, util::escape_to_line(value)),
              path,
              bare ? "write the library's absolute path, or a name that lies beside the EP's library"
                   : "write the path of an existing library");
}

}  // namespace

Result<void> check_options(fs::FileSystem& fs, const Route& route, const Libraries& ep_libraries) {
  for (const StageRoute& stage : route.stages) {
    for (const Provider& provider : stage.providers) {
      const ort::EpSpec* spec = ort::find_ep(provider.ep);
      if (spec == nullptr) continue;
      const auto library = ep_libraries.find(provider.ep);
      for (const auto& [key, value] : provider.options) {
        if (std::ranges::find(spec->library_options, key) == spec->library_options.end()) continue;
        const std::string where =
            fmt::format("stage '{}': provider option '{}'", util::escape_to_line(stage.stage), key);
        PRECAST_TRY(check_library(fs, where, value, library == ep_libraries.end() ? stdfs::path() : library->second));
      }
    }
  }
  return {};
}

}  // namespace precast::genai
