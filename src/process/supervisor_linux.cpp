#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "process/descriptor_posix.hpp"
#include "process/process_table_linux.hpp"
#include "process/supervisor.hpp"

namespace precast::process {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A process killed in the middle of a driver call, or with very much memory, takes its time to go.
constexpr milliseconds kCleanUpLimit{5000};
constexpr milliseconds kLongestPause{20};
constexpr int kHuntRounds = 200;
constexpr int kIdleRounds = 10;  // without a new child
// More passes than a sane program's forks can outrun.
constexpr int kMaxPasses = 32;
constexpr int kCannotStart = 71;  // EX_OSERR of sysexits.h

SupervisedExit cannot_start(const char* act) {
  std::fprintf(stderr, "precast-worker: %s: %s\n", act, std::strerror(errno));
  return {.parent_gone = false, .wait_status = kCannotStart << 8};
}

sigset_t watched_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ::sigaddset(&set, signal);
  return set;
}

// noexcept: an exception of the work ends the process (SIGABRT) and must not unwind into the supervisor's main.
[[noreturn]] void run_work(pid_t supervisor, const std::function<int()>& work) noexcept {
  // Cannot fail with this argument; a supervisor that died before it took effect is seen by the second line.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) ::_exit(kCannotStart);
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  // Refused for SIGKILL, SIGSTOP and the C library's own, which have nothing to reset.
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &action, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::_exit(work());
}

class Supervisor {
 public:
  Supervisor(int pipe, Descriptor signals, pid_t work) : pipe_(pipe), signals_(std::move(signals)), work_(work) {}

  SupervisedExit watch();
  void end_everything();

 private:
  // What came through the signal descriptor since the last time.
  struct Arrived {
    bool end_wanted = false;
  };
  [[nodiscard]] Arrived read_signals() const;
  // Reaps all that can be; false when no child is left, not even a running one.
  bool reap();
  // A snapshot of all processes takes milliseconds, in which one that forks and exits over and over is always gone. As
  // its parent has ended it is a child of this process, and those can be listed and killed within microseconds.
  void hunt_children();
  // Descendants and members of this group that a new snapshot shows. Some may be dead already.
  [[nodiscard]] static std::vector<ProcessEntry> find_others();

  int pipe_;
  Descriptor signals_;
  pid_t work_;
  std::optional<int> work_status_;
};

Supervisor::Arrived Supervisor::read_signals() const {
  Arrived arrived;
  std::array<signalfd_siginfo, 16> buffer;
  for (;;) {
    const ssize_t size = ::read(signals_.get(), buffer.data(), sizeof(buffer));
    if (size <= 0) return arrived;  // EAGAIN: that was all
    const std::size_t count = static_cast<std::size_t>(size) / sizeof(signalfd_siginfo);
    for (std::size_t i = 0; i < count; ++i) arrived.end_wanted |= buffer.at(i).ssi_signo != SIGCHLD;
  }
}

bool Supervisor::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid == work_) work_status_ = status;
    if (pid == 0) return true;
    if (pid < 0 && errno != EINTR) return false;  // ECHILD
  }
}

void Supervisor::hunt_children() {
  std::set<int> killed;
  int idle = 0;
  for (int round = 0; round < kHuntRounds && idle < kIdleRounds && reap(); ++round) {
    ++idle;
    for (const int child : children_of_this_thread()) {
      if (!killed.insert(child).second) continue;
      ::kill(child, SIGKILL);  // nobody else reaps it: until the next reap() the number is its own
      idle = 0;
    }
  }
}

SupervisedExit Supervisor::watch() {
  std::array<pollfd, 2> watched{
      {{.fd = pipe_, .events = 0, .revents = 0}, {.fd = signals_.get(), .events = POLLIN, .revents = 0}}};
  for (;;) {
    const int ready = ::poll(watched.data(), watched.size(), -1);
    if (ready < 0 && errno != EINTR) return {.parent_gone = true};  // ENOMEM: nothing can be watched any more
    if (ready < 0) continue;
    const bool end_wanted = read_signals().end_wanted;
    reap();
    // First: a work process that ended just before its parent did has ended by itself.
    if (work_status_) return {.parent_gone = false, .wait_status = *work_status_};
    // POLLHUP, or POLLNVAL and POLLERR: a pipe that cannot be watched must not keep work alive for ever.
    if (end_wanted || watched[0].revents != 0) return {.parent_gone = true};
  }
}

std::vector<ProcessEntry> Supervisor::find_others() {
  auto table = read_process_table();
  const pid_t self = ::getpid();
  const auto descendants = descendants_of(self, table);
  std::erase_if(table, [&](const ProcessEntry& entry) {
    return entry.pid == self || (entry.group != self && !descendants.contains(entry.pid));
  });
  return table;
}

// Everything whose parent was killed comes to this process, so "no child left" means "no descendant left".
void Supervisor::end_everything() {
  const auto deadline = Clock::now() + kCleanUpLimit;
  milliseconds pause{1};
  if (!work_status_) ::kill(work_, SIGKILL);  // at once, and even without /proc
  for (;;) {
    hunt_children();
    const bool children = reap();
    const auto others = find_others();
    for (const auto& entry : others) signal_process(entry, SIGKILL);
    const bool strangers =
        std::ranges::any_of(others, [](const ProcessEntry& entry) { return entry.state != 'Z' && entry.state != 'X'; });
    if ((!children && !strangers) || Clock::now() >= deadline) return;
    pollfd entry{.fd = signals_.get(), .events = POLLIN, .revents = 0};
    ::poll(&entry, 1, static_cast<int>(pause.count()));  // only to wait: any outcome is looked at by the next round
    std::ignore = read_signals();                        // an end is already under way
    pause = std::min(pause * 2, kLongestPause);
  }
}

}  // namespace

SupervisedExit supervise(int pipe_from_parent, const std::function<int()>& work) {
  const pid_t self = ::getpid();
  // "Its own group" must not be one that a shell shares among a pipeline. Fails for a session's leader, which has one.
  if (::getpgrp() != self && ::setpgid(0, 0) != 0) return cannot_start("cannot make a process group");
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return cannot_start("cannot become a sub-reaper");
  // What the work starts must not keep the request's pipe open. If it is no descriptor, watch() ends the work.
  if (const int flags = ::fcntl(pipe_from_parent, F_GETFD); flags >= 0) {
    ::fcntl(pipe_from_parent, F_SETFD, flags | FD_CLOEXEC);
  }
  std::signal(SIGCHLD, SIG_DFL);  // ignored, it would lose the work's status
  const sigset_t watched = watched_signals();
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  Descriptor signals(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return cannot_start("cannot watch signals");
  std::fflush(nullptr);  // else the work would write it a second time

  const pid_t child = ::fork();
  if (child < 0) return cannot_start("cannot start the work process");
  if (child == 0) {
    signals.reset();
    run_work(self, work);
  }
  Supervisor supervisor(pipe_from_parent, std::move(signals), child);
  const SupervisedExit exit = supervisor.watch();
  supervisor.end_everything();
  return exit;
}

void kill_descendants(int pid, int signal) {
  std::set<std::pair<int, std::uint64_t>> done;
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    const auto table = read_process_table();
    const auto descendants = descendants_of(pid, table);
    bool news = false;
    for (const auto& entry : table) {
      if (!descendants.contains(entry.pid) || !done.emplace(entry.pid, entry.start_time).second) continue;
      signal_process(entry, signal);
      news = true;
    }
    if (!news) return;
  }
}

}  // namespace precast::process
