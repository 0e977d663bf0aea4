#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <thread>

#include <sys/resource.h>

#include <pthread.h>
#include <unistd.h>

#include "cli/exit_code.hpp"
#include "cli/signals.hpp"

namespace precast::cli {

namespace {

constexpr std::time_t kCleanUpSeconds = 2;
constexpr auto kOneSignal = std::chrono::seconds(1);
constexpr int kHeld = -1;
std::atomic<int> passed_to{0};
std::atomic<util::CancelToken*> instead{nullptr};
std::atomic<bool> no_haste{false};

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // Who started us with a signal ignored (nohup, a script's background job) wants it to stay so.
    struct sigaction action{};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
    sigaddset(&set, signal);
  }
  return set;
}

// Async-signal-safe.
void pass_on(const siginfo_t& info) {
  const int pid = passed_to.load();
  if (pid > 0 && info.si_code != SI_KERNEL) ::kill(pid, info.si_signo);
}

void pass_on_handler(int /*signal*/, siginfo_t* info, void* /*context*/) {
  const int error = errno;
  pass_on(*info);
  errno = error;
}

void wait_for_signals(Output& output, util::CancelToken& cancel) {
  const sigset_t set = handled_signals();
  for (;;) {
    siginfo_t info{};
    if (sigwaitinfo(&set, &info) < 0) continue;
    if (passed_to.load() != 0) {
      while (passed_to.load() == kHeld) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      pass_on(info);
      continue;
    }
    if (util::CancelToken* const token = info.si_signo == SIGINT ? instead.exchange(nullptr) : nullptr) {
      token->cancel();
      continue;
    }
    if (!cancel.cancelled()) {
      cancel.cancel();
      // Who sends one to the process and to its group means it once (timeout, service managers).
      const auto grace = std::chrono::steady_clock::now() + kOneSignal;
      while (std::chrono::steady_clock::now() < grace) {
        const timespec step{0, 50'000'000};
        (void)sigtimedwait(&set, nullptr, &step);
      }
      if (no_haste.load()) continue;  // the next one ends the program
      const timespec limit{kCleanUpSeconds, 0};
      (void)sigtimedwait(&set, nullptr, &limit);  // whichever it is, time is up
    }
    output.warn("interrupted");
    ::_exit(kInterrupted);
  }
}

}  // namespace

void handle_signals(Output& output, util::CancelToken& cancel) {
  // A reader that goes away and a file size limit are errors of a write, not the end of a compile.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  const sigset_t set = handled_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::thread([&output, &cancel] { wait_for_signals(output, cancel); }).detach();
}

void interrupt_instead(util::CancelToken* token) {
  instead.store(token);
}

void end_without_haste() {
  no_haste.store(true);
}

void restore_signals() {
  const sigset_t set = handled_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_DFL);
}

void hold_signals() {
  passed_to.store(kHeld);
}

void pass_signals_to(int pid) {
  passed_to.store(pid);
  if (pid == 0) return;
  struct sigaction action{};
  action.sa_sigaction = pass_on_handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  for (const int signal : {SIGQUIT, SIGUSR1, SIGUSR2}) {
    struct sigaction before{};
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    (void)sigaction(signal, &action, nullptr);
  }
}

void end_by_signal(int signal) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);  // a signal that does not end a process
}

}  // namespace precast::cli
