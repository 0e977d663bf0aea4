// Resolver::after_refusal: a stored model that ORT does not open.
#include "compile/compile_job.hpp"
#include "compile/miss.hpp"
#include "compile/resolver.hpp"
#include "compile/withdrawal.hpp"
#include "identity/links.hpp"
#include "util/text.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::compile {

namespace {

// Whether the bytes are the stored ones, all of them read again. An error: that could not be found out.
Result<bool> is_intact(store::Store& store, const Resolution& refused) {
  const std::filesystem::path folder = refused.path.parent_path();
  std::vector<std::filesystem::path> paths;
  paths.reserve(refused.artifacts.size());
  for (const store::Artifact& artifact : refused.artifacts) paths.push_back(folder / artifact.path);
  const auto evidence = store.memo().digest_afresh(paths, "generation:" + refused.generation);
  if (!evidence) {
    const ErrorCode code = evidence.error().code;
    if (code == ErrorCode::not_found || code == ErrorCode::corrupt || code == ErrorCode::bad_input) return false;
    return std::unexpected(evidence.error());
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if ((*evidence)[i].sha256 != refused.artifacts[i].sha256) return false;
  }
  return true;
}

Error both(const Error& why, const Error& earlier, const std::filesystem::path& model) {
  return {ErrorCode::compile_failed,
          "ORT refuses the compiled model of " + util::quoted(model) + ", also made anew: " + why.message +
              " (before: " + earlier.message + ")",
          model, "a defect of the EP, probably; try again now with --retry-failed"};
}

// Whether the refusal is the stored generation's fault. When that cannot be found out, it is not: a good entry must not
// be destroyed by what has nothing to do with it.
Result<bool> is_at_fault(const Services& services, const Request& request, ort::Catalog& catalog,
                         const Resolution& refused, const std::filesystem::path& model) {
  store::Store& store = *services.store;
  PRECAST_TRY_ASSIGN(const bool intact, is_intact(store, refused));
  if (!intact) return true;
  const identity::Settings settings = make_settings(request, catalog, refused.target);
  PRECAST_TRY_ASSIGN(auto work, store.begin_work());
  const WorkFolder folder(std::move(work));
  PRECAST_TRY_ASSIGN(const bool opens, opens_alone({services, request, settings, model, folder, {}}, refused.path));
  return !opens;
}

}  // namespace

Result<Resolution> Resolver::after_refusal(const Request& request, Resolution refused, const Error& why,
                                           const std::optional<Error>& earlier, const Observer& observer) {
  store::Store* const store = services_.store;
  const bool stored = store != nullptr && !refused.private_generation && !refused.generation.empty();
  if (!stored) return std::unexpected(why);
  const std::filesystem::path model = identity::logical_absolute(request.model);
  PRECAST_TRY_ASSIGN(ort::Catalog* const catalog, services_.catalog());
  if (observer) observer({.stage = Stage::checking, .estimate_seconds = std::nullopt, .holder = std::nullopt});
  const auto at_fault = is_at_fault(services_, request, *catalog, refused, model);
  if (!at_fault && at_fault.error().code == ErrorCode::cancelled) return std::unexpected(at_fault.error());
  if (!at_fault || !*at_fault) return std::unexpected(why);
  const std::string refusal = "the stored model was refused and is not used any more: " + why.message;
  const auto source_instead = [&](Outcome outcome, Error error) {
    Resolution source = answer_with_source(std::move(refused), outcome, model, std::move(error));
    if (request.memory) source.path.clear();
    return source;
  };
  fs::Lock::WaitOptions wait;
  wait.timeout = request.lock_timeout;
  wait.cancel = services_.cancel;
  if (!earlier) {
    const auto withdrawn = withdraw(*store, refused, wait, std::nullopt);
    if (!withdrawn && withdrawn.error().code == ErrorCode::cancelled) return std::unexpected(withdrawn.error());
    if (!withdrawn) return source_instead(Outcome::uncached, withdrawn.error());
    refused.lease.release();
    PRECAST_TRY_ASSIGN(Resolution anew, resolve(request, observer));
    anew.reason = refusal + (anew.reason.empty() ? "" : "; " + anew.reason);
    return anew;
  }
  const Error error = both(why, *earlier, model);
  store::FailedRecord record;
  record.key = refused.key;
  record.kind = "refused";
  record.reason = error.message;
  record.time = util::format_rfc3339(util::Clock::system().now());
  // What cannot be remembered is found again by the next one who tries.
  (void)withdraw(*store, refused, wait, record);
  return source_instead(Outcome::failed, error);
}

}  // namespace precast::compile
