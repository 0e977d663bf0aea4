#include "genai/library.hpp"

#include <cstdlib>
#include <mutex>
#include <optional>

#include "genai/library_posix.hpp"
#include "ort/discovery.hpp"
#include "ort/executable.hpp"
#include "ort/runtime_search.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::genai {

namespace {

namespace stdfs = std::filesystem;

constexpr const char* kName = "libonnxruntime-genai.so";
constexpr const char* kInstallHint =
    "run tools/setup genai in a checkout, or install the Python package onnxruntime-genai-core and name its library "
    "with --genai-library";

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool is_file(fs::FileSystem& fs, const stdfs::path& path) {
  const auto stat = fs.stat(path);
  return stat && stat->kind == fs::FileKind::regular;
}

// A wheel's library lies in its package's folder, beside which stands <package>-<version>.dist-info.
std::string version_beside(fs::FileSystem& fs, const stdfs::path& library) {
  for (const stdfs::path& package : ort::with_parents(library.parent_path(), 1)) {
    const auto entries = fs.list(package.parent_path());
    if (!entries) continue;
    const std::string stem = package.filename().string() + "-";
    for (const fs::DirEntry& entry : *entries) {
      if (!entry.name.starts_with(stem) || !entry.name.ends_with(".dist-info")) continue;
      return entry.name.substr(stem.size(), entry.name.size() - stem.size() - std::string(".dist-info").size());
    }
  }
  return {};
}

std::optional<LibraryLocation> look_in(fs::FileSystem& fs, const stdfs::path& folder, const char* source) {
  const stdfs::path library = (folder / kName).lexically_normal();
  if (!is_file(fs, library)) return std::nullopt;
  return LibraryLocation{library, source, {}};
}

// Folders of Python packages with the library, below a folder of packages.
std::optional<LibraryLocation> look_in_packages(fs::FileSystem& fs, const stdfs::path& packages, const char* source) {
  for (const char* folder : {"onnxruntime_genai_core/bin", "onnxruntime_genai_core", "onnxruntime_genai"}) {
    if (auto found = look_in(fs, packages / folder, source)) return found;
  }
  return std::nullopt;
}

std::optional<LibraryLocation> search(fs::FileSystem& fs, const stdfs::path& given_directory) {
  const stdfs::path executable = given_directory.empty() ? ort::executable_directory() : given_directory;
  if (!executable.empty()) {
    for (const stdfs::path& folder :
         {executable, executable.parent_path() / "lib", executable.parent_path() / "lib" / "precast"}) {
      if (auto found = look_in(fs, folder, "beside")) return found;
    }
  }
  for (const stdfs::path& folder : ort::with_parents(executable, ort::kCheckoutParents)) {
    if (auto found = look_in_packages(fs, folder / ".deps" / "genai", "bundled")) return found;
  }
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    for (const stdfs::path& packages : ort::site_packages(fs, from_environment(variable))) {
      if (auto found = look_in_packages(fs, packages, "pypi")) return found;
    }
  }
  for (const stdfs::path& folder : ort::system_library_directories()) {
    if (auto found = look_in(fs, folder, "system")) return found;
  }
  return std::nullopt;
}

Result<LibraryLocation> named(fs::FileSystem& fs, const stdfs::path& library, const char* source) {
  std::error_code error;  // of the working directory: then the path stays as it is, and is not found
  stdfs::path absolute = stdfs::absolute(library, error).lexically_normal();
  if (is_file(fs, error ? library : absolute)) return LibraryLocation{std::move(absolute), source, {}};
  const std::string from = std::string_view(source) == "option" ? "--genai-library" : "PRECAST_GENAI_LIBRARY";
  return fail(ErrorCode::not_found, from + " names " + util::quoted(library) + ", which is not a file", library,
              "give the path of libonnxruntime-genai.so, or leave it out to have it searched");
}

// genai takes this variable's library before any other, and would bring a second ORT into the process.
Result<void> require_same_ort(const ort::Runtime& runtime) {
  const std::string other = from_environment("ORT_LIB_PATH");
  if (other.empty() && std::getenv("ORT_LIB_PATH") != nullptr) {
    return fail(ErrorCode::ep_unavailable,
                "ORT_LIB_PATH is set and empty: onnxruntime-genai would look for ONNX Runtime in the program itself",
                {}, "unset ORT_LIB_PATH");
  }
  std::error_code ignored;  // what is not there is not loaded either
  const stdfs::file_type kind = stdfs::status(other, ignored).type();
  if (!other.empty() && kind != stdfs::file_type::regular && kind != stdfs::file_type::directory &&
      kind != stdfs::file_type::not_found) {
    return fail(ErrorCode::ep_unavailable,
                "ORT_LIB_PATH has onnxruntime-genai load " + util::quoted(other) + ", which is not a file", other,
                "unset ORT_LIB_PATH");
  }
  if (!other.empty() && stdfs::is_regular_file(other, ignored) &&
      ort::without_links(other) != ort::without_links(runtime.library())) {
    return fail(ErrorCode::ep_unavailable,
                "ORT_LIB_PATH has onnxruntime-genai load another ONNX Runtime (" + util::quoted(other) + ") than " +
                    util::quoted(runtime.library()),
                other, "unset ORT_LIB_PATH, or name the same library with --ort-library");
  }
  if (is_found_by_name(runtime.library())) return {};
  return fail(ErrorCode::ep_unavailable,
              "onnxruntime-genai would not find the ONNX Runtime at " + util::quoted(runtime.library()) +
                  ": it looks for libonnxruntime.so.1 by that name",
              runtime.library(), "use an ONNX Runtime whose library has the SONAME libonnxruntime.so.1");
}

}  // namespace

Result<LibraryLocation> find_library(fs::FileSystem& fs, const LibraryOptions& options) {
  const stdfs::path variable = from_environment("PRECAST_GENAI_LIBRARY");
  LibraryLocation location;
  if (!options.library.empty()) {
    PRECAST_TRY_ASSIGN(location, named(fs, options.library, options.library == variable ? "environment" : "option"));
  } else if (!variable.empty()) {
    PRECAST_TRY_ASSIGN(location, named(fs, variable, "environment"));
  } else if (auto found = search(fs, options.executable_directory)) {
    location = *std::move(found);
  } else {
    return fail(ErrorCode::ep_unavailable, std::string("onnxruntime-genai (") + kName + ") was not found", {},
                kInstallHint);
  }
  location.version = version_beside(fs, location.library);
  return location;
}

// Makes the one Library of the process; neither object is ever destroyed.
struct LibraryLoader {
  static std::mutex& mutex() {
    static auto& mutex = *new std::mutex;
    return mutex;
  }
  static std::shared_ptr<const Library>& instance() {
    static auto& instance = *new std::shared_ptr<const Library>;
    return instance;
  }

  static Result<std::shared_ptr<const Library>> load(fs::FileSystem& fs, ort::Runtime& runtime,
                                                     const LibraryOptions& options) {
    const std::scoped_lock lock(mutex());
    if (instance() != nullptr) {
      const stdfs::path& loaded = instance()->location().library;
      if (options.library.empty() || ort::without_links(options.library) == ort::without_links(loaded)) {
        return instance();
      }
      return fail(ErrorCode::bad_input,
                  "onnxruntime-genai " + util::quoted(loaded) + " is loaded in this process already", options.library,
                  "leave --genai-library out, or name the loaded one");
    }
    std::shared_ptr<Library> library(new Library);  // make_shared cannot reach the constructor
    PRECAST_TRY_ASSIGN(library->location_, find_library(fs, options));
    PRECAST_TRY(require_same_ort(runtime));
    PRECAST_TRY_ASSIGN(library->api_, open_library(library->location_.library));
    instance() = library;
    return instance();
  }
};

Result<std::shared_ptr<const Library>> Library::load(fs::FileSystem& fs, ort::Runtime& runtime,
                                                     const LibraryOptions& options) {
  return LibraryLoader::load(fs, runtime, options);
}

}  // namespace precast::genai
