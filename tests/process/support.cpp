#include "process/support.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "process/pidfd_linux.hpp"

namespace precast::process::testing {
namespace {

using Clock = std::chrono::steady_clock;

bool wait_for(int descriptor, Clock::time_point deadline) {
  pollfd entry{.fd = descriptor, .events = POLLIN, .revents = 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    const int ready = ::poll(&entry, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

}  // namespace

Pipe::Pipe() {
  const auto ends = make_pipe();
  EXPECT_TRUE(ends.has_value());
  if (!ends) return;
  read = Descriptor(ends->first);
  write = Descriptor(ends->second);
}

std::optional<std::string> read_all(const Pipe& pipe, std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  std::string text;
  std::array<char, 4096> buffer;
  while (wait_for(pipe.read.get(), deadline)) {
    const ssize_t size = ::read(pipe.read.get(), buffer.data(), buffer.size());
    if (size <= 0) return size == 0 ? std::optional(text) : std::nullopt;
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return std::nullopt;
}

std::string read_line(const Pipe& pipe) {
  const auto deadline = Clock::now() + kPatience;
  std::string line;
  char byte = 0;
  while (wait_for(pipe.read.get(), deadline) && ::read(pipe.read.get(), &byte, 1) == 1 && byte != '\n') line += byte;
  return line;
}

ExitStatus end_of(Child& child, std::chrono::milliseconds limit) {
  const auto status = child.wait(limit);
  if (!status) ADD_FAILURE() << status.error().message;
  if (status && !status->has_value()) ADD_FAILURE() << "the child did not end";
  return status ? status->value_or(ExitStatus{}) : ExitStatus{};
}

ExitStatus end_of(const SpawnOptions& options) {
  auto child = Child::spawn(options);
  if (child) return end_of(*child);
  ADD_FAILURE() << child.error().message;
  return {};
}

bool is_running(Child& child) {
  const auto status = child.wait(std::chrono::milliseconds(0));
  if (!status) ADD_FAILURE() << status.error().message;
  return status && !status->has_value();
}

bool ends(int pid) {
  const Descriptor pidfd(open_pidfd(pid));
  return pidfd ? wait_for(pidfd.get(), Clock::now() + kPatience) : errno == ESRCH;
}

std::vector<int> open_descriptors() {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    found.push_back(std::stoi(entry.path().filename().string()));
  }
  // The one that listed them is closed by now.
  std::erase_if(found, [](int number) { return ::fcntl(number, F_GETFD) < 0; });
  std::ranges::sort(found);
  return found;
}

SpawnOptions helper_options(const std::string& helper, std::vector<std::string> arguments) {
  SpawnOptions options;
  options.program = std::filesystem::read_symlink("/proc/self/exe");
  options.arguments = {"--helper", helper};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  return options;
}

SpawnOptions shell_options(const std::string& script) {
  SpawnOptions options;
  options.program = "/bin/sh";
  options.arguments = {"-c", script};
  options.environment = {{"PATH", "/usr/bin:/bin"}};
  return options;
}

std::string output_of(SpawnOptions options) {
  Pipe output;
  options.descriptors.emplace_back(output.write.get(), STDOUT_FILENO);
  auto child = Child::spawn(options);
  output.write.reset();
  if (!child) {
    ADD_FAILURE() << child.error().message;
    return {};
  }
  const auto text = read_all(output);
  EXPECT_TRUE(text.has_value()) << "the output has no end";
  EXPECT_EQ(end_of(*child).describe(), "exit code 0");
  return text.value_or("");
}

}  // namespace precast::process::testing
