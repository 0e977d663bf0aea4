// compile -o / --output-dir: what was compiled or hit, as files for the user.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/context.hpp"
#include "compile/resolution.hpp"

namespace precast::cli {

struct PublishOptions {
  std::string output;      // -o
  std::string output_dir;  // --output-dir
  bool overwrite = false;
  std::string binary_stem;          // of models that share binaries
  std::vector<std::string> models;  // all of the command: none is ever replaced
  [[nodiscard]] bool wanted() const { return !output.empty() || !output_dir.empty(); }
};

void add_publish_options(CLI::App& command, PublishOptions& options);

// bad_input: one output for several models, or two models whose outputs would have one name.
[[nodiscard]] Result<void> check_publish_options(const PublishOptions& options, const std::vector<std::string>& models);

// What publishing would refuse of -o, before the compile that would be in vain.
[[nodiscard]] Result<void> check_output(Context& context, const PublishOptions& options,
                                        const compile::Request& request);

// The published .onnx, from exactly the generation of `resolution`, whose lease it holds. nullopt: there is no compiled
// model to publish, and why stands in the resolution. A model that was compiled before is unsupported: it is the user's
// own file already.
[[nodiscard]] Result<std::optional<std::filesystem::path>> publish_resolution(Context& context,
                                                                              const PublishOptions& options,
                                                                              const compile::Request& request,
                                                                              const compile::Resolution& resolution);

}  // namespace precast::cli
