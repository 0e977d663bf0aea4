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
class Option;
}  // namespace CLI

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

// The PRECAST_* variables of options that the command line did not give. CLI11 would look at them while it parses, and
// a wrong one would make even --help fail and be blamed on the option: constructed before the parse it hides them;
// apply() takes them afterwards, and its error names the variable.
class EnvironmentOptions {
 public:
  explicit EnvironmentOptions(CLI::App& app);
  ~EnvironmentOptions();  // they are there again, for whatever is started
  EnvironmentOptions(const EnvironmentOptions&) = delete;
  EnvironmentOptions& operator=(const EnvironmentOptions&) = delete;
  [[nodiscard]] Result<void> apply();

 private:
  struct Hidden {
    CLI::Option* option;
    std::string name;
    std::string value;
  };
  std::vector<Hidden> hidden_;
};

// "NAME=PATH" -> {NAME, PATH}; bad_input naming `option` otherwise.
[[nodiscard]] Result<std::pair<std::string, std::string>> parse_pair(const std::string& text,
                                                                     const std::string& option);

}  // namespace precast::cli
