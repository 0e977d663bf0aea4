// What the tests of real processes share: pipes that show who is still alive, and this program as the child.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "process/child.hpp"
#include "process/descriptor_posix.hpp"

namespace precast::process::testing {

// Far beyond what anything here takes; a test waits that long only when it fails.
inline constexpr std::chrono::milliseconds kPatience{10000};

struct Pipe {
  Pipe();
  Descriptor read;
  Descriptor write;
};

// Everything up to end-of-file, which comes when the last process that holds the write end has gone; nullopt if it does
// not come in time.
[[nodiscard]] std::optional<std::string> read_all(const Pipe& pipe, std::chrono::milliseconds limit = kPatience);
// One line without its end, or what there was when the patience ended.
[[nodiscard]] std::string read_line(const Pipe& pipe);
// How `child` ended; a failure of the test if it does not end in time.
[[nodiscard]] ExitStatus end_of(Child& child, std::chrono::milliseconds limit = kPatience);
// Starts it and waits.
[[nodiscard]] ExitStatus end_of(const SpawnOptions& options);
[[nodiscard]] bool is_running(Child& child);
// Whether the process `pid` (any process, not only a child) has ended, or ends in time.
[[nodiscard]] bool ends(int pid);
[[nodiscard]] std::vector<int> open_descriptors();

// `helper` (helper.cpp) run by this test program.
[[nodiscard]] SpawnOptions helper_options(const std::string& helper, std::vector<std::string> arguments = {});
[[nodiscard]] SpawnOptions shell_options(const std::string& script);
// Standard output of a program that shall end by itself with code 0.
[[nodiscard]] std::string output_of(SpawnOptions options);

// Runs a helper: main calls it with what follows "--helper". Returns the exit code.
int run_helper(const std::vector<std::string>& arguments);

}  // namespace precast::process::testing
