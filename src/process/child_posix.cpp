#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>  // sigdescr_np
#include <string>
#include <system_error>

#include <sys/wait.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "process/child.hpp"
#include "process/descriptor_posix.hpp"
#include "process/pidfd_linux.hpp"
#include "process/spawn_plan_posix.hpp"
#include "util/try.hpp"

namespace precast::process {
namespace {

std::string system_message(int error) {
  return std::generic_category().message(error);
}

// true when `pidfd` says that its process has ended, false when the limit passed.
Result<bool> wait_readable(int pidfd, std::optional<std::chrono::milliseconds> limit) {
  using Clock = std::chrono::steady_clock;
  // A year stands for "for ever" where adding the caller's number to a time point would overflow.
  const auto bounded = std::min(limit.value_or(std::chrono::years(1)),
                                std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::years(1)));
  const auto deadline = Clock::now() + bounded;
  for (;;) {
    auto slice = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    slice = std::clamp<std::chrono::milliseconds>(slice, std::chrono::milliseconds(0), std::chrono::hours(1));
    pollfd entry{.fd = pidfd, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(slice.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) {
      return fail(ErrorCode::io, "cannot wait for a child process: " + system_message(errno));
    }
    if (limit && Clock::now() >= deadline) return false;
  }
}

// Leaves the ended process in place, so that its number stays taken (see child.hpp).
int look_at(int pidfd, siginfo_t& info, int flags) {
  int result = 0;
  do {
    result = ::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, WEXITED | WNOWAIT | flags);
  } while (result != 0 && errno == EINTR);
  return result;
}

}  // namespace

std::string ExitStatus::describe() const {
  if (code) return "exit code " + std::to_string(*code);
  if (!signal) return "an unknown end";
  const char* name = ::sigdescr_np(*signal);
  return "signal " + std::to_string(*signal) + (name != nullptr ? " (" + std::string(name) + ")" : "");
}

struct Child::State {
  explicit State(int child) : pid(child), pidfd(open_pidfd(child)) {}
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // False if somebody else in this program reaped the process (a wait for any child, an ignored SIGCHLD): then its
  // number may name another one by now.
  [[nodiscard]] bool owns_number() const {
    siginfo_t info{};
    return !pidfd || look_at(pidfd.get(), info, WNOHANG) == 0;
  }

  int pid;
  Descriptor pidfd;
  std::optional<ExitStatus> status;
};

Child::State::~State() {
  if (!owns_number()) return;
  ::kill(-pid, SIGKILL);  // fails only if nothing is left of the group
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

Child::Child(std::unique_ptr<State> state) : state_(std::move(state)) {}
Child::~Child() = default;
Child::Child(Child&&) noexcept = default;
Child& Child::operator=(Child&&) noexcept = default;

Result<Child> Child::spawn(const SpawnOptions& options) {
  SpawnPlan plan;
  PRECAST_TRY(plan.prepare(options));
  PRECAST_TRY_ASSIGN(const int pid, plan.start());
  auto state = std::make_unique<State>(pid);
  if (!state->pidfd) {
    const int error = errno;
    return fail(error == ENOSYS ? ErrorCode::unsupported : ErrorCode::io,
                "cannot watch the child process of " + plan.program_name() + ": " + system_message(error),
                options.program,
                error == ENOSYS ? "precast needs Linux 5.4 or newer." : "Raise the limit of open files (ulimit -n).");
  }
  return Child(std::move(state));
}

int Child::pid() const {
  return state_->pid;
}
int Child::pidfd() const {
  return state_->pidfd.get();
}

Result<std::optional<ExitStatus>> Child::wait(std::optional<std::chrono::milliseconds> limit) {
  if (state_->status) return state_->status;
  PRECAST_TRY_ASSIGN(const bool ended, wait_readable(state_->pidfd.get(), limit));
  if (!ended) return std::nullopt;

  siginfo_t info{};
  if (look_at(state_->pidfd.get(), info, 0) != 0) {
    return fail(
        ErrorCode::internal,
        "the exit status of child process " + std::to_string(state_->pid) + " is lost: " + system_message(errno), {},
        "the program must neither ignore SIGCHLD nor wait for children of precast");
  }
  ExitStatus status;
  (info.si_code == CLD_EXITED ? status.code : status.signal) = info.si_status;
  state_->status = status;
  return state_->status;
}

void Child::kill_group(int signal) noexcept {
  // Fails only if nothing is left of the group.
  if (state_->owns_number()) ::kill(-state_->pid, signal);
}

Result<std::pair<int, int>> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) == 0) return std::pair(ends[0], ends[1]);
  return fail(ErrorCode::io, "cannot make a pipe: " + system_message(errno), {},
              "Raise the limit of open files (ulimit -n).");
}

}  // namespace precast::process
