// `perf` of a model from beginning to end: open it on each target, run it, check it, trace it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/ort_report.hpp"
#include "bench/ort_run.hpp"
#include "compile/resolution.hpp"
#include "session/prepared_session.hpp"

namespace precast::bench {

struct OrtTarget {
  std::string name;  // "openvino/npu"
  compile::Request request;
  OrtBenchmarkInfo info;  // what was asked for
};

struct OrtMeasureOptions {
  std::vector<OrtTarget> targets;  // one; or several, which run round by round beside each other
  InputSource input;
  RunPlan plan;
  std::size_t concurrency = 1;  // more than one: of one target only
  bool io_binding = true;
  bool check = false;
  bool op_tracing = false;
  std::uint64_t top_k = 5;
  bool raw = true;
  bool memory = true;
  bool monitor = true;
};

struct OrtMeasureServices {
  ort::Catalog& catalog;
  const util::CancelToken& cancel;
  // Opens what the request resolves to. The session is kept by whoever opens it until the process ends.
  std::function<Result<std::shared_ptr<session::PreparedSession>>(const OrtTarget&)> open;
  std::function<double()> since_start_ms;  // of the process
  double startup_ms = 0;                   // what loading ORT took
  RoundObserver on_round;
  // What begins, for people ("checking the outputs"), or "" when it ends: never while something but a first run is
  // timed.
  std::function<void(const std::string&)> on_step;
};

struct OrtMeasurement {
  std::vector<OrtReport> reports;  // one for each target; one that failed has its error
  HwMonitorSection hw_monitor;     // of several targets together; of one it is in its report
  std::vector<std::string> warnings;
  std::optional<Error> check_error;    // the check could not be done
  std::optional<Error> tracing_error;  // tracing was asked for and gave nothing
};

// The error of one target alone is in its report. Errors of the whole: bad_input (the inputs), cancelled, and what
// keeps
// --check from being done.
[[nodiscard]] Result<OrtMeasurement> measure_model(const OrtMeasureOptions& options,
                                                   const OrtMeasureServices& services);

}  // namespace precast::bench
