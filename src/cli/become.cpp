#include "cli/become.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <sys/wait.h>

#include <unistd.h>

#include "cli/command.hpp"
#include "cli/signals.hpp"
#include "compile/work_folder.hpp"

namespace precast::cli {

namespace {

std::vector<std::string> with_path(std::vector<std::string> command, const std::string& path) {
  bool placed = false;
  for (std::string& argument : command) {
    if (argument != "{}") continue;
    argument = path;
    placed = true;
  }
  if (!placed) command.push_back(path);
  return command;
}

// Only on failure does it return.
void execute(Context& context, std::vector<std::string>& command) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& argument : command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  context.output.give_stdout_back();
  restore_signals();
  ::execvp(arguments[0], arguments.data());
}

int cannot_run(Context& context, const std::string& program) {
  const int error = errno;
  return report_error(
      context, "resolve",
      {error == ENOENT ? ErrorCode::not_found : ErrorCode::io, "cannot run '" + program + "': " + std::strerror(error),
       program, "name a program behind --exec --"});
}

// Stays as the parent, so that the private generation can be deleted afterwards, and ends as the program did.
int run_as_parent(Context& context, compile::Resolution& resolution, std::vector<std::string>& command) {
  resolution.private_owner->inherit_lease_on_exec();
  hold_signals();
  const pid_t child = ::fork();
  if (child == 0) {
    execute(context, command);
    ::_exit(cannot_run(context, command.front()));
  }
  if (child < 0) return cannot_run(context, command.front());
  pass_signals_to(child);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  pass_signals_to(0);
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  resolution.private_owner.reset();
  end_by_signal(WTERMSIG(status));
}

}  // namespace

int become(Context& context, compile::Resolution resolution, std::vector<std::string> command) {
  command = with_path(std::move(command), resolution.path.native());
  ::setenv("PRECAST_MODEL", resolution.path.c_str(), 1);
  if (!context.telemetry_was_set) ::unsetenv("ORT_DISABLE_TELEMETRY");
  if (resolution.private_owner) return run_as_parent(context, resolution, command);
  if (resolution.orphan) resolution.lease = resolution.orphan->take_lease();
  resolution.lease.inherit_on_exec();
  execute(context, command);
  return cannot_run(context, command.front());
}

}  // namespace precast::cli
