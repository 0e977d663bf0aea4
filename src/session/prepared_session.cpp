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

constexpr const char* kForbidsCpu = "session.disable_cpu_ep_fallback";

bool may_run_on_cpu(const compile::Resolution& resolution, const compile::Request& request) {
  const auto forbids = request.session.config_entries.find(kForbidsCpu);
  return !request.forbid_cpu_instead && !resolution.compiled_model() && !resolution.target.ep.found.library.empty() &&
         (forbids == request.session.config_entries.end() || forbids->second != "1");
}

void put_on_cpu(compile::Resolution& resolution, const std::string& why) {
  if (!resolution.reason.empty()) resolution.reason += "; ";
  resolution.reason += "it runs on ONNX Runtime's CPU EP, since " + why;
  resolution.target = ort::cpu_target();
}

// Of a source that its EP cannot open: on the CPU EP, which changes `resolution`'s target.
Result<ort::OpenedSession> open_somewhere(ort::Catalog& catalog, compile::Resolution& resolution,
                                          const compile::Request& request, bool want_node_counts) {
  const auto open = [&] { return open_native(catalog, resolution, request.session, request.memory, want_node_counts); };
  const std::string ep = resolution.target.ep.found.name;
  if (resolution.unsafe_to_open && may_run_on_cpu(resolution, request)) {
    put_on_cpu(resolution, ep + " crashed or hung on it");
  } else if (resolution.unsafe_to_open && request.forbid_cpu_instead) {
    Error error = resolution.error.value_or(
        Error{ErrorCode::compile_failed, resolution.reason, request.model, "give another --ep, or --retry-failed"});
    error.message = ep + " crashed or hung when it compiled the model, which is not opened here: " + error.message;
    return std::unexpected(std::move(error));
  }
  auto opened = open();
  if (opened || opened.error().code != ErrorCode::compile_failed || !may_run_on_cpu(resolution, request)) return opened;
  put_on_cpu(resolution, opened.error().message);
  return open();
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
    auto opened = open_somewhere(*catalog, resolution, request, want_node_counts);
    if (opened) {
      session.opened_ = std::move(*opened);
      session.provider_nodes_ = session.opened_.provider_nodes;
      session.complaint_ = session.opened_.complaint;
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
