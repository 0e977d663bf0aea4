#include "session/prepared_session.hpp"

#include "compile/cache_options.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::session {

namespace {

Result<ort::OpenedSession> open_native(ort::Catalog& catalog, const compile::Resolution& resolution,
                                       const ort::SessionSettings& settings,
                                       const std::optional<compile::MemoryModel>& memory,
                                       bool want_node_counts = false) {
  ort::Target target = resolution.target;
  target.provider_options = compile::drop_cache_options(target.ep.found.spec, target.provider_options);
  ort::SessionSettings opening = settings;
  opening.optimization_level.reset();  // it was the compile's; a session uses ORT's default
  ort::OpenCall call;
  call.model = resolution.path;
  call.compiled = resolution.compiled_model();
  call.want_node_counts = want_node_counts;
  if (memory && resolution.path.empty()) {
    call.model = "(model in memory)";
    call.bytes = memory->bytes;
    call.external_folder = memory->external_folder;
    call.compiled = false;
  }
  return ort::open_session(catalog, target, opening, call);
}

}  // namespace

Result<void> PreparedSession::reopen(ort::Catalog& catalog, const ort::SessionSettings& settings) {
  opened_ = {};
  util::Stopwatch watch;
  PRECAST_TRY_ASSIGN(opened_, open_native(catalog, resolution_, settings, memory_));
  open_ms_ = watch.elapsed_ms();
  return {};
}

Result<PreparedSession> PreparedSession::open(compile::Resolver& resolver, const compile::Request& request,
                                              compile::Resolution resolution, const compile::Observer& observer,
                                              bool want_node_counts) {
  PRECAST_TRY_ASSIGN(ort::Catalog* const catalog, resolver.services().catalog());
  std::optional<Error> earlier;
  for (;;) {
    PreparedSession session;
    util::Stopwatch watch;
    auto opened = open_native(*catalog, resolution, request.session, request.memory, want_node_counts);
    if (opened) {
      session.opened_ = std::move(*opened);
      session.memory_ = request.memory;
      session.open_ms_ = watch.elapsed_ms();
      session.resolution_ = std::move(resolution);
      return session;
    }
    // A stored model is refused twice at most, and the source model is not stored: this ends.
    PRECAST_TRY_ASSIGN(resolution,
                       resolver.after_refusal(request, std::move(resolution), opened.error(), earlier, observer));
    earlier = opened.error();
  }
}

}  // namespace precast::session
