// The options that every command takes, and how they become services. The command line wins over PRECAST_* variables.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "precast/error.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace precast::cli {

struct GlobalOptions {
  std::string cache_dir;
  std::string ort_library;
  std::string genai_library;
  std::vector<std::string> ep_libraries;  // NAME=PATH
  std::vector<std::string> ep_extra_files;
  bool json = false;
  bool quiet = false;
  int verbosity = 0;
  bool no_color = false;
  bool strict = false;
  bool strict_options = false;
  std::string verify = "auto";
  bool allow_network_store = false;
  bool allow_telemetry = false;
  std::uint32_t keep = 4;
  std::string retry_failed_after = "1d";
};

void add_global_options(CLI::App& app, GlobalOptions& options);

// "NAME=PATH" -> {NAME, PATH}; bad_input naming `option` otherwise.
[[nodiscard]] Result<std::pair<std::string, std::string>> parse_pair(const std::string& text,
                                                                     const std::string& option);

}  // namespace precast::cli
