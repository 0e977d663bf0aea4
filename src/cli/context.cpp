#include "cli/context.hpp"

#include <cstdio>

#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::cli {

Context::Context(Output& out, GlobalOptions& opts, util::CancelToken& token)
    : output(out), options(opts), cancel(token) {}

Context::~Context() = default;

Result<ort::DiscoveryOptions> Context::discovery_options() const {
  ort::DiscoveryOptions discovery = ort::discovery_options_from_environment();
  discovery.only = only_ep_;
  for (const std::string& text : options.ep_libraries) {
    PRECAST_TRY_ASSIGN(auto pair, parse_pair(text, "--ep-library"));
    discovery.explicit_libraries.emplace_back(std::move(pair.first), std::move(pair.second));
  }
  return discovery;
}

Result<ort::Catalog*> Context::catalog() {
  const std::lock_guard guard(mutex_);
  if (catalog_) return catalog_.get();
  util::Stopwatch watch;
  PRECAST_TRY_ASSIGN(const auto discovery, discovery_options());
  PRECAST_TRY_ASSIGN(
      auto runtime,
      ort::Runtime::load({.library = options.ort_library, .executable_directory = {}, .assume_cpu_vendor = {}}));
  const bool everything = options.verbosity > 0;
  // ORT says the same of each session that it opens; once is enough.
  (void)runtime->add_log_sink([this, everything, last = std::string()](const ort::LogLine& line) mutable {
    if (!everything && (line.severity < ORT_LOGGING_LEVEL_ERROR || line.message == last)) return;
    output.note("ort: " + util::escape_invalid_utf8(line.message));
    last = line.message;
  });
  PRECAST_TRY_ASSIGN(auto found, ort::discover_eps(file_system(), discovery));
  catalog_ = std::make_unique<ort::Catalog>(std::move(runtime), std::move(found));
  runtime_load_ms_ = watch.elapsed_ms();
  return catalog_.get();
}

Result<store::Store*> Context::store(bool create) {
  const std::lock_guard guard(mutex_);
  if (store_) return store_.get();
  store::StoreOptions opening;
  opening.root = store::default_root(options.cache_dir);
  opening.allow_network = options.allow_network_store;
  opening.keep = options.keep;
  opening.create = create;
  opening.cancel = &cancel;
  opening.verify = options.verify == "always" ? store::VerifyMode::always : store::VerifyMode::automatic;
  PRECAST_TRY_ASSIGN(store_, store::Store::open(file_system(), opening));
  return store_.get();
}

Result<compile::Resolver*> Context::resolver(bool use_store) {
  std::string problem;
  store::Store* usable = nullptr;
  if (use_store) {
    const auto opened = store();
    if (opened) {
      usable = *opened;
    } else {
      const Error& error = opened.error();
      if (options.strict) return std::unexpected(Error{ErrorCode::busy, error.message, error.path, error.hint});
      problem = error.message;
      output.warn("running without the cache: " + problem + (error.hint.empty() ? "" : "; " + error.hint));
    }
  }
  const std::lock_guard guard(mutex_);
  if (!resolver_) {
    resolver_ = std::make_unique<compile::Resolver>(compile::Services{.file_system = file_system(),
                                                                      .catalog = [this] { return catalog(); },
                                                                      .store = usable,
                                                                      .store_problem = problem,
                                                                      .worker = {},
                                                                      .cancel = &cancel,
                                                                      .allow_telemetry = options.allow_telemetry});
  }
  return resolver_.get();
}

}  // namespace precast::cli
