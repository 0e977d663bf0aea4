#include <cstdlib>
#include <system_error>

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include "ort/library_check.hpp"
#include "ort/runtime_search.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::ort {

namespace {

constexpr const char* kEntryPoint = "OrtGetApiBase";

// libonnxruntime.so, .so.1, .so.1.32.0; not libonnxruntime_providers_*.so, which are EPs.
int note_runtime(dl_phdr_info* info, std::size_t, void* data) {
  const std::string_view name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const std::size_t slash = name.rfind('/');
  if (!name.substr(slash == std::string_view::npos ? 0 : slash + 1).starts_with("libonnxruntime.so")) return 0;
  *static_cast<std::string*>(data) = name;
  return 1;
}

std::string loader_error() {
  const char* text = dlerror();
  return text == nullptr ? "unknown error" : text;
}

}  // namespace

std::optional<std::filesystem::path> mapped_runtime() {
  std::string name;
  if (dl_iterate_phdr(note_runtime, &name) != 0) return std::filesystem::path(name);
  if (const void* entry = dlsym(RTLD_DEFAULT, kEntryPoint); entry != nullptr) return library_of(entry);
  return std::nullopt;
}

std::vector<std::filesystem::path> system_library_directories() {
  std::vector<std::filesystem::path> directories;
  if (const char* path = std::getenv("LD_LIBRARY_PATH"); path != nullptr) {
    for (const std::string& directory : util::split(path, ':')) {
      if (!directory.empty()) directories.emplace_back(directory);
    }
  }
  for (const char* directory :
       {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib", "/usr/local/lib"}) {
    directories.emplace_back(directory);
  }
  return directories;
}

Result<LoadedRuntime> load_runtime_library(const std::filesystem::path& library, bool already_mapped) {
  if (!already_mapped) PRECAST_TRY(check_library_file(library));
  const int mode = RTLD_NOW | RTLD_LOCAL | (already_mapped ? RTLD_NOLOAD : 0);
  void* handle = nullptr;
  // glibc declares that dlopen does not throw; what it runs may. Through a pointer the compiler cannot rely on that.
  void* (*volatile open)(const char*, int) = &dlopen;
  try {
    handle = open(library.c_str(), mode);
  } catch (const std::exception& e) {  // from another library's static initialiser
    return fail(ErrorCode::ep_unavailable,
                fmt::format("cannot load ONNX Runtime from {}: {}", util::quoted(library), util::one_line(e.what())),
                library, "name libonnxruntime.so.1 with --ort-library");
  }
  if (handle == nullptr && already_mapped) {
    // Linked into the program itself: there is no library to open, and the symbol is visible.
    if (void* entry = dlsym(RTLD_DEFAULT, kEntryPoint); entry != nullptr) return LoadedRuntime{library, entry, nullptr};
  }
  if (handle == nullptr) {
    return fail(ErrorCode::ep_unavailable,
                fmt::format("cannot load ONNX Runtime from {}: {}", util::quoted(library), loader_error()), library,
                "name another library with --ort-library");
  }
  void* entry = dlsym(handle, kEntryPoint);
  if (entry == nullptr) {
    dlclose(handle);
    return fail(ErrorCode::ep_unavailable,
                fmt::format("{} is not ONNX Runtime: it has no {}", util::quoted(library), kEntryPoint), library,
                "name libonnxruntime.so.1 with --ort-library");
  }
  return LoadedRuntime{library_of(entry), entry, handle};
}

void unload_runtime_library(const LoadedRuntime& runtime) {
  if (runtime.handle != nullptr) dlclose(runtime.handle);
}

std::filesystem::path library_of(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  return without_links(info.dli_fname);
}

std::filesystem::path without_links(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path canonical = std::filesystem::canonical(path, error);
  return error ? path : canonical;
}

}  // namespace precast::ort
