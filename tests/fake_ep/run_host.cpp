#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <sys/syscall.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "host.hpp"

namespace precast::fake_ep::test {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLimit = std::chrono::seconds(60);
constexpr std::chrono::milliseconds kGrace(200);  // for a deaf host, which is asleep already

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> environment_of_host(const Variables& variables) {
  std::vector<std::string> entries = {"ORT_DISABLE_TELEMETRY=1"};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("FAKE_EP_")) entries.emplace_back(*entry);
  }
  for (const auto& [name, value] : variables) entries.push_back(std::string(name).append("=").append(value));
  return entries;
}

// A nameless file: a child that floods it blocks nobody.
int unnamed_file() {
  const int fd = ::open(fs::temp_directory_path().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "O_TMPFILE");
  return fd;
}

std::string take_content(int fd) {
  std::string content(static_cast<std::size_t>(::lseek(fd, 0, SEEK_END)), '\0');
  const auto size = ::pread(fd, content.data(), content.size(), 0);
  content.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  ::close(fd);
  return content;
}

// Waits until the process has ended, at most so long.
bool wait_for_end(pid_t pid, std::chrono::milliseconds limit) {
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  pollfd ended{.fd = pidfd, .events = POLLIN, .revents = 0};
  const bool in_time = ::poll(&ended, 1, static_cast<int>(limit.count())) == 1;
  ::close(pidfd);
  return in_time;
}

struct Process {
  pid_t pid;
  int output;
  int errors;
};

Process start(const std::vector<std::string>& steps, const Variables& variables) {
  std::vector<std::string> arguments = {"fake_ep_test", "--host"};
  arguments.insert(arguments.end(), steps.begin(), steps.end());
  std::vector<std::string> entries = environment_of_host(variables);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(entries);
  Process process{.pid = 0, .output = unnamed_file(), .errors = unnamed_file()};
  process.pid = ::fork();
  if (process.pid == 0) {
    ::dup2(process.output, STDOUT_FILENO);
    ::dup2(process.errors, STDERR_FILENO);
    ::execve("/proc/self/exe", argv.data(), envp.data());
    ::_exit(127);
  }
  return process;
}

Ended collect(const Process& process) {
  Ended ended;
  int status = 0;
  ::waitpid(process.pid, &status, 0);
  if (WIFEXITED(status)) ended.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  ended.output = take_content(process.output);
  ended.errors = take_content(process.errors);
  return ended;
}

}  // namespace

Ended run_host(const std::vector<std::string>& steps, const Variables& variables) {
  Process process = start(steps, variables);
  if (!wait_for_end(process.pid, kLimit)) ::kill(process.pid, SIGKILL);
  return collect(process);
}

Ended run_hanging_host(const std::vector<std::string>& steps, const Variables& variables) {
  Process process = start(steps, variables);
  const fs::path trace = variables.at("FAKE_EP_TRACE");
  const auto deadline = std::chrono::steady_clock::now() + kLimit;
  while (std::ranges::count(events(trace), "hang") == 0 && std::chrono::steady_clock::now() < deadline) {
    if (wait_for_end(process.pid, std::chrono::milliseconds(5))) return collect(process);
  }
  ::kill(process.pid, SIGTERM);
  if (!wait_for_end(process.pid, kGrace)) ::kill(process.pid, SIGKILL);
  return collect(process);
}

std::vector<float> outputs(const Ended& host, std::size_t n) {
  std::istringstream lines(host.output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("output") || n-- > 0) continue;
    std::istringstream words(line.substr(std::string_view("output").size()));
    std::vector<float> values;
    for (float value = 0; words >> value;) values.push_back(value);
    return values;
  }
  throw std::runtime_error("no such output line in:\n" + host.output + host.errors);
}

std::vector<std::string> events(const fs::path& trace) {
  std::vector<std::string> names;
  std::ifstream in(trace);
  for (std::string line; std::getline(in, line);) names.push_back(line.substr(0, line.find(' ')));
  return names;
}

}  // namespace precast::fake_ep::test
