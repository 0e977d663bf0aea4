// Resolver::after_refusal: a stored model that ORT does not open.
#include "compile/compile_job.hpp"
#include "compile/miss.hpp"
#include "compile/resolver.hpp"
#include "identity/links.hpp"
#include "util/text.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::compile {

namespace {

// Whether the bytes are the stored ones, all of them read again.
Result<bool> is_intact(store::Store& store, const Resolution& refused) {
  const std::filesystem::path folder = refused.path.parent_path();
  std::vector<std::filesystem::path> paths;
  paths.reserve(refused.artifacts.size());
  for (const store::Artifact& artifact : refused.artifacts) paths.push_back(folder / artifact.path);
  const auto evidence = store.memo().digest_afresh(paths, "generation:" + refused.generation);
  if (!evidence && evidence.error().code == ErrorCode::cancelled) return std::unexpected(evidence.error());
  if (!evidence) return false;
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

// Nobody is served it any more; its files go when its last lease ends. A failure to take it away is no reason not to
// run the model.
void withdraw(store::Store& store, const Resolution& refused, const fs::Lock::WaitOptions& wait,
              const std::optional<store::FailedRecord>& record) {
  const auto lock = store.lock_key(refused.key, wait);
  if (!lock) return;
  (void)store.remove_marker(refused.key, refused.generation);
  if (!record) return;
  const auto current = store.look_up(refused.key);
  if (current && !current->hit) (void)store.write_failed(*record);  // else somebody made it anew already
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
  PRECAST_TRY_ASSIGN(const bool intact, is_intact(*store, refused));
  if (intact) {
    const identity::Settings settings = make_settings(request, *catalog, refused.target);
    PRECAST_TRY_ASSIGN(auto work, store->begin_work());
    const WorkFolder folder(std::move(work));
    const auto opens = opens_in_worker({services_, request, settings, model, folder, {}}, refused.path);
    if (!opens && opens.error().code == ErrorCode::cancelled) return std::unexpected(opens.error());
    if (!opens || *opens) return std::unexpected(why);
  }
  fs::Lock::WaitOptions wait;
  wait.timeout = request.lock_timeout;
  wait.cancel = services_.cancel;
  if (!earlier) {
    withdraw(*store, refused, wait, std::nullopt);
    refused.lease.release();
    PRECAST_TRY_ASSIGN(Resolution anew, resolve(request, observer));
    if (anew.outcome == Outcome::compiled) {
      anew.reason = (intact ? "ORT refused the stored model: " : "the stored model was damaged: ") + why.message;
    }
    return anew;
  }
  const Error error = both(why, *earlier, model);
  store::FailedRecord record;
  record.key = refused.key;
  record.kind = "refused";
  record.reason = error.message;
  record.time = util::format_rfc3339(util::Clock::system().now());
  withdraw(*store, refused, wait, record);
  Resolution source = answer_with_source(std::move(refused), Outcome::failed, model, error);
  if (request.memory) source.path.clear();
  return source;
}

}  // namespace precast::compile
