// One attempt at compiling: the worker run, what its outcome means, and the checks of what it made.
#pragma once

#include <string>

#include "compile/resolution.hpp"
#include "compile/resolver.hpp"
#include "compile/work_folder.hpp"
#include "compile/worker_process.hpp"
#include "identity/identity.hpp"
#include "model/model_facts.hpp"

namespace precast::compile {

enum class JobEnd : std::uint8_t {
  good,                // the folder holds a checked result
  nothing_to_compile,  // no node of the model runs on this EP
  compile_failed,      // the EP said no, or made something unusable
  crashed,
  timed_out,
  transient,  // not the model's fault: killed from outside, no space, a library that does not load: not remembered
  cancelled,
};

struct JobResult {
  JobEnd end = JobEnd::transient;
  Error error;              // of anything but good
  std::string log_tail;     // likewise
  model::ModelFacts facts;  // of a good result
  std::string compatibility;
  std::string validation;  // good only, with Request::validate: what it showed, in words
  // What the worker saw (good only): compared with the identity by the caller.
  WorkerEvent seen;
  std::vector<MappedLibrary> libraries;
};

// What a run of the compiled model beside its source showed.
struct Validation {
  enum class End : std::uint8_t { agrees, differs, unknown, cancelled };
  End end = End::unknown;
  std::string text;  // in what they differ; why it could not be found out
};

struct Job {
  const Services& services;
  const Request& request;
  const identity::Settings& settings;  // of the parent's target
  std::filesystem::path model;         // what the worker reads
  const WorkFolder& folder;
  std::function<void(Stage)> on_stage;  // compiling, then checking
};

[[nodiscard]] JobResult run_job(const Job& job, Timings& timings);

// One worker compiles `models` so that they share what the EP can share; the outputs lie beside each other in the job's
// output folder. Of a good result only `end` says something.
[[nodiscard]] JobResult run_sharing_job(const Job& job, const std::vector<SharingModel>& models, Timings& timings);

// Whether a fresh worker (or this process, if the request compiles here) opens `compiled`, with what the identity has
// of the options and nothing else. An error: that could not be found out (the worker did not start, crashed, hung, or
// was ended from outside).
[[nodiscard]] Result<bool> opens_alone(const Job& job, const std::filesystem::path& compiled);

// One run of `compiled` against ORT's CPU EP on the source, in a worker (or here) and for a minute at most.
[[nodiscard]] Validation validate_compiled(const Job& job, const std::filesystem::path& compiled);
[[nodiscard]] std::string in_words(const Validation& validation);
// Of one that differs.
[[nodiscard]] Error validation_error(const Job& job, const Validation& validation);

}  // namespace precast::compile
