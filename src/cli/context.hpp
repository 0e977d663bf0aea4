// What a command works with: output, options, and services that come to life when they are first needed, so that
// `precast --help` loads nothing.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cli/globals.hpp"
#include "cli/output.hpp"
#include "compile/resolver.hpp"
#include "ort/catalog.hpp"
#include "store/store.hpp"
#include "util/cancel.hpp"
#include "util/time.hpp"

namespace precast::cli {

class Context {
 public:
  Context(Output& output, GlobalOptions& options, util::CancelToken& cancel);
  ~Context();

  Output& output;
  GlobalOptions& options;
  util::CancelToken& cancel;
  bool telemetry_was_set = false;  // by the user, before precast did

  [[nodiscard]] fs::FileSystem& file_system() { return fs::FileSystem::posix(); }
  // ORT and the EPs found; loaded once. Thread-safe.
  [[nodiscard]] Result<ort::Catalog*> catalog();
  // Before catalog(): only this EP will be asked for ("" or "auto" = any), so the others are not searched for.
  void look_only_for(std::string ep) { only_ep_ = std::move(ep); }
  [[nodiscard]] double runtime_load_ms() const { return runtime_load_ms_.load(); }
  // The store, or why it cannot work. Who only looks at it does not `create` it: not_found.
  [[nodiscard]] Result<store::Store*> store(bool create = true);
  // Warns when the store cannot work (an error under --strict). Without `use_store` (--no-cache) it is not opened.
  [[nodiscard]] Result<compile::Resolver*> resolver(bool use_store);
  [[nodiscard]] Result<ort::DiscoveryOptions> discovery_options() const;
  // Keeps something alive until the process ends, undestroyed: an EP that crashes while unloading cannot change an exit
  // code.
  void keep_until_exit(std::shared_ptr<void> thing) { kept_.push_back(std::move(thing)); }
  [[nodiscard]] double elapsed_ms() const { return since_start_.elapsed_ms(); }

 private:
  util::Stopwatch since_start_;
  std::mutex mutex_;
  std::unique_ptr<ort::Catalog> catalog_;
  std::string only_ep_;
  std::atomic<double> runtime_load_ms_ = 0;  // read by the threads of several models, while one of them loads
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<compile::Resolver> resolver_;
  std::vector<std::shared_ptr<void>> kept_;
};

}  // namespace precast::cli
