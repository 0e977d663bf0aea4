// The options that `compile` and `resolve` share, and the request that they make.
#pragma once

#include <string>
#include <vector>

#include "cli/context.hpp"
#include "compile/resolution.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace precast::cli {

struct CompileOptions {
  std::string ep = "auto";
  std::string device = "auto";
  std::vector<std::string> ep_options;
  std::vector<std::string> session_options;
  std::vector<std::string> ep_option_files;
  std::vector<std::string> worker_env;
  bool embed = false;
  bool validate = false;
  std::vector<std::string> free_dimensions;
  std::string optimization_level;
  std::string compile_timeout = "30m";
  std::string lock_timeout;
  bool rebuild = false;
  bool no_cache = false;
  bool retry_failed = false;
};

void add_compile_options(CLI::App& command, CompileOptions& options);
// Those of them that a bundle's stages have in the bundle's own configuration instead: options of the EP and of ORT's
// session, and what is done with a single model.
void add_model_options(CLI::App& command, CompileOptions& options);
// Everything but the model's path.
[[nodiscard]] Result<compile::Request> make_request(const CompileOptions& options, const GlobalOptions& globals);

}  // namespace precast::cli
