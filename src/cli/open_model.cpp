#include "cli/open_model.hpp"

#include "cli/progress.hpp"
#include "cli/result_json.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::cli {

namespace {

bool is_compiled(const compile::Resolution& resolution) {
  return resolution.compiled_model() || resolution.outcome == compile::Outcome::nothing_to_compile;
}

// Where there is no compiled model the source runs, with one warning; --strict makes that an error.
Result<void> check_compiled(Context& context, const compile::Resolution& resolution) {
  if (is_compiled(resolution) || !context.options.strict) return {};
  return std::unexpected(
      resolution.error.value_or(Error{ErrorCode::compile_failed, resolution.reason, resolution.path, {}}));
}

void warn_of_source(Context& context, const compile::Resolution& resolution, bool on_another_ep) {
  if (is_compiled(resolution) && !on_another_ep) return;
  const std::string hint = resolution.error ? resolution.error->hint : std::string();
  context.output.warn("the source model runs: " + resolution.reason + (hint.empty() ? "" : "; " + hint));
}

}  // namespace

Result<session::PreparedSession> open_model(Context& context, compile::Resolver& resolver,
                                            const compile::Request& request, bool compile) {
  ProgressReporter progress(context.output, util::quoted(request.model));
  PRECAST_TRY_ASSIGN(auto resolution, compile ? resolver.resolve(request, progress.observer())
                                              : resolver.original(request, progress.observer()));
  if (context.options.verbosity > 0) context.output.note(details(resolution));
  if (compile) PRECAST_TRY(check_compiled(context, resolution));
  const std::string ep = resolution.target.ep.found.name;
  progress.update({.stage = compile::Stage::opening, .estimate_seconds = std::nullopt, .holder = std::nullopt});
  PRECAST_TRY_ASSIGN(auto session, session::PreparedSession::open(resolver, request, std::move(resolution),
                                                                  progress.observer(), true));
  if (!compile) return session;
  PRECAST_TRY(check_compiled(context, session.resolution()));
  warn_of_source(context, session.resolution(), session.resolution().target.ep.found.name != ep);
  return session;
}

}  // namespace precast::cli
