// From a bundle to a folder that genai loads: its stages' models compiled through the compile cache, its configuration
// as the route says.
//
//   open_bundle     read and route it; no library is loaded
//   find_eps        register the EPs that the route needs, and check its options
//   prepare_bundle  compile what can be compiled, and put the folder together
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compile/resolver.hpp"
#include "genai/derived_bundle.hpp"
#include "genai/route.hpp"
#include "precast/bundle_stage.hpp"

namespace precast::genai {

struct PrepareOptions {
  std::string ep;      // see RouteRequest
  std::string device;  // likewise
  bool compile = false;
  // Of every stage's compile: its model, target and session entries are filled in. --rebuild, --no-cache, ... reach
  // every stage with it.
  compile::Request request;
  unsigned jobs = 0;                 // stages compiled at once; 0 = as many as cores (compile slots bound it further)
  bool forbid_cpu_fallback = false;  // perf, --strict: a node of a stage with an EP that falls to the CPU is an error
  bool require_compiled = false;     // --strict: a stage that fails to compile is an error
  bool require_effect = false;       // see RouteRequest
};

using precast::StageOutcome;

struct PreparedStage {
  std::string name;
  std::string ep;  // canonical; empty = CPU
  StageOutcome outcome = StageOutcome::original;
  std::string reason;
  std::optional<compile::Resolution> resolution;  // of a stage that names an EP, with --compile; holds its lease
  bool on_cpu = false;                            // its EP crashed or hung on it, so the original runs on the CPU
  std::string file;                               // its model in the folder that genai loads
  // Nodes by EP, of a compiled stage; of others once they are loaded, if ORT says. Empty = not known.
  std::map<std::string, std::uint64_t> nodes;

  // By precast, now or before; not by whoever made the bundle.
  [[nodiscard]] bool compiled() const { return outcome == StageOutcome::compiled || outcome == StageOutcome::hit; }
};

struct OpenedBundle {
  Bundle bundle;
  Route route;
};
// Errors: those of read_bundle and route_bundle; bad_input where a stage that is compiled for one EP should run on
// another.
[[nodiscard]] Result<OpenedBundle> open_bundle(fs::FileSystem& fs, const std::filesystem::path& path,
                                               const PrepareOptions& options);

// QNN's stages get the name of their backend where none is given. ep_unavailable: an EP of the route is not here,
// cannot be registered, or has no device here. The route's effective device is then the one that the stages got.
[[nodiscard]] Result<void> find_eps(fs::FileSystem& fs, ort::Catalog& catalog, OpenedBundle& opened);

struct PreparedBundle {
  std::filesystem::path folder;  // what genai loads: the original, a derived bundle in the store, or a private view
  bool is_original = false;
  std::vector<PreparedStage> stages;   // as in the bundle
  std::optional<BundleRecipe> recipe;  // where a stage is compiled: what it is put together from
  std::optional<DerivedBundle> derived;
  std::shared_ptr<compile::WorkFolder> view;
  Route route;  // with what did not work out taken back
  std::vector<std::string> warnings;

  [[nodiscard]] bool any_compiled() const;
};

// bad_input where the cache's root lies in the bundle (its folder, or the configuration in it): it would become a part
// of what it stores. To be asked before the store is made, too.
[[nodiscard]] Result<void> check_store_place(const std::filesystem::path& root, const std::filesystem::path& bundle);

// Called when a stage's compile reaches something, and with null when it is done; from several threads. An empty name
// is the bundle itself, which is being loaded.
using StageObserver = std::function<void(const std::string& stage, const compile::Progress*)>;

// What an attempt that did not load is followed by.
struct EarlierAttempt {
  std::set<std::string> on_cpu;                   // stages whose originals do not load on their EP
  std::map<std::string, std::string> not_loaded;  // stages whose compiled models do not load, and why
  std::vector<PreparedStage> stages;              // as they were prepared: none is compiled again
};

// Errors: bad input, an EP that is not there, cancellation,
// and with `require_compiled` whatever a stage failed of. All name the stage.
[[nodiscard]] Result<PreparedBundle> prepare_bundle(compile::Resolver& resolver, const OpenedBundle& opened,
                                                    const PrepareOptions& options, const StageObserver& observer = {},
                                                    EarlierAttempt earlier = {});

}  // namespace precast::genai
