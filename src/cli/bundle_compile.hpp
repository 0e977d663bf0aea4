// precast compile BUNDLE
#pragma once

#include <string>
#include <vector>

#include "cli/compile_options.hpp"
#include "cli/publishing.hpp"
#include "genai/bundle.hpp"

namespace precast::cli {

struct BundleCompile {
  const std::vector<std::string>& paths;  // of the command line
  const CompileOptions& compile;
  const PublishOptions& publish;
  unsigned jobs = 0;
  bool share_weights = false;
  bool timeout_given = false;  // else a stage has 300 s
};

// All stages that name an EP, and with -o the bundle that they make. Returns the exit code.
[[nodiscard]] int compile_bundle(Context& context, const BundleCompile& command);

}  // namespace precast::cli
