#include "process/spawn_plan_posix.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::process {
namespace {

std::string in_quotes(std::string_view text) {
  return "'" + util::escape_invalid_utf8(text) + "'";
}

bool has_nul(std::string_view text) {
  return text.contains('\0');
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// posix_spawn's functions return the error, and those that only build a plan have no other than these.
Result<void> planned(int error) {
  if (error == 0) return {};
  return fail(ErrorCode::io, "cannot plan a child process: " + std::generic_category().message(error));
}

}  // namespace

SpawnPlan::SpawnPlan() {
  // On Linux these two only fill in the objects.
  ::posix_spawn_file_actions_init(&actions_);
  ::posix_spawnattr_init(&attributes_);
}

SpawnPlan::~SpawnPlan() {
  ::posix_spawnattr_destroy(&attributes_);
  ::posix_spawn_file_actions_destroy(&actions_);
}

std::string SpawnPlan::program_name() const {
  return in_quotes(options_->program.native());
}

Result<void> SpawnPlan::prepare(const SpawnOptions& options) {
  options_ = &options;
  PRECAST_TRY(check());
  PRECAST_TRY(plan_descriptors());
  PRECAST_TRY(plan_attributes());
  words_ = {options.program.native()};
  words_.insert(words_.end(), options.arguments.begin(), options.arguments.end());
  for (const auto& [name, value] : options.environment)
    environment_.push_back(std::string(name).append("=").append(value));
  return {};
}

Result<void> SpawnPlan::check() const {
  const auto& program = options_->program;
  if (!program.is_absolute() || has_nul(program.native())) {
    return fail(ErrorCode::bad_input, "the program " + program_name() + " is not an absolute path", program);
  }
  if (has_nul(options_->working_directory.native())) {
    return fail(ErrorCode::bad_input,
                "the working directory " + in_quotes(options_->working_directory.native()) + " holds a zero byte");
  }
  for (const auto& argument : options_->arguments) {
    if (!has_nul(argument)) continue;
    return fail(ErrorCode::bad_input,
                "the argument " + in_quotes(argument) + " for " + program_name() + " holds a zero byte");
  }
  for (const auto& [name, value] : options_->environment) {
    if (!name.empty() && !name.contains('=') && !has_nul(name) && !has_nul(value)) continue;
    return fail(ErrorCode::bad_input, "the environment variable " + in_quotes(name) + " for " + program_name() +
                                          " has a name or value that no program can be given");
  }
  return {};
}

Result<void> SpawnPlan::plan_descriptors() {
  int highest = STDERR_FILENO;
  for (const auto& [source, target] : options_->descriptors) highest = std::max(highest, target);

  // Above every target, so that no dup2 overwrites a source that a later one needs.
  std::map<int, int> duplicates;
  for (const auto& [source, target] : options_->descriptors) {
    Descriptor duplicate(target < 0 ? -1 : ::fcntl(source, F_DUPFD_CLOEXEC, highest + 1));
    if (!duplicate || !duplicates.emplace(target, duplicate.get()).second) {
      return fail(ErrorCode::bad_input, "descriptor " + std::to_string(source) + " cannot become descriptor " +
                                            std::to_string(target) + " of " + program_name() + ": " +
                                            (duplicate    ? "that number is given twice"
                                             : target < 0 ? "there is no such number"
                                                          : std::generic_category().message(errno)));
    }
    sources_.push_back(std::move(duplicate));
  }

  for (int target = 0; target <= highest; ++target) {
    if (const auto found = duplicates.find(target); found != duplicates.end()) {
      PRECAST_TRY(planned(::posix_spawn_file_actions_adddup2(&actions_, found->second, target)));
    } else if (target <= STDERR_FILENO) {
      PRECAST_TRY(planned(::posix_spawn_file_actions_addopen(&actions_, target, "/dev/null", O_RDWR, 0)));
    } else {
      PRECAST_TRY(planned(::posix_spawn_file_actions_addclose(&actions_, target)));
    }
  }
  PRECAST_TRY(planned(::posix_spawn_file_actions_addclosefrom_np(&actions_, highest + 1)));
  const auto& folder = options_->working_directory;
  return folder.empty() ? Result<void>{} : planned(::posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str()));
}

Result<void> SpawnPlan::plan_attributes() {
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  PRECAST_TRY(planned(::posix_spawnattr_setsigmask(&attributes_, &none)));
  PRECAST_TRY(planned(::posix_spawnattr_setsigdefault(&attributes_, &all)));
  PRECAST_TRY(planned(::posix_spawnattr_setpgroup(&attributes_, 0)));
  return planned(
      ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK));
}

Result<int> SpawnPlan::start() {
  const auto argv = pointers_to(words_);
  const auto envp = pointers_to(environment_);
  int pid = 0;
  const int error = ::posix_spawn(&pid, options_->program.c_str(), &actions_, &attributes_, argv.data(), envp.data());
  if (error != 0) return explain(error);
  return pid;
}

// The child reports one number, whatever step it failed at: look at what is there to say which.
std::unexpected<Error> SpawnPlan::explain(int error) const {
  const auto& program = options_->program;
  const auto& folder = options_->working_directory;
  const std::string name = program_name();
  std::error_code unknown;  // as good as "no" here: the worst is a less exact message
  if (!folder.empty() && (!std::filesystem::is_directory(folder, unknown) || ::access(folder.c_str(), X_OK) != 0)) {
    return fail(
        ErrorCode::not_found,
        "the working directory " + in_quotes(folder.native()) + " for " + name + " is not a folder one can enter",
        folder);
  }
  if (error == ENOENT || error == ENOTDIR) {
    if (::access(program.c_str(), F_OK) != 0) {
      return fail(ErrorCode::not_found, "the program " + name + " does not exist", program,
                  "check the path, or install the program there");
    }
    return fail(ErrorCode::unsupported, "the program " + name + " needs an interpreter or loader that does not exist",
                program, "Its first line, or 'readelf -l', names it.");
  }
  if (error == EACCES) {
    return fail(ErrorCode::bad_input, "the program " + name + " is not executable for this user", program,
                "It must be a file with the x permission (chmod +x), in folders this user may enter, on a file system "
                "not mounted noexec.");
  }
  if (error == ENOEXEC) {
    return fail(ErrorCode::unsupported, "the program " + name + " is of a kind that this machine cannot run", program);
  }
  if (error == E2BIG) {
    return fail(ErrorCode::bad_input, "the arguments and environment for " + name + " are too long", program);
  }
  const std::string message = "cannot start " + name + ": " + std::generic_category().message(error);
  if (error == EAGAIN) {
    return fail(ErrorCode::busy, message, program, "Raise the limit of processes (ulimit -u), or end some.");
  }
  return fail(ErrorCode::io, message, program);
}

}  // namespace precast::process
