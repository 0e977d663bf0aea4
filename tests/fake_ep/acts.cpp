#include "acts.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <system_error>

#include <sys/resource.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "error.hpp"
#include "trace.hpp"

namespace precast::fake_ep {
namespace {

constexpr int kSleepLimitSeconds = 600;
constexpr int kSleepLimitStatus = 98;

// Not a standard exception, so that the callbacks' own handlers let it through.
struct ThrownFault {};

int number(const Fault& fault, int fallback) {
  if (fault.value.empty()) return fallback;
  int value = 0;
  const char* last = fault.value.data() + fault.value.size();
  const auto [end, error] = std::from_chars(fault.value.data(), last, value);
  if (error != std::errc{} || end != last) throw EpError("fault '" + fault.text + "': its value is not a number");
  return value;
}

[[noreturn]] void fail_with_errno(const Fault& fault, const std::string& path) {
  throw EpError("fault '" + fault.text + "': " + path + ": " + std::generic_category().message(errno));
}

void sleep_for(timespec left) {
  while (::clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR) {
  }
}

[[noreturn]] void sleep_to_the_limit() {
  sleep_for({.tv_sec = kSleepLimitSeconds, .tv_nsec = 0});
  ::_exit(kSleepLimitStatus);
}

[[noreturn]] void hang_now() {
  trace("hang");
  sleep_to_the_limit();
}

void die_of(int signal) {
  const rlimit no_core{};
  ::setrlimit(RLIMIT_CORE, &no_core);
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  std::raise(signal);
}

void fail(const Fault& fault) {
  throw EpError("fault '" + fault.text + "'", static_cast<OrtErrorCode>(number(fault, ORT_EP_FAIL)));
}

void complain(const Fault& fault) {
  throw EpError(fault.value);
}

void throw_it(const Fault&) {
  throw ThrownFault{};
}
void abort_it(const Fault&) {
  die_of(SIGABRT);
}
void segv(const Fault&) {
  die_of(SIGSEGV);
}
void exit_it(const Fault& fault) {
  ::_exit(number(fault, 7));
}
void hang(const Fault&) {
  hang_now();
}

void hang_deaf(const Fault&) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) std::signal(signal, SIG_IGN);
  hang_now();
}

void slow(const Fault& fault) {
  const int ms = number(fault, 0);
  sleep_for({.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1'000'000L});
}

// The trace names the grandchild only once it is where it is meant to be.
void fork_and_hang(bool own_session) {
  int ready[2] = {-1, -1};
  if (::pipe2(ready, O_CLOEXEC) != 0) return;
  const pid_t child = ::fork();
  if (child == 0) {
    if (own_session) ::setsid();
    ::close(ready[0]);
    ::close(ready[1]);
    sleep_to_the_limit();
  }
  ::close(ready[1]);
  char nothing = 0;
  (void)!::read(ready[0], &nothing, 1);  // until the child has closed its end
  ::close(ready[0]);
  trace("grandchild", child);
  hang_now();
}

void grandchild(const Fault&) {
  fork_and_hang(false);
}
void grandchild_setsid(const Fault&) {
  fork_and_hang(true);
}

void write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd writable{.fd = fd, .events = POLLOUT, .revents = 0};
      ::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return;  // a reader that went away is none of a flood's business
    }
  }
}

void flood(const Fault& fault) {
  std::fflush(stdout);
  std::string block;
  constexpr std::size_t block_size = 64 * std::size_t{1024};
  while (block.size() < block_size) block += "fake EP: a line of the flood\n";
  for (int i = 0; i < number(fault, 32) * 16; ++i) {
    write_all(STDOUT_FILENO, block);
    write_all(STDERR_FILENO, block);
  }
}

void modify_source(const Fault& fault) {
  const int fd = ::open(fault.value.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0 || ::write(fd, "!", 1) != 1) fail_with_errno(fault, fault.value);
  ::close(fd);
}

void flip_source(const Fault& fault) {
  const int fd = ::open(fault.value.c_str(), O_RDWR | O_CLOEXEC);
  unsigned char byte = 0;
  const off_t last = fd < 0 ? -1 : ::lseek(fd, -1, SEEK_END);
  if (last < 0 || ::pread(fd, &byte, 1, last) != 1) fail_with_errno(fault, fault.value);
  byte ^= 0xFF;
  if (::pwrite(fd, &byte, 1, last) != 1) fail_with_errno(fault, fault.value);
  ::close(fd);
}

void rename_second_to_first(const Fault& fault, unsigned flags) {
  const auto comma = fault.value.find(',');
  if (comma == std::string::npos) throw EpError("fault '" + fault.text + "': it needs two paths");
  const std::string path = fault.value.substr(0, comma);
  const std::string path2 = fault.value.substr(comma + 1);
  if (::renameat2(AT_FDCWD, path2.c_str(), AT_FDCWD, path.c_str(), flags) != 0) fail_with_errno(fault, path2);
}

void swap(const Fault& fault) {
  rename_second_to_first(fault, 0);
}
void exchange(const Fault& fault) {
  rename_second_to_first(fault, RENAME_EXCHANGE);
}

constexpr std::array kActs = {
    Act{"fail", Value::kOptional, fail},
    Act{"complain", Value::kRequired, complain},
    Act{"throw", Value::kNone, throw_it},
    Act{"abort", Value::kNone, abort_it},
    Act{"segv", Value::kNone, segv},
    Act{"exit", Value::kOptional, exit_it},
    Act{"hang", Value::kNone, hang},
    Act{"sleep_forever_ignoring_sigterm", Value::kNone, hang_deaf},
    Act{"slow", Value::kRequired, slow},
    Act{"grandchild", Value::kNone, grandchild},
    Act{"grandchild_setsid", Value::kNone, grandchild_setsid},
    Act{"flood", Value::kOptional, flood},
    Act{"modify_source", Value::kRequired, modify_source},
    Act{"flip_source", Value::kRequired, flip_source},
    Act{"swap", Value::kRequired, swap},
    Act{"exchange", Value::kRequired, exchange},
};

}  // namespace

const Act* find_act(std::string_view what) {
  const auto* act = std::ranges::find(kActs, what, &Act::what);
  return act == kActs.end() ? nullptr : act;
}

}  // namespace precast::fake_ep
