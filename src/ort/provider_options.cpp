#include <algorithm>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include "ort/target.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::ort {

namespace {

namespace stdfs = std::filesystem;

bool is_inline_json(const EpSpec* spec, std::string_view key, std::string_view value) {
  return spec != nullptr && spec->name == "OpenVINOExecutionProvider" && key == "load_config" &&
         util::trim(value).starts_with('{');
}

stdfs::path expand_home(const std::string& value) {
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return value;
  if (value == "~") return home;
  if (value.starts_with("~/")) return stdfs::path(home) / value.substr(2);
  return value;
}

Result<stdfs::path> existing_file(fs::FileSystem& fs, std::string_view key, const std::string& value,
                                  std::string_view hint) {
  std::error_code error;
  stdfs::path path = stdfs::absolute(expand_home(value), error).lexically_normal();
  const auto stat = error ? Result<fs::FileStat>(fail(ErrorCode::not_found, error.message())) : fs.stat(path);
  if (value.empty() || !stat) {
    return fail(ErrorCode::bad_input, fmt::format("provider option '{}': there is no file '{}'", key, value), path,
                std::string(hint));
  }
  if (stat->kind != fs::FileKind::regular) {
    return fail(ErrorCode::bad_input, fmt::format("provider option '{}': '{}' is not a file", key, value), path,
                std::string(hint));
  }
  return path;
}

// A bare name is what EPs look for beside themselves; where it is not there, dlopen would search, and nobody could say
// afterwards which bytes took part in the compile.
Result<stdfs::path> existing_library(fs::FileSystem& fs, const FoundEp& ep, std::string_view key,
                                     const std::string& value) {
  const bool bare = value.find('/') == std::string::npos;
  const std::string candidate = bare ? (ep.library.parent_path() / value).string() : value;
  return existing_file(fs, key, value.empty() ? value : candidate,
                       bare ? "give the library's absolute path, or a name that lies beside the EP's library"
                            : "give the path of an existing library");
}

bool contains(const std::vector<std::string_view>& keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

// Its own default is the bare name; the absolute path makes sure that it is the one that the identity names.
void add_qnn_backend(fs::FileSystem& fs, const FoundEp& ep, std::map<std::string, std::string>& options) {
  if (ep.spec == nullptr || ep.spec->name != "QNNExecutionProvider" || ep.library.empty()) return;
  if (options.contains("backend_path") || options.contains("backend_type")) return;
  const stdfs::path backend = ep.library.parent_path() / "libQnnHtp.so";
  const auto stat = fs.stat(backend);
  if (stat && stat->kind == fs::FileKind::regular) options["backend_path"] = backend.string();
}

}  // namespace

Result<std::map<std::string, std::string>> effective_provider_options(
    fs::FileSystem& fs, const FoundEp& ep, const std::map<std::string, std::string>& requested,
    const std::vector<std::string>& extra_file_options) {
  std::map<std::string, std::string> options;
  if (ep.spec != nullptr) {
    for (const auto& [key, value] : ep.spec->default_options) options.emplace(key, value);
  }
  for (const auto& [key, value] : requested) options[key] = value;
  add_qnn_backend(fs, ep, options);
  for (const std::string& key : extra_file_options) {
    if (options.contains(key)) continue;
    return fail(ErrorCode::bad_input, fmt::format("'{}' is declared to be a file, but no such option is given", key),
                {}, fmt::format("give the option too: --ep-options {}=FILE --ep-option-file {}", key, key));
  }
  for (auto& [key, value] : options) {
    const bool declared = std::ranges::find(extra_file_options, key) != extra_file_options.end();
    const bool file = declared || (ep.spec != nullptr && contains(ep.spec->file_options, key));
    if (file && !is_inline_json(ep.spec, key, value)) {
      PRECAST_TRY_ASSIGN(const stdfs::path path, existing_file(fs, key, value, "give the path of an existing file"));
      value = path.string();
    } else if (ep.spec != nullptr && contains(ep.spec->library_options, key)) {
      PRECAST_TRY_ASSIGN(const stdfs::path path, existing_library(fs, ep, key, value));
      value = path.string();
    }
  }
  return options;
}

}  // namespace precast::ort
