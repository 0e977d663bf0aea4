#include "compile/compile_job.hpp"

#include <algorithm>
#include <csignal>

#include "compile/cache_options.hpp"
#include "compile/checks.hpp"
#include "compile/compile_here.hpp"
#include "compile/machine_trouble.hpp"
#include "util/text.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::compile {

namespace {

constexpr std::uint64_t kNoSpaceBytes = 16U << 20U;

WorkerRequest make_request(const Job& job) {
  const ort::Target& target = job.settings.target;
  WorkerRequest request;
  request.precast_version = PRECAST_VERSION;
  request.ort_library = job.settings.ort_library;
  request.ep_name = target.ep.found.name;
  request.ep_source = target.ep.found.source;
  request.ep_library = target.ep.found.library;
  request.device = target.device;
  request.provider_options = redirect_cache_options(
      target.ep.found.spec, identity::compile_provider_options(job.settings), job.folder.work_folder() / "ep_cache");
  request.session_config = identity::compile_session_config(job.settings);
  request.optimization_level = job.request.session.optimization_level;
  request.free_dimensions = job.request.session.free_dimensions;
  request.model = job.model;
  request.output = job.folder.output_folder() / store::kModelName;
  request.embed = job.request.embed;
  return request;
}

WorkerRun make_run(const Job& job, const std::filesystem::path& worker, WorkerRequest request,
                   const std::string& log_name) {
  WorkerRun run;
  run.request = std::move(request);
  run.worker = worker;
  run.environment = identity::worker_environment(job.settings);
  std::erase_if(run.environment, [](const auto& variable) { return variable.first == "ORT_DISABLE_TELEMETRY"; });
  if (!job.services.allow_telemetry) run.environment.emplace_back("ORT_DISABLE_TELEMETRY", "1");
  run.working_directory = job.folder.work_folder();
  run.log = job.folder.output_folder() / log_name;
  run.deadline = job.request.compile_timeout;
  run.cancel = job.services.cancel;
  return run;
}

// Signals that say nothing about the EP: kill, an administrator's or init's stop, a terminal, a file size limit.
bool ended_from_outside(const WorkerOutcome& outcome) {
  if (outcome.exit.code == kSupervisorStopped) return true;
  if (!outcome.exit.signal) return false;
  constexpr int kSignals[] = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGXFSZ};
  return std::ranges::find(kSignals, *outcome.exit.signal) != std::end(kSignals);
}

// What the worker itself reported. The codes of ORT's words mean something else here: the model was found and read
// before, so "no such file" is the EP's own trouble; and once ORT returned, "unsupported" is no empty answer any more.
// A worker that was not ready says "unsupported" of precast's own request, not of the model.
JobEnd end_of_failed(const WorkerOutcome& outcome) {
  if (!outcome.ready) return JobEnd::transient;
  switch (outcome.failed->code) {
    case ErrorCode::unsupported:
      return outcome.compiled ? JobEnd::compile_failed : JobEnd::nothing_to_compile;
    case ErrorCode::ep_unavailable:
    case ErrorCode::no_space:
    case ErrorCode::cancelled:
      return JobEnd::transient;
    default:
      return JobEnd::compile_failed;
  }
}

// How a worker ended that made nothing, in words and as an outcome.
JobResult failure_of(const Job& job, const WorkerOutcome& outcome) {
  JobResult result;
  result.log_tail = outcome.log_tail;
  const std::string model = util::quoted(job.request.model);
  const std::string ep = job.settings.target.ep.found.name;
  if (outcome.cancelled) {
    result.end = JobEnd::cancelled;
    result.error = {ErrorCode::cancelled, "interrupted while compiling " + model, job.request.model, {}};
  } else if (outcome.failed) {
    result.error = {outcome.failed->code, outcome.failed->message, job.request.model, outcome.failed->hint};
    result.end = end_of_failed(outcome);
    const bool misleading = result.error.code == ErrorCode::unsupported && result.end == JobEnd::transient;
    if (result.end == JobEnd::compile_failed || misleading) result.error.code = ErrorCode::compile_failed;
  } else if (outcome.timed_out) {
    result.end = JobEnd::timed_out;
    result.error = {ErrorCode::timed_out,
                    ep + " did not compile " + model + " within " + util::format_duration(job.request.compile_timeout),
                    job.request.model, "give it longer with --compile-timeout"};
  } else {
    result.end = ended_from_outside(outcome) || !outcome.ready ? JobEnd::transient : JobEnd::crashed;
    result.error = {ErrorCode::compile_failed,
                    ep + " ended the worker while compiling " + model + ": " + outcome.exit.describe(),
                    job.request.model, ""};
    if (ended_from_outside(outcome)) {
      result.error.hint = "something outside precast ended it (out of memory? no space?); try again";
    } else if (!outcome.ready) {
      result.error.message =
          "the worker ended before it was ready to compile " + model + ": " + outcome.exit.describe();
      result.error.hint = "is it a precast-worker of this version? precast doctor says";
    }
  }
  return result;
}

// The work folder is gone when the words are read, so they name what lies in it without it.
void forget_work_folder(const Job& job, JobResult& result) {
  const std::filesystem::path folder = job.folder.output_folder().parent_path();
  for (const auto& inner : {job.folder.output_folder(), job.folder.work_folder(), job.folder.source_folder(), folder}) {
    const std::string prefix = util::escape_to_line(inner.native()) + "/";
    for (std::size_t at = 0; (at = result.error.message.find(prefix, at)) != std::string::npos;) {
      result.error.message.erase(at, prefix.size());
    }
  }
  if (result.error.path.native().starts_with(folder.native() + "/")) result.error.path = job.request.model;
}

// Somebody deleted the store, or the temporary folder, during the compile: no fault of the EP's.
void recognise_deleted_folder(const Job& job, JobResult& result) {
  if (result.end == JobEnd::good || result.end == JobEnd::cancelled) return;
  const std::filesystem::path folder = job.folder.output_folder();
  if (fs::exists(job.services.file_system, folder)) return;
  result.end = JobEnd::transient;
  result.error = {ErrorCode::io,
                  "the folder in which " + util::quoted(job.request.model) + " was compiled was deleted meanwhile",
                  folder.parent_path().parent_path(), "try again, and delete a store only when nothing uses it"};
}

// A full disk and the like show as any EP error, or as its crash; they must not be remembered as the model's fault.
void recognise_machine_trouble(const Job& job, JobResult& result) {
  if (result.end != JobEnd::compile_failed && result.end != JobEnd::crashed) return;
  const bool crashed = result.end == JobEnd::crashed;
  if (const auto trouble = machine_trouble(crashed ? result.log_tail : result.error.message)) {
    result.end = JobEnd::transient;
    result.error.code = *trouble;
    result.error.hint = "that is this machine's trouble, not the model's; mend it and try again";
    return;
  }
  const auto volume = job.services.file_system.volume(job.folder.output_folder());
  if (!volume || volume->bytes_free >= kNoSpaceBytes) return;
  result.end = JobEnd::transient;
  result.error = {ErrorCode::no_space,
                  "no space left for compiling " + util::quoted(job.request.model) + " (" + result.error.message + ")",
                  job.folder.output_folder(), "free some space, or use another --cache-dir"};
}

// The compile call returned OK and then the worker died or hung: its output counts only if nobody still writes it and a
// fresh worker can open it.
bool reload_in_fresh_worker(const Job& job, const std::filesystem::path& worker, WorkerOutcome& outcome) {
  fs::FileSystem& fs = job.services.file_system;
  const auto entries = fs.list(job.folder.output_folder());
  if (!entries) return false;
  for (const fs::DirEntry& entry : *entries) {
    auto file = fs.open(job.folder.output_folder() / entry.name, fs::OpenMode::read);
    if (!file || fs.check_writers(*file) == fs::FileSystem::WriterCheck::writable) return false;
  }
  WorkerRequest request = make_request(job);
  request.action = WorkerAction::open;
  auto again = run_worker(fs, make_run(job, worker, std::move(request), "reload.log"));
  (void)fs.unlink(job.folder.output_folder() / "reload.log");  // made by run_worker, if at all; not an artifact
  if (!again || !again->succeeded()) return false;
  outcome.ready = again->ready;
  outcome.checked = again->checked;
  outcome.done = again->done;
  return true;
}

void take_timings(const WorkerOutcome& outcome, Timings& timings) {
  const double compile = outcome.compiled ? outcome.compiled->ms : 0;
  const double check = outcome.checked ? outcome.checked->ms : 0;
  timings.compile += compile;
  timings.check += check;
  timings.worker_start += outcome.total_ms - compile - check;
}

JobResult judge(const Job& job, const std::filesystem::path& worker, WorkerOutcome& outcome) {
  JobResult result;
  const bool late_end = outcome.compiled && (outcome.crashed() || outcome.timed_out);
  if (!outcome.succeeded() && !(late_end && reload_in_fresh_worker(job, worker, outcome))) {
    result = failure_of(job, outcome);
    recognise_machine_trouble(job, result);
    return result;
  }
  auto facts = check_compiled(job.services.file_system, job.folder.output_folder(), job.settings.target.ep.found.name);
  if (!facts) {
    result.end = JobEnd::compile_failed;
    result.error = facts.error();
    result.log_tail = outcome.log_tail;
    recognise_machine_trouble(job, result);
    return result;
  }
  result.end = JobEnd::good;
  result.compatibility = model::compatibility_info(*facts, job.settings.target.ep.found.name).value_or("");
  result.facts = std::move(*facts);
  result.seen = std::move(*outcome.ready);
  result.libraries = std::move(outcome.done->libraries);
  return result;
}

JobResult compile_in_worker(const Job& job, Timings& timings) {
  JobResult result;
  const auto worker = find_worker(job.services.file_system, job.services.worker);
  if (!worker) {
    result.error = worker.error();
    return result;
  }
  if (job.on_stage) job.on_stage(Stage::compiling);
  auto outcome =
      run_worker(job.services.file_system, make_run(job, *worker, make_request(job), std::string(store::kLogName)));
  if (!outcome) {
    result.error = outcome.error();
    return result;
  }
  if (job.on_stage) job.on_stage(Stage::checking);
  result = judge(job, *worker, *outcome);
  take_timings(*outcome, timings);
  return result;
}

Validation validate_in_worker(const Job& job, const std::filesystem::path& compiled) {
  constexpr std::string_view kLog = "validate.log";
  const auto worker = find_worker(job.services.file_system, job.services.worker);
  if (!worker) return {Validation::End::unknown, worker.error().message};
  WorkerRequest request = make_request(job);
  request.action = WorkerAction::validate;
  request.output = compiled;
  WorkerRun run = make_run(job, *worker, std::move(request), std::string(kLog));
  run.deadline = job.request.validation_limit;
  const auto outcome = run_worker(job.services.file_system, run);
  (void)job.services.file_system.unlink(run.log);  // made by run_worker, if at all; not an artifact
  if (!outcome) return {Validation::End::unknown, outcome.error().message};
  if (outcome->cancelled) return {Validation::End::cancelled, {}};
  if (outcome->validated) {
    const std::string& difference = outcome->validated->message;
    return {difference.empty() ? Validation::End::agrees : Validation::End::differs, difference};
  }
  if (outcome->timed_out) {
    return {Validation::End::unknown, "it takes longer than " + util::format_duration(job.request.validation_limit)};
  }
  if (outcome->failed) return {Validation::End::unknown, outcome->failed->message};
  return {Validation::End::unknown, "the worker ended: " + outcome->exit.describe()};
}

void validate(const Job& job, JobResult& result) {
  const Validation validation = validate_compiled(job, job.folder.output_folder() / store::kModelName);
  if (validation.end == Validation::End::cancelled) {
    result.end = JobEnd::cancelled;
    result.error = {
        ErrorCode::cancelled, "interrupted while validating " + util::quoted(job.request.model), job.request.model, {}};
  } else if (validation.end == Validation::End::differs) {
    result.end = JobEnd::compile_failed;
    result.error = validation_error(job, validation);
  } else {
    result.validation = in_words(validation);
  }
}

}  // namespace

JobResult run_job(const Job& job, Timings& timings) {
  const bool here = job.request.compiles_here();
  JobResult result = here ? compile_here(job, timings) : compile_in_worker(job, timings);
  if (here) recognise_machine_trouble(job, result);
  if (result.end == JobEnd::good && job.request.validate) {
    util::Stopwatch watch;
    validate(job, result);
    timings.check += watch.elapsed_ms();
  }
  forget_work_folder(job, result);
  recognise_deleted_folder(job, result);
  return result;
}

JobResult run_sharing_job(const Job& job, const std::vector<SharingModel>& models, Timings& timings) {
  JobResult result;
  fs::FileSystem& fs = job.services.file_system;
  const auto worker = find_worker(fs, job.services.worker);
  if (!worker) {
    result.error = worker.error();
    return result;
  }
  if (job.on_stage) job.on_stage(Stage::compiling);
  WorkerRequest request = make_request(job);
  request.action = WorkerAction::compile_sharing;
  request.open_sharing = !job.settings.target.simulated;
  request.sharing = models;
  const auto outcome = run_worker(fs, make_run(job, *worker, std::move(request), std::string(store::kLogName)));
  if (!outcome) {
    result.error = outcome.error();
    return result;
  }
  take_timings(*outcome, timings);
  if (!outcome->succeeded()) {
    result = failure_of(job, *outcome);
    recognise_machine_trouble(job, result);
  } else {
    result.end = JobEnd::good;
    for (const SharingModel& one : models) {
      const auto facts = check_compiled(fs, job.folder.output_folder(), job.settings.target.ep.found.name,
                                        one.output.filename().native());
      if (facts) continue;
      result.end = JobEnd::compile_failed;
      result.error = facts.error();
    }
  }
  forget_work_folder(job, result);
  recognise_deleted_folder(job, result);
  return result;
}

Validation validate_compiled(const Job& job, const std::filesystem::path& compiled) {
  return job.request.compiles_here() ? validate_here(job, compiled) : validate_in_worker(job, compiled);
}

std::string in_words(const Validation& validation) {
  if (validation.end == Validation::End::agrees) return "agrees with ONNX Runtime's CPU EP";
  return (validation.end == Validation::End::differs ? "differs: " : "not validated: ") + validation.text;
}

Error validation_error(const Job& job, const Validation& validation) {
  return {ErrorCode::compile_failed,
          "compiled for " + job.settings.target.ep.found.name + ", " + util::quoted(job.request.model) +
              " computes something else than on ONNX Runtime's CPU EP: " + validation.text,
          job.request.model, "a defect of the EP, or too little precision: try other options, or another EP"};
}

Result<bool> opens_alone(const Job& job, const std::filesystem::path& compiled) {
  if (job.request.compiles_here()) return opens_here(job, compiled);
  PRECAST_TRY_ASSIGN(const auto worker, find_worker(job.services.file_system, job.services.worker));
  WorkerRequest request = make_request(job);
  request.action = WorkerAction::open;
  request.output = compiled;
  PRECAST_TRY_ASSIGN(const auto outcome,
                     run_worker(job.services.file_system, make_run(job, worker, std::move(request), "reopen.log")));
  if (outcome.succeeded()) return true;
  // Only ORT's own word counts: a worker that crashed, hung or was ended says nothing about the model.
  JobResult failure = failure_of(job, outcome);
  recognise_machine_trouble(job, failure);
  if (failure.end != JobEnd::compile_failed) return std::unexpected(failure.error);
  return false;
}

}  // namespace precast::compile
