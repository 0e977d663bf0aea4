#include "session/prepared_session.hpp"

#include "compile/cache_options.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::session {

Result<PreparedSession> PreparedSession::open(ort::Catalog& catalog, compile::Resolution resolution,
                                              const ort::SessionSettings& settings) {
  PreparedSession session;
  session.resolution_ = std::move(resolution);
  ort::Target target = session.resolution_.target;
  target.provider_options = compile::drop_cache_options(target.ep.found.spec, target.provider_options);
  ort::SessionSettings opening = settings;
  opening.optimization_level.reset();  // it was the compile's; a session uses ORT's default
  util::Stopwatch watch;
  PRECAST_TRY_ASSIGN(session.opened_, ort::open_session(catalog, target, opening,
                                                        {.model = session.resolution_.path,
                                                         .compiled = session.resolution_.compiled_model(),
                                                         .want_node_counts = false,
                                                         .forbid_cpu_fallback = false}));
  session.open_ms_ = watch.elapsed_ms();
  return session;
}

}  // namespace precast::session
