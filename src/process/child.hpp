// A child process in its own process group, with an explicit set of descriptors and an explicit environment.
//
// The object is passive: one owner waits. The destructor kills what is left of the group (also when the child itself
// has ended) and reaps the child, so no child outlives its owner. Until then an ended child stays a zombie: its number
// and its group's cannot come to name others, and kill_group() is safe after wait(). What left the group is not reached
// from here: that is the supervisor's business (supervisor.hpp). Signals: the child starts with an empty mask and every
// disposition at its default. Thread-safe in that different Child objects may be used by different threads.
//
// Errors of spawn: not_found (program, working directory), bad_input (not executable, not absolute, unusable argument,
// variable or descriptor), unsupported (another machine's program, missing interpreter), busy (no more processes), io.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "precast/error.hpp"
#include "util/cancel.hpp"

namespace precast::process {

struct SpawnOptions {
  std::filesystem::path program;                                 // absolute
  std::vector<std::string> arguments;                            // without argv[0]
  std::vector<std::pair<std::string, std::string>> environment;  // exactly this and nothing else
  std::filesystem::path working_directory;                       // empty = the parent's
  // (descriptor here, number there); 0, 1 and 2 default to /dev/null. Nothing else is inherited (close_range).
  std::vector<std::pair<int, int>> descriptors;
};

struct ExitStatus {
  std::optional<int> code;                     // exit code, or
  std::optional<int> signal;                   // the signal that ended it
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
  // Also members that are not the child itself. Nothing happens when none is left.
  void kill_group(int signal) noexcept;

 private:
  struct State;
  explicit Child(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A pipe with both ends O_CLOEXEC: {read end, write end}. The caller closes them. Writing to a pipe whose reader has
// died raises SIGPIPE, which ends a program that does not ignore it.
[[nodiscard]] Result<std::pair<int, int>> make_pipe();

// The environment of this process as name/value pairs, in order. Not while another thread
// changes it.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> current_environment();

}  // namespace precast::process
