// One command: adds itself to the parser, then runs. One file per command; none has logic of its own beyond turning
// options into requests and answers into text.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/context.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace precast::cli {

// Adds the command to `app`; when it was chosen, `chosen` gets its body, which returns the exit code.
using Body = std::function<int(Context&)>;
void add_compile_command(CLI::App& app, Body& chosen);
void add_resolve_command(CLI::App& app, Body& chosen);
void add_run_command(CLI::App& app, Body& chosen);
void add_generate_command(CLI::App& app, Body& chosen);
void add_chat_command(CLI::App& app, Body& chosen);
void add_perf_command(CLI::App& app, Body& chosen);
void add_cache_command(CLI::App& app, Body& chosen);
void add_eps_command(CLI::App& app, Body& chosen);
void add_inspect_command(CLI::App& app, Body& chosen);
void add_doctor_command(CLI::App& app, Body& chosen);
[[nodiscard]] int print_version(Context& context);

// The whole program. Never throws; flushes and ends with _exit, so that EPs which crash while unloading cannot change
// the exit code.
[[noreturn]] void run(int argc, char** argv);

// Reports `error` as text or, under --json, as the one object on stdout. Returns the exit code.
[[nodiscard]] int report_error(Context& context, const std::string& command, const Error& error);

}  // namespace precast::cli
