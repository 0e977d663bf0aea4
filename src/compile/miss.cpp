#include "compile/miss.hpp"

#include <algorithm>

#include "compile/staging.hpp"
#include "compile/withdrawal.hpp"
#include "identity/hashing_digester.hpp"
#include "util/text.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::compile {

namespace {

constexpr int kAttempts = 3;

Error interrupted(const char* when, const std::filesystem::path& model) {
  return {ErrorCode::cancelled, std::string("interrupted ") + when + " " + util::quoted(model), model, {}};
}

}  // namespace

void fill_from_hit(Resolution& resolution, store::Hit hit) {
  resolution.generation = hit.marker.generation;
  resolution.artifacts = std::move(hit.marker.artifacts);
  resolution.path = std::move(hit.model);
  resolution.lease = std::move(hit.lease);
}

Resolution answer_with_source(Resolution resolution, Outcome outcome, const std::filesystem::path& model, Error error) {
  resolution.outcome = outcome;
  resolution.reason = error.message;
  resolution.path = model;
  resolution.generation.clear();
  resolution.artifacts.clear();
  resolution.error = std::move(error);
  return resolution;
}

void Miss::tell(Stage stage) {
  if (observer_) observer_({stage, estimate_, std::nullopt});
}

fs::Lock::WaitOptions Miss::wait_options(Stage stage) {
  fs::Lock::WaitOptions options;
  options.timeout = request_.lock_timeout;
  options.cancel = services_.cancel;
  options.on_wait = [this, stage](std::chrono::milliseconds, const std::optional<fs::LockHolder>& holder) {
    if (observer_) observer_({stage, estimate_, holder});
  };
  return options;
}

Result<Known> Miss::known_again(const Known& before) {
  Known known;
  known.settings = before.settings;
  PRECAST_TRY_ASSIGN(known.model, model_evidence(services_.file_system, digester_, request_, &before.model));
  PRECAST_TRY_ASSIGN(known.libraries, resolver_.library_evidence(digester_, known.settings));
  PRECAST_TRY_ASSIGN(known.identity, identity::make_identity(services_.file_system, digester_, known.settings,
                                                             known.model, known.libraries.files));
  if (known.libraries.replaced) known.identity.uncacheable = "a library was replaced since this process loaded it";
  return known;
}

Result<Resolution> Miss::run(Known known, Resolution resolution, const std::string& stale) {
  for (int i = 1; i <= kAttempts; ++i) {
    PRECAST_TRY_ASSIGN(auto done, attempt(known, resolution, stale, i == kAttempts));
    // Retention takes other keys' locks, so it waits until this key's is released.
    if (stored_) services_.store->retain(*stored_);
    if (done) return std::move(*done);
    if (!known.identity.uncacheable.empty()) break;
  }
  const std::string reason = known.identity.uncacheable.empty() ? "the inputs of the compile kept changing while it ran"
                                                                : known.identity.uncacheable;
  return answer_with_source(std::move(resolution), Outcome::uncached, known.model.model,
                            {ErrorCode::busy, reason + " (" + util::quoted(known.model.model) + ")", known.model.model,
                             "try again when nothing writes to it any more"});
}

Result<std::optional<Resolution>> Miss::attempt(Known& known, Resolution& resolution, const std::string& stale,
                                                bool last) {
  std::optional<WorkFolder> staged;
  std::filesystem::path staged_model;
  if (last) {
    // The source does not hold still: the identity is that of a private copy, which does.
    PRECAST_TRY_ASSIGN(auto work, services_.store->begin_work());
    staged.emplace(std::move(work));
    PRECAST_TRY_ASSIGN(staged_model, stage(known, *staged));
    identity::HashingDigester hashing(services_.file_system, services_.cancel);
    PRECAST_TRY_ASSIGN(auto copy, identity::take_model_evidence(services_.file_system, hashing, staged_model));
    copy.model = known.model.model;
    known.model = std::move(copy);
    PRECAST_TRY_ASSIGN(known.identity, identity::make_identity(services_.file_system, digester_, known.settings,
                                                               known.model, known.libraries.files));
  }
  estimate_ =
      services_.store->earlier_compile_seconds(known.identity.source_sha256, known.settings.target.ep.found.name);
  if (services_.cancel != nullptr && services_.cancel->cancelled()) {
    return std::unexpected(interrupted("before compiling", known.model.model));
  }
  util::Stopwatch watch;
  auto lock = services_.store->lock_key(known.identity.key, wait_options(Stage::waiting));
  resolution.timings.lock_wait += watch.lap_ms();
  if (!lock && lock.error().code == ErrorCode::cancelled) {
    return std::unexpected(interrupted("while waiting for another compile of", known.model.model));
  }
  if (!lock) {
    return answer_with_source(std::move(resolution), Outcome::uncached, known.model.model, lock.error());
  }
  lock->announce("compiling " + util::quoted(known.model.model) + " for " + known.settings.target.ep.found.name);
  if (!last) {
    PRECAST_TRY_ASSIGN(auto again, known_again(known));
    const bool same = again.identity.key == known.identity.key && again.identity.uncacheable.empty();
    known = std::move(again);
    if (!same) return std::optional<Resolution>();
  }
  return locked(known, resolution, stale, std::move(staged), staged_model);
}

Result<std::optional<Resolution>> Miss::locked(Known& known, Resolution& resolution, const std::string& stale,
                                               std::optional<WorkFolder> staged,
                                               const std::filesystem::path& staged_model) {
  resolution.key = known.identity.key;
  PRECAST_TRY_ASSIGN(auto winner, take_winner(known, resolution, stale));
  if (winner) return winner;
  PRECAST_TRY_ASSIGN(auto remembered, remembered_failure(known, resolution));
  if (remembered) return remembered;
  util::Stopwatch watch;
  auto slot = services_.store->acquire_compile_slot(wait_options(Stage::waiting_for_slot));
  resolution.timings.lock_wait += watch.lap_ms();
  if (!slot && slot.error().code == ErrorCode::cancelled) {
    return std::unexpected(interrupted("while waiting for a compile slot for", known.model.model));
  }
  if (!slot) return answer_with_source(std::move(resolution), Outcome::uncached, known.model.model, slot.error());

  const bool private_copy = staged.has_value();
  if (!staged) {
    auto work = services_.store->begin_work();
    if (!work) return answer_with_source(std::move(resolution), Outcome::uncached, known.model.model, work.error());
    staged.emplace(std::move(*work));
  }
  std::filesystem::path model = staged_model;
  if (model.empty()) {
    PRECAST_TRY_ASSIGN(model, model_for_worker(known, *staged));
  }
  const JobResult job =
      run_job({services_, request_, known.settings, model, *staged, [this](Stage s) { tell(s); }}, resolution.timings);
  if (job.end == JobEnd::cancelled) return std::unexpected(job.error);

  // Evidence after the compile must equal the evidence before, not only in digests: A -> B -> A is a change too.
  auto after = known_again(known);
  if (!after) return std::unexpected(after.error());
  const bool model_same = private_copy || after->model == known.model;
  const bool libraries_same = after->libraries.files == known.libraries.files && !after->libraries.replaced;
  if (!model_same || !libraries_same) {
    known = std::move(*after);
    return std::optional<Resolution>();
  }
  if (job.end != JobEnd::good) return failed(known, resolution, job, true);
  if (const auto difference = difference_in_worker(known, job)) {
    JobResult refused = job;
    refused.end = JobEnd::transient;
    refused.error = *difference;
    return failed(known, resolution, refused, false);
  }
  resolution.validation = job.validation;
  tell(Stage::storing);
  return keep(known, resolution, std::move(*staged), job);
}

Result<std::optional<Resolution>> Miss::take_winner(const Known& known, Resolution& resolution,
                                                    const std::string& stale) {
  if (request_.rebuild) return std::optional<Resolution>();
  util::Stopwatch watch;
  auto found = services_.store->look_up(known.identity.key);
  resolution.timings.lookup += watch.lap_ms();
  if (!found) return answer_with_source(std::move(resolution), Outcome::uncached, known.model.model, found.error());
  if (!found->hit || found->hit->marker.generation == stale) return std::optional<Resolution>();
  resolution.outcome = Outcome::hit;
  resolution.reason.clear();
  fill_from_hit(resolution, std::move(*found->hit));
  return std::move(resolution);
}

Result<std::optional<Resolution>> Miss::remembered_failure(const Known& known, Resolution& resolution) {
  if (request_.rebuild || request_.retry_failed) return std::optional<Resolution>();
  const auto record = services_.store->read_failed(known.identity.key);
  // A record that cannot be read is no reason not to compile.
  if (!record || !*record) return std::optional<Resolution>();
  const store::FailedRecord& failure = **record;
  const bool nothing = failure.kind == "nothing_to_compile";
  const auto when = util::parse_rfc3339(failure.time);
  const auto now = util::Clock::system().now();
  const bool old = !when || *when > now || now - *when > request_.retry_failed_after;
  const bool shorter =
      failure.deadline_ms &&
      request_.compile_timeout > std::chrono::milliseconds(static_cast<std::int64_t>(*failure.deadline_ms));
  const bool first_crash = failure.kind == "crashed" && failure.count < 2;
  if (!nothing && (old || shorter || first_crash)) return std::optional<Resolution>();
  Error error{nothing                       ? ErrorCode::unsupported
              : failure.kind == "timed_out" ? ErrorCode::timed_out
                                            : ErrorCode::compile_failed,
              failure.reason + " (remembered from " + failure.time + ")", known.model.model,
              nothing ? "" : "try again now with --retry-failed"};
  resolution.log_tail = failure.log_tail;
  resolution.unsafe_to_open = failure.kind == "crashed" || failure.kind == "timed_out";
  return answer_with_source(std::move(resolution), nothing ? Outcome::nothing_to_compile : Outcome::failed,
                            known.model.model, std::move(error));
}

Result<std::filesystem::path> Miss::model_for_worker(const Known& known, const WorkFolder& folder) {
  if (!known.model.through_links && !request_.memory) return known.model.model;
  return stage(known, folder);
}

Result<std::filesystem::path> Miss::stage(const Known& known, const WorkFolder& folder) {
  std::optional<std::string_view> bytes;
  if (request_.memory) bytes = request_.memory->bytes;
  return stage_source(services_.file_system, known.model.model, bytes, known.model.facts, folder.source_folder());
}

// The identity as the worker's eyes give it must be the identity; and what it mapped must be part of it.
std::optional<Error> Miss::difference_in_worker(const Known& known, const JobResult& job) {
  identity::Settings seen = known.settings;
  seen.ort_version = job.seen.ort_version;
  seen.ort_build = job.seen.ort_build;
  seen.target.ep.version = job.seen.ep_version;
  seen.target.ep.vendor = job.seen.ep_vendor;
  seen.target.device = job.seen.device;
  const auto identity =
      identity::make_identity(services_.file_system, digester_, seen, known.model, known.libraries.files);
  if (!identity) return identity.error();
  if (identity->key != known.identity.key) {
    std::string text = "the worker saw something else than precast";
    for (const std::string& line : identity::differences(known.identity.canonical, identity->canonical))
      text += "; " + line;
    return Error{ErrorCode::compile_failed, text, known.model.model, "an update in progress? try again"};
  }
  for (const MappedLibrary& library : job.libraries) {
    const bool known_library = std::ranges::any_of(
        known.libraries.files, [&](const identity::FileEvidence& file) { return file.stat.inode == library.inode; });
    if (known_library) continue;
    return Error{ErrorCode::compile_failed,
                 "the EP loaded " + util::quoted(library.path) + ", which is not part of the compile's identity",
                 library.path, "name it with --ep-extra-file"};
  }
  return std::nullopt;
}

Result<std::optional<Resolution>> Miss::keep(const Known& known, Resolution& resolution, WorkFolder folder,
                                             const JobResult& job) {
  store::Marker marker;
  marker.key = known.identity.key;
  marker.identity = known.identity.canonical;
  marker.compatibility = job.compatibility;
  marker.compile_seconds = resolution.timings.compile / 1000;
  marker.precast_version = PRECAST_VERSION;
  marker.model = util::escape_invalid_utf8(known.model.model.native());
  marker.ep = known.settings.target.ep.found.name;
  marker.device = std::string(ort::to_string(known.settings.target.device.device_class));
  marker.source_sha256 = known.identity.source_sha256;
  util::Stopwatch watch;
  auto committed = services_.store->commit(folder.take_store_work(), std::move(marker));
  resolution.timings.store += watch.lap_ms();
  if (!committed && committed.error().code == ErrorCode::cancelled) return std::unexpected(committed.error());
  if (!committed) {
    return answer_with_source(std::move(resolution), Outcome::uncached, known.model.model, committed.error());
  }
  resolution.timings.sync += committed->timings.sync_ms;
  const store::Marker stored = committed->hit.marker;
  if (committed->marker_error) {
    // Nothing names the generation: it lives as long as its lease, for a caller who holds on to it.
    Error error = *committed->marker_error;
    error.message = "compiled, but not kept: " + error.message;
    resolution = answer_with_source(std::move(resolution), Outcome::uncached, known.model.model, std::move(error));
    if (request_.accept_private) {
      resolution.private_generation = true;
      fill_from_hit(resolution, std::move(committed->hit));
      resolution.orphan = std::make_shared<store::Orphan>(services_.file_system, services_.store->layout(),
                                                          known.identity.key, std::move(resolution.lease));
    }
    return std::move(resolution);
  }
  fill_from_hit(resolution, std::move(committed->hit));
  resolution.outcome = Outcome::compiled;
  stored_ = stored;
  services_.store->record({"compile", stored.created, stored.key, stored.generation, stored.source_sha256, stored.ep,
                           store::family_of(stored), stored.compile_seconds});
  return std::move(resolution);
}

Result<Resolution> Miss::failed(const Known& known, Resolution& resolution, const JobResult& job, bool remember_it) {
  if (remember_it) remember(known, job);
  resolution.log_tail = job.log_tail;
  resolution.unsafe_to_open = job.end == JobEnd::crashed || job.end == JobEnd::timed_out;
  const Outcome outcome = job.end == JobEnd::nothing_to_compile ? Outcome::nothing_to_compile : Outcome::failed;
  return answer_with_source(std::move(resolution), outcome, known.model.model, job.error);
}

void Miss::remember(const Known& known, const JobResult& job) {
  store::FailedRecord record;
  record.key = known.identity.key;
  switch (job.end) {
    case JobEnd::nothing_to_compile:
      record.kind = "nothing_to_compile";
      break;
    case JobEnd::compile_failed:
      record.kind = "compile_failed";
      break;
    case JobEnd::crashed:
      record.kind = "crashed";
      break;
    case JobEnd::timed_out:
      record.kind = "timed_out";
      break;
    default:
      return;
  }
  record.reason = job.error.message;
  record.log_tail = job.log_tail;
  record.time = util::format_rfc3339(util::Clock::system().now());
  if (job.end == JobEnd::timed_out) {
    record.deadline_ms = static_cast<std::uint64_t>(request_.compile_timeout.count());
  }
  const auto before = services_.store->read_failed(record.key);
  if (before && *before && (*before)->kind == record.kind) record.count = (*before)->count + 1;
  // A failure that cannot be remembered is found again by the next one who tries.
  (void)services_.store->write_failed(record);
}

Result<Resolution> Miss::run_private(const Known& known, Resolution resolution) {
  auto made = WorkFolder::temporary(services_.file_system);
  if (!made) {
    resolution.reason = made.error().message;
    return answer_with_source(std::move(resolution), Outcome::uncached, known.model.model, made.error());
  }
  auto folder = std::make_shared<WorkFolder>(*std::move(made));
  PRECAST_TRY_ASSIGN(const auto model, model_for_worker(known, *folder));
  const JobResult job =
      run_job({services_, request_, known.settings, model, *folder, [this](Stage s) { tell(s); }}, resolution.timings);
  if (job.end == JobEnd::cancelled) return std::unexpected(job.error);
  if (job.end != JobEnd::good) return failed(known, resolution, job, false);
  resolution.outcome = Outcome::uncached;
  resolution.path = folder->output_folder() / store::kModelName;
  resolution.private_generation = true;
  resolution.private_owner = folder;
  resolution.validation = job.validation;
  return resolution;
}

Result<WorkFolder> Miss::folder_for_validation() {
  if (!services_.store->writable()) return WorkFolder::temporary(services_.file_system);
  PRECAST_TRY_ASSIGN(auto work, services_.store->begin_work());
  return WorkFolder(std::move(work));
}

Result<Resolution> Miss::validate_hit(const Known& known, Resolution hit) {
  const auto not_validated = [&](const Error& error) {
    hit.validation = in_words({Validation::End::unknown, error.message});
    return std::move(hit);
  };
  tell(Stage::checking);
  const auto folder = folder_for_validation();
  if (!folder) return not_validated(folder.error());
  const auto model = model_for_worker(known, *folder);
  if (!model) return not_validated(model.error());
  util::Stopwatch watch;
  const Job job{services_, request_, known.settings, *model, *folder, {}};
  const Validation validation = validate_compiled(job, hit.path);
  hit.timings.check += watch.elapsed_ms();
  if (validation.end == Validation::End::cancelled) {
    return std::unexpected(interrupted("while validating", known.model.model));
  }
  if (validation.end != Validation::End::differs) {
    hit.validation = in_words(validation);
    return hit;
  }
  const Error error = validation_error(job, validation);
  store::FailedRecord record;
  record.key = hit.key;
  record.kind = "compile_failed";
  record.reason = error.message;
  record.time = util::format_rfc3339(util::Clock::system().now());
  // One that cannot be taken away is validated again by the next one who asks for that.
  (void)withdraw(*services_.store, hit, wait_options(Stage::waiting), record);
  hit.lease.release();
  return answer_with_source(std::move(hit), Outcome::failed, known.model.model, error);
}

}  // namespace precast::compile
