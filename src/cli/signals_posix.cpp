#include <atomic>
#include <csignal>
#include <ctime>
#include <thread>

#include <pthread.h>
#include <unistd.h>

#include "cli/exit_code.hpp"
#include "cli/signals.hpp"

namespace precast::cli {

namespace {

constexpr std::time_t kCleanUpSeconds = 3;
std::atomic<int> passed_to{0};

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

void wait_for_signals(Output& output, util::CancelToken& cancel) {
  const sigset_t set = handled_signals();
  for (;;) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) continue;
    if (const int pid = passed_to.load(); pid != 0) {
      ::kill(pid, signal);
      continue;
    }
    if (!cancel.cancelled()) {
      cancel.cancel();
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

void restore_signals() {
  const sigset_t set = handled_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_DFL);
}

void pass_signals_to(int pid) {
  passed_to.store(pid);
}

}  // namespace precast::cli
