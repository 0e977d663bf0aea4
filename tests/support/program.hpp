// Runs build/bin/precast as a user would, in a child process with an environment of its own.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "process/child.hpp"

namespace precast::testing {

// A folder of its own, removed with the object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

struct Ran {
  process::ExitStatus exit;
  int code = -1;  // exit code; -1 = a signal, or it did not end in time
  std::string out;
  std::string err;
  // What stdout holds; an object with "not_json" when it is not exactly one JSON document.
  [[nodiscard]] nlohmann::json json() const;
};

using Environment = std::map<std::string, std::string>;

// A program under way.
class Running {
 public:
  // `program` without a slash: build/bin/<program>. The environment is PATH, HOME (inside `scratch`), TMPDIR and `env`.
  Running(const std::filesystem::path& scratch, const std::string& program, std::vector<std::string> arguments,
          const Environment& env, const std::filesystem::path& working_directory = {});
  [[nodiscard]] int pid() const { return child_->pid(); }
  void signal(int number) { child_->kill_group(number); }
  // Waits until it has said that on stderr (true) or 60 s passed.
  [[nodiscard]] bool wait_for_words(std::string_view words) const;
  [[nodiscard]] Ran wait(std::chrono::seconds limit = std::chrono::seconds(300));

 private:
  std::filesystem::path out_;
  std::filesystem::path err_;
  std::unique_ptr<process::Child> child_;
};

// What a person sees who runs build/bin/<program> in a terminal (stderr; stdout is not shown), and how it ended.
[[nodiscard]] Ran run_in_terminal(const std::filesystem::path& scratch, const std::string& program,
                                  std::vector<std::string> arguments, const Environment& env);

// The precast of a test: a store, a home and an environment of its own.
class Precast {
 public:
  Precast();
  Environment env;
  std::filesystem::path working_directory;
  [[nodiscard]] Ran run(std::vector<std::string> arguments) const;
  // Adds --json and returns the document; the exit code is `code`.
  [[nodiscard]] nlohmann::json json(std::vector<std::string> arguments, int* code = nullptr) const;
  [[nodiscard]] std::unique_ptr<Running> start(std::vector<std::string> arguments) const;
  [[nodiscard]] const std::filesystem::path& scratch() const { return scratch_->path(); }
  [[nodiscard]] std::filesystem::path store() const { return scratch_->path() / "store"; }

  // The fake EP as `fake`: the options to give, and a trace of what it did.
  [[nodiscard]] std::vector<std::string> fake(std::vector<std::string> arguments) const;
  [[nodiscard]] std::filesystem::path trace() const { return scratch_->path() / "trace"; }

 private:
  std::shared_ptr<Folder> scratch_;
};

// The fake EP's trace.
struct TraceLine {
  std::string event;
  int pid = 0;
  std::int64_t ns = 0;
};
[[nodiscard]] std::vector<TraceLine> read_trace(const std::filesystem::path& file);
[[nodiscard]] std::size_t count_events(const std::filesystem::path& file, std::string_view event);
// Waits until the trace has at least `count` lines of `event` (true) or 60 s passed.
[[nodiscard]] bool wait_for_event(const std::filesystem::path& file, std::string_view event, std::size_t count = 1);

[[nodiscard]] std::filesystem::path fake_ep_library();
[[nodiscard]] std::string read_file(const std::filesystem::path& file);
void write_file(const std::filesystem::path& file, std::string_view text);
// Changes one byte in the middle and gives the file its old times back.
void flip_byte_keeping_times(const std::filesystem::path& file);

}  // namespace precast::testing
