// onnxruntime-genai, found and loaded at run time when it is first needed: --genai-library, then PRECAST_GENAI_LIBRARY,
// beside the executable, the checkout's .deps, the site-packages of $VIRTUAL_ENV and $CONDA_PREFIX, the system.
//
// genai looks for ONNX Runtime itself, by its SONAME, while it is loaded, and ends the process when it finds none: so
// it is loaded only into a process in which precast has loaded ORT, and only if genai is going to find just that one.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "fs/file_system.hpp"
#include "genai/api.hpp"
#include "ort/runtime.hpp"

namespace precast::genai {

struct LibraryOptions {
  std::filesystem::path library;               // --genai-library or PRECAST_GENAI_LIBRARY; empty = search
  std::filesystem::path executable_directory;  // where to look beside; empty = /proc/self/exe's
};

struct LibraryLocation {
  std::filesystem::path library;  // absolute
  std::string source;             // "option", "environment", "beside", "bundled", "pypi", "system"
  std::string version;            // of the package that it lies in; empty = not known
};

// Without loading anything. A named one that is missing: not_found; none found: ep_unavailable, with how to install it.
[[nodiscard]] Result<LibraryLocation> find_library(fs::FileSystem& fs, const LibraryOptions& options);

class Library {
 public:
  // One per process, never unloaded (EPs and ORT hold addresses in it). Naming another one than is loaded is bad_input.
  // Present but not usable (a symbol is missing, or it would find another ORT): ep_unavailable with the reason.
  // Thread-safe. A failure is not remembered.
  [[nodiscard]] static Result<std::shared_ptr<const Library>> load(fs::FileSystem& fs, ort::Runtime& runtime,
                                                                   const LibraryOptions& options);
  [[nodiscard]] const Api& api() const { return api_; }
  [[nodiscard]] const LibraryLocation& location() const { return location_; }

 private:
  friend struct LibraryLoader;
  Library() = default;
  Api api_;
  LibraryLocation location_;
};

}  // namespace precast::genai
