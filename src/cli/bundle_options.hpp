// The options that commands on bundles share, and what they make of a bundle.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "cli/context.hpp"
#include "cli/progress.hpp"
#include "genai/session.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace precast::cli {

struct BundleOptions {
  std::string bundle;
  std::string ep;
  std::string device = "config";
  bool compile = false;
  bool embed = false;
  std::string compile_timeout = "300s";
  std::string lock_timeout;
  bool rebuild = false;
  bool no_cache = false;
  bool retry_failed = false;
  unsigned jobs = 0;
  std::int64_t context_length = 0;  // 0 = the bundle's own
};

// With the positional argument BUNDLE.
void add_bundle_options(CLI::App& command, BundleOptions& options);
// Without it.
void add_bundle_load_options(CLI::App& command, BundleOptions& options);
[[nodiscard]] Result<genai::LoadOptions> make_load_options(const BundleOptions& options, const GlobalOptions& globals);

// The lines for people of stages that are compiled side by side.
class StageProgress {
 public:
  StageProgress(Output& output, std::string bundle) : output_(output), bundle_(std::move(bundle)) {}
  [[nodiscard]] genai::StageObserver observer();

 private:
  void update(const std::string& stage, const compile::Progress* progress);
  Output& output_;
  std::string bundle_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<ProgressReporter>> reporters_;
};

// The session of `options`, loaded; it says what its stages came to and warns. Under --strict a stage that is not
// compiled although it should be is an error. `as_asked`: so is a node that falls to the CPU, and an EP or device that
// was asked for and has no effect.
[[nodiscard]] Result<std::shared_ptr<genai::Session>> load_session(Context& context, const BundleOptions& options,
                                                                   bool as_asked = false);

// "stage 'context': compiled for QNNExecutionProvider, 1.2 s (no entry for this identity)"
[[nodiscard]] std::string stage_sentence(const genai::PreparedStage& stage);
void say_stages(Context& context, const genai::PreparedBundle& prepared);
// [{"name", "outcome", "reason", "key", "ep", "nodes"}]
[[nodiscard]] nlohmann::json stages_json(const genai::PreparedBundle& prepared);
// "ep", "device" and "running_path": what takes effect.
void add_route_json(nlohmann::json& document, const genai::PreparedBundle& prepared);

}  // namespace precast::cli
