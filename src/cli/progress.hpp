// Says what takes longer than a second, for how long it has, and how long it is likely to take. One per model, or per
// step.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "cli/output.hpp"
#include "compile/resolution.hpp"
#include "util/time.hpp"

namespace precast::cli {

class ProgressReporter {
 public:
  // `subject` names the model in every line.
  ProgressReporter(Output& output, std::string subject);
  // Of a step that is no compile's: `deed` says it ("checking the outputs").
  static std::unique_ptr<ProgressReporter> of_step(Output& output, std::string deed);
  ~ProgressReporter();
  ProgressReporter(const ProgressReporter&) = delete;
  ProgressReporter& operator=(const ProgressReporter&) = delete;

  void update(const compile::Progress& progress);
  // An observer that refers to this object.
  [[nodiscard]] compile::Observer observer();

 private:
  void run();
  [[nodiscard]] std::string line(util::SteadyTime now) const;

  Output& output_;
  const std::string subject_;
  bool is_step_ = false;  // under mutex_: subject_ says all of it
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  compile::Progress progress_;
  util::SteadyTime stage_start_;
  std::thread thread_;
};

// "compiling 'x.onnx' (3.2 s so far, about 12 s in all)": the words alone, for tests.
[[nodiscard]] std::string progress_line(const std::string& subject, const compile::Progress& progress,
                                        std::chrono::nanoseconds elapsed, util::WallTime now);

}  // namespace precast::cli
