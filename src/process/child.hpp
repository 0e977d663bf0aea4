// A child process in its own process group, with an explicit set of descriptors and an explicit environment.
//
// The object is passive: one owner waits. The destructor kills the group if it is still running and reaps it, so no
// child outlives its owner. Thread-safe in that different Child objects may be used by different threads.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "precast/error.hpp"
#include "util/cancel.hpp"

namespace precast::process {

struct SpawnOptions {
  std::filesystem::path program;               // absolute
  std::vector<std::string> arguments;          // without argv[0]
  std::vector<std::pair<std::string, std::string>> environment;  // exactly this and nothing else
  std::filesystem::path working_directory;     // empty = the parent's
  // (descriptor here, number there); 0, 1 and 2 default to /dev/null. Nothing else is inherited (close_range).
  std::vector<std::pair<int, int>> descriptors;
};

struct ExitStatus {
  std::optional<int> code;    // exit code, or
  std::optional<int> signal;  // the signal that ended it
  [[nodiscard]] std::string describe() const;  // "exit code 3", "signal 11 (Segmentation fault)"
};

class Child {
 public:
  [[nodiscard]] static Result<Child> spawn(const SpawnOptions& options);
  ~Child();
  Child(Child&&) noexcept;
  Child& operator=(Child&&) noexcept;

  [[nodiscard]] int pid() const;
  [[nodiscard]] int pidfd() const;  // readable when the process has ended (poll)
  // Waits for the process itself (pidfd), not for end-of-file of anything. nullopt = the deadline passed.
  [[nodiscard]] Result<std::optional<ExitStatus>> wait(std::optional<std::chrono::milliseconds> limit);
  void kill_group(int signal) noexcept;

 private:
  struct State;
  explicit Child(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A pipe with both ends O_CLOEXEC: {read end, write end}. The caller closes them.
[[nodiscard]] Result<std::pair<int, int>> make_pipe();

// The environment of this process as name/value pairs, in order.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> current_environment();

}  // namespace precast::process
