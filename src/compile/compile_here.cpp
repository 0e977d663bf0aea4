#include "compile/compile_here.hpp"

#include "compile/cache_options.hpp"
#include "compile/checks.hpp"
#include "compile/compare_with_source.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::compile {

namespace {

ort::Target target_of(const Job& job) {
  ort::Target target = job.settings.target;
  target.provider_options = redirect_cache_options(
      target.ep.found.spec, identity::compile_provider_options(job.settings), job.folder.work_folder() / "ep_cache");
  return target;
}

ort::SessionSettings settings_of(const Job& job, bool compiling) {
  ort::SessionSettings settings = job.request.session;
  settings.config_entries = identity::compile_session_config(job.settings);
  if (!compiling) settings.optimization_level.reset();
  return settings;
}

Result<ort::OpenedSession> open_compiled(const Job& job, const std::filesystem::path& compiled) {
  PRECAST_TRY_ASSIGN(ort::Catalog* const catalog, job.services.catalog());
  return ort::open_session(*catalog, target_of(job), settings_of(job, false), {.model = compiled, .compiled = true});
}

// What ORT said of a compile, or of the opening after it, as an outcome.
JobEnd end_of(ErrorCode code, bool compiled) {
  switch (code) {
    case ErrorCode::unsupported:
      return compiled ? JobEnd::compile_failed : JobEnd::nothing_to_compile;
    case ErrorCode::ep_unavailable:
    case ErrorCode::no_space:
      return JobEnd::transient;
    default:
      return JobEnd::compile_failed;
  }
}

JobResult failed(const Job& job, Error error, bool compiled) {
  JobResult result;
  result.end = end_of(error.code, compiled);
  if (result.end == JobEnd::compile_failed) error.code = ErrorCode::compile_failed;
  error.path = job.request.model;
  result.error = std::move(error);
  return result;
}

}  // namespace

JobResult compile_here(const Job& job, Timings& timings) {
  const auto catalog = job.services.catalog();
  if (!catalog) return failed(job, catalog.error(), false);
  const std::filesystem::path output = job.folder.output_folder() / store::kModelName;
  if (job.on_stage) job.on_stage(Stage::compiling);
  util::Stopwatch watch;
  const auto compiled = ort::compile_model(**catalog, target_of(job), settings_of(job, true),
                                           {.model = job.model, .output = output, .embed = job.request.embed});
  timings.compile += watch.lap_ms();
  if (!compiled) return failed(job, compiled.error(), false);
  if (job.on_stage) job.on_stage(Stage::checking);
  const auto opened = open_compiled(job, output);
  if (!opened) return failed(job, opened.error(), true);
  JobResult result;
  auto facts = check_compiled(job.services.file_system, job.folder.output_folder(), job.settings.target.ep.found.name);
  timings.check += watch.lap_ms();
  if (!facts) return failed(job, facts.error(), true);
  result.end = JobEnd::good;
  result.compatibility = model::compatibility_info(*facts, job.settings.target.ep.found.name).value_or("");
  result.facts = std::move(*facts);
  result.seen.ort_version = job.settings.ort_version;
  result.seen.ort_build = job.settings.ort_build;
  result.seen.ep_version = job.settings.target.ep.version;
  result.seen.ep_vendor = job.settings.target.ep.vendor;
  result.seen.device = job.settings.target.device;
  return result;
}

Result<bool> opens_here(const Job& job, const std::filesystem::path& compiled) {
  const auto opened = open_compiled(job, compiled);
  if (opened) return true;
  if (end_of(opened.error().code, true) != JobEnd::compile_failed) return std::unexpected(opened.error());
  return false;
}

Validation validate_here(const Job& job, const std::filesystem::path& compiled) {
  auto opened = open_compiled(job, compiled);
  if (!opened) return {Validation::End::unknown, opened.error().message};
  const auto catalog = job.services.catalog();
  if (!catalog) return {Validation::End::unknown, catalog.error().message};
  const auto difference = compare_with_source(**catalog, opened->session, settings_of(job, false), job.model);
  if (!difference) return {Validation::End::unknown, difference.error().message};
  return {difference->empty() ? Validation::End::agrees : Validation::End::differs, *difference};
}

}  // namespace precast::compile
