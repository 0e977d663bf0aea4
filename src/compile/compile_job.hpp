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
  // What the worker saw (good only): compared with the identity by the caller.
  WorkerEvent seen;
  std::vector<MappedLibrary> libraries;
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

// Whether a fresh worker opens `compiled`, with what the identity has of the options and nothing else. An error: that
// could not be found out (the worker did not start, crashed, hung, or was ended from outside).
[[nodiscard]] Result<bool> opens_in_worker(const Job& job, const std::filesystem::path& compiled);

}  // namespace precast::compile
