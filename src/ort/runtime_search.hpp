// What the search for ONNX Runtime needs from the operating system. No ORT header.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "precast/error.hpp"

namespace precast::ort {

// File names of the library, the most exact first.
inline constexpr const char* kRuntimeNames[] = {"libonnxruntime.so.1", "libonnxruntime.so"};

// The ONNX Runtime that is mapped into this process already: as libonnxruntime.so*, or linked into something whose
// OrtGetApiBase is visible to everybody. nullopt = none.
[[nodiscard]] std::optional<std::filesystem::path> mapped_runtime();

// Where the system keeps libraries: LD_LIBRARY_PATH, then the folders of a Debian-like system.
[[nodiscard]] std::vector<std::filesystem::path> system_library_directories();

// A loaded library's OrtGetApiBase. Not loadable, or not ORT: ep_unavailable, with the loader's words. `library` may be
// a bare name, for the loader to search. Whoever keeps it never closes it: EPs hold addresses in it.
struct LoadedRuntime {
  std::filesystem::path library;  // where it came from, links resolved
  void* get_api_base = nullptr;   // the function of that name
  void* handle = nullptr;         // null = linked into the program
};
[[nodiscard]] Result<LoadedRuntime> load_runtime_library(const std::filesystem::path& library, bool already_mapped);
void unload_runtime_library(const LoadedRuntime& runtime);

// The file that holds the code at `address`, links resolved; empty if nobody knows.
[[nodiscard]] std::filesystem::path library_of(const void* address);

// `path` without links, or as it is if the system does not say.
[[nodiscard]] std::filesystem::path without_links(const std::filesystem::path& path);

}  // namespace precast::ort
