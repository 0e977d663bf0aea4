// The parent's side of precast-worker: starts it, feeds it one request, reads its report and its log, enforces the
// deadline, and ends it with everything that it started. Thread-safe: each call is on its own.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compile/worker_protocol.hpp"
#include "fs/file_system.hpp"
#include "process/child.hpp"
#include "util/cancel.hpp"

namespace precast::compile {

struct WorkerRun {
  WorkerRequest request;
  std::filesystem::path worker;  // the program
  std::vector<std::pair<std::string, std::string>> environment;
  std::filesystem::path working_directory;
  std::filesystem::path log;                                       // made new; capped at 16 MiB
  std::chrono::milliseconds deadline{};                            // from the start of the worker
  const util::CancelToken* cancel = nullptr;                       // or null
  std::function<void(std::chrono::milliseconds elapsed)> on_tick;  // about four times a second, or empty
};

struct WorkerOutcome {
  std::optional<WorkerEvent> ready;
  std::optional<WorkerEvent> compiled;  // ORT returned OK
  std::optional<WorkerEvent> checked;
  std::optional<WorkerEvent> validated;
  std::optional<WorkerEvent> done;
  std::optional<WorkerEvent> failed;
  bool timed_out = false;  // the deadline passed, and precast ended it
  bool cancelled = false;
  process::ExitStatus exit;
  std::string log_tail;  // the last lines of what it printed, UTF-8
  double total_ms = 0;   // from spawn to its end
  [[nodiscard]] bool succeeded() const { return done.has_value(); }
  // It ended by a signal or an exit of its own that no report explains.
  [[nodiscard]] bool crashed() const { return !done && !failed && !timed_out && !cancelled; }
};

// An error only where the worker could not be run at all.
[[nodiscard]] Result<WorkerOutcome> run_worker(fs::FileSystem& fs, const WorkerRun& run);

// By option, PRECAST_WORKER, beside the executable, in the installed libexec; absent: not_found with a hint.
[[nodiscard]] Result<std::filesystem::path> find_worker(fs::FileSystem& fs, const std::filesystem::path& option);

// Runs `worker --version` (at most 10 s) and accepts only this version's own answer.
[[nodiscard]] Result<void> ask_worker_version(const std::filesystem::path& worker);

}  // namespace precast::compile
