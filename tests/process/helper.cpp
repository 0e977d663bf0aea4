// Children for the tests. Standard output is a pipe that the test reads: each process that lives holds its write end.
// What `supervise` runs is in the second table; there descriptor 3 is the pipe from the parent.
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>

#include <sys/prctl.h>
#include <sys/wait.h>

#include <pthread.h>
#include <unistd.h>

#include "process/supervisor.hpp"
#include "process/support.hpp"

namespace precast::process::testing {
namespace {

constexpr int kPipeFromParent = 3;

void say(const std::string& line) {
  const std::string text = line + "\n";
  // A broken pipe raises SIGPIPE, and there is nobody else to tell.
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
}

[[noreturn]] void sleep_for_ever() {
  for (;;) ::pause();
}

void ignore_polite_signals() {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGQUIT}) std::signal(signal, SIG_IGN);
}

// A daemon: in a session of its own, its parent gone before this returns.
void leave_daemon(const std::function<void()>& life) {
  const pid_t middle = ::fork();
  if (middle == 0) {
    ::setsid();
    if (::fork() == 0) {
      ignore_polite_signals();
      life();
    }
    ::_exit(0);
  }
  ::waitpid(middle, nullptr, 0);
}

void leave_group_member() {
  if (::fork() == 0) sleep_for_ever();
}

std::string describe_descriptors() {
  std::string text;
  for (const int number : open_descriptors()) text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

// Ends its first thread and goes on with another: in /proc it looks like a zombie.
void live_without_first_thread() {
  std::thread([] { sleep_for_ever(); }).detach();
  ::pthread_exit(nullptr);
}

// Every process forks on and on, in new sessions, until it is killed or has 40 children.
void storm() {
  for (int seed = 0; seed < 6; ++seed) {
    if (::fork() != 0) continue;
    for (int i = 0; i < 40; ++i) {
      if (::fork() != 0) continue;
      ::setsid();
      sleep_for_ever();
    }
    sleep_for_ever();
  }
}

// 5000 processes one after the other (tens of seconds, if nobody ends it); each is the child of one that has ended.
[[noreturn]] void chain() {
  for (int i = 0; i < 5000; ++i) {
    if (::fork() != 0) ::_exit(0);
    ::setsid();
  }
  sleep_for_ever();
}

[[noreturn]] void crash() {
  ::raise(SIGSEGV);
  ::_exit(99);
}

// 32 and 33 belong to glibc, which starts programs with these two ignored.
constexpr unsigned long long kNotGlibcs = ~0x180000000ULL;

std::string signal_state() {
  std::ifstream status("/proc/self/status");
  std::string text;
  for (std::string line; std::getline(status, line);) {
    for (const char* name : {"SigBlk", "SigIgn", "SigCgt"}) {
      if (line.starts_with(name))
        text += std::string(name) + std::to_string(std::stoull(line.substr(7), nullptr, 16) & kNotGlibcs);
    }
  }
  return text;
}

const std::map<std::string, std::function<int()>>& works() {
  static const std::map<std::string, std::function<int()>> table = {
      {"return_7", [] { return 7; }},
      {"crash_and_leave_daemon",
       []() -> int {
         leave_daemon(sleep_for_ever);
         crash();
       }},
      {"hang",
       []() -> int {
         ignore_polite_signals();
         say("ready");
         sleep_for_ever();
       }},
      {"hang_with_daemon",
       []() -> int {
         ignore_polite_signals();
         leave_daemon(sleep_for_ever);
         leave_group_member();
         say("ready");
         sleep_for_ever();
       }},
      {"leave_daemon_and_member",
       [] {
         leave_daemon(sleep_for_ever);
         leave_group_member();
         return 0;
       }},
      {"leave_threadless_daemon",
       [] {
         leave_daemon(live_without_first_thread);
         return 0;
       }},
      {"leave_storm",
       [] {
         storm();
         return 0;
       }},
      {"leave_chain",
       [] {
         if (::fork() == 0) chain();
         return 0;
       }},
      {"many_short_daemons",
       []() -> int {
         for (int i = 0; i < 20; ++i) leave_daemon([] { ::_exit(0); });
         say("ready");
         sleep_for_ever();
       }},
      {"echo_request",
       [] {
         std::string request;
         char byte = 0;
         while (::read(kPipeFromParent, &byte, 1) == 1 && byte != '\n') request += byte;
         say("request: " + request);
         return 0;
       }},
      {"throw", []() -> int { throw std::runtime_error("no"); }},
      {"descriptors",
       [] {
         say(describe_descriptors());
         return 0;
       }},
      {"descriptors_of_program",
       []() -> int {
         const auto options = helper_options("descriptors");
         const std::string& program = options.program.native();
         ::execl(program.c_str(), program.c_str(), "--helper", "descriptors", nullptr);
         return 99;
       }},
      {"signal_state",
       [] {
         say(signal_state());
         return 0;
       }},
  };
  return table;
}

int supervise_work(const std::string& name) {
  std::signal(SIGUSR1, SIG_IGN);
  std::signal(SIGUSR2, [](int) {});
  SupervisedExit end;
  try {
    end = supervise(kPipeFromParent, works().at(name));
  } catch (const std::exception&) {
    say("an exception left the work");
  }
  if (end.parent_gone) {
    say("parent gone");
  } else if (WIFSIGNALED(end.wait_status)) {
    say("signal " + std::to_string(WTERMSIG(end.wait_status)));
  } else {
    say("code " + std::to_string(WEXITSTATUS(end.wait_status)));
  }
  return 0;
}

// A child and a grandchild that hide behind odd names and a session of their own.
int tree() {
  if (::fork() == 0) {
    ::prctl(PR_SET_NAME, "a) Z 1 (b");
    if (::fork() == 0) {
      ::setsid();
      ::prctl(PR_SET_NAME, ") R 2 3\n(");
      say("ready");
    }
    sleep_for_ever();
  }
  ::close(STDOUT_FILENO);
  sleep_for_ever();
}

}  // namespace

int run_helper(const std::vector<std::string>& arguments) {
  const std::string& name = arguments.at(0);
  if (name == "supervise") return supervise_work(arguments.at(1));
  if (name == "tree") return tree();
  if (name == "descriptors") {
    say(describe_descriptors());
    return 0;
  }
  return 98;
}

}  // namespace precast::process::testing
