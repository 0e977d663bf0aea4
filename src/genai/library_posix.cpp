#include "genai/library_posix.hpp"

#include <dlfcn.h>

#include "ort/library_check.hpp"
#include "ort/runtime_search.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::genai {

namespace {

constexpr const char* kHint = "install another onnxruntime-genai (0.18 or newer) and name it with --genai-library";

std::string loader_error() {
  const char* text = ::dlerror();
  return text == nullptr ? "unknown error" : util::escape_to_line(text);
}

}  // namespace

Result<Api> open_library(const std::filesystem::path& library) {
  PRECAST_TRY(ort::check_library_file(library));
  void* const handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return fail(ErrorCode::ep_unavailable,
                "onnxruntime-genai cannot be loaded from " + util::quoted(library) + ": " + loader_error(), library,
                kHint);
  }
  Api api;
  const char* missing = nullptr;
// NOLINTBEGIN(bugprone-macro-parentheses): types cannot stand in parentheses
#define PRECAST_OGA_FIND(type, name, parameters)                           \
  api.name = reinterpret_cast<type(*) parameters>(::dlsym(handle, #name)); \
  if (api.name == nullptr && missing == nullptr) missing = #name;
  PRECAST_OGA_FUNCTIONS(PRECAST_OGA_FIND)
#undef PRECAST_OGA_FIND
  // NOLINTEND(bugprone-macro-parentheses)
  if (missing == nullptr) return api;
  ::dlclose(handle);
  return fail(ErrorCode::ep_unavailable,
              util::quoted(library) + " is not an onnxruntime-genai that precast can use: it has no " + missing,
              library, kHint);
}

bool is_found_by_name(const std::filesystem::path& library) {
  for (const char* name : {"libonnxruntime.so", "libonnxruntime.so.1"}) {
    void* const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (handle == nullptr) continue;
    const void* const entry = ::dlsym(handle, "OrtGetApiBase");
    ::dlclose(handle);
    return entry != nullptr && ort::library_of(entry) == ort::without_links(library);
  }
  return false;
}

}  // namespace precast::genai
