// Where EP libraries are found, in this order: --ep-library (explicit), PRECAST_EP_PATH (directory), the checkout's
// .deps (bundled), site-packages of $VIRTUAL_ENV / $CONDA_PREFIX (pypi; no process is started), the system (system),
// and what is built into ORT (built_in). Nothing is loaded here. No ORT header.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "fs/file_system.hpp"
#include "ort/ep_table.hpp"
#include "precast/error.hpp"

namespace precast::ort {

struct FoundEp {
  std::string name;               // canonical name, or the name given for an unknown EP
  std::string source;             // "explicit", "directory", "bundled", "pypi", "system", "built_in"
  std::filesystem::path library;  // absolute; empty for built_in
  const EpSpec* spec = nullptr;   // null = an EP that the table does not know
};

struct DiscoveryOptions {
  std::vector<std::pair<std::string, std::filesystem::path>> explicit_libraries;  // NAME=PATH, as given
  std::filesystem::path ep_directory;                                             // PRECAST_EP_PATH
  std::filesystem::path executable_directory;  // for .deps of a checkout (build/bin -> ../../.deps) and installed EPs
  std::filesystem::path virtual_env;           // $VIRTUAL_ENV
  std::filesystem::path conda_prefix;          // $CONDA_PREFIX
  // A few system calls instead of a walk: only this EP is looked for (name, alias, name@source; "" or "auto" = all).
  // Explicit libraries and the built-in CPU EP are always in the result.
  std::string only;
  std::vector<std::filesystem::path> system_directories = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                                           "/usr/lib/onnxruntime", "/usr/local/lib"};
};

// Filled from the environment and /proc/self/exe; explicit_libraries left empty.
[[nodiscard]] DiscoveryOptions discovery_options_from_environment();

// <prefix>/lib/python3*/site-packages of a virtual environment; none for an empty prefix. No process is started.
[[nodiscard]] std::vector<std::filesystem::path> site_packages(fs::FileSystem& fs, const std::filesystem::path& prefix);

// Every EP once per source, in search order; the first of a name is the default. An explicit library that does not
// exist is not_found naming it and the option; so is an ep_directory that is none. Unknown names may consist of ASCII
// letters, digits, '.', '_' and '-' (they become file names). Relative paths are made absolute.
[[nodiscard]] Result<std::vector<FoundEp>> discover_eps(fs::FileSystem& fs, const DiscoveryOptions& options);

// "openvino", "OpenVINOExecutionProvider", "openvino@pypi": picks from `found`. Unknown name: bad_input with the list
// of valid ones; known but absent: ep_unavailable with what to install.
struct EpReference {
  std::string name;    // canonical or as given
  std::string source;  // empty = any
};
[[nodiscard]] EpReference parse_ep_reference(std::string_view text);
[[nodiscard]] Result<const FoundEp*> select_ep(const std::vector<FoundEp>& found, const EpReference& reference);

}  // namespace precast::ort
