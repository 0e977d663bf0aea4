#include "measure.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include <sys/resource.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <spawn.h>
#include <unistd.h>

#include "bench/ratio.hpp"
#include "bench/statistics.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants it declared by the program

namespace precast::bench {

namespace {

double high_water_mark_mb(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::strtod(line.c_str() + std::strlen("VmHWM:"), nullptr) / 1024;
  }
  return 0;  // it has ended
}

class Started {
 public:
  explicit Started(const Program& program) {
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    read_ = pipe[0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe[1], 1);
    posix_spawn_file_actions_adddup2(&actions, pipe[1], 2);
    std::vector<std::string> environment;
    for (char** variable = environ; *variable != nullptr; ++variable) environment.emplace_back(*variable);
    for (const auto& [name, value] : program.environment) environment.push_back(name + "=" + value);
    std::vector<char*> arguments = pointers(program.command);
    std::vector<char*> variables = pointers(environment);
    const int error =
        ::posix_spawn(&pid_, program.command.front().c_str(), &actions, nullptr, arguments.data(), variables.data());
    posix_spawn_file_actions_destroy(&actions);
    ::close(pipe[1]);
    if (error != 0) throw std::runtime_error("cannot run " + program.command.front());
  }

  rusage wait() {
    char block[4096];
    for (;;) {
      pollfd readable{read_, POLLIN, 0};
      if (::poll(&readable, 1, 10) == 0) {
        own_peak_mb_ = std::max(own_peak_mb_, high_water_mark_mb(pid_));
        continue;
      }
      const ssize_t n = ::read(read_, block, sizeof block);
      if (n <= 0) break;
      text_.append(block, static_cast<std::size_t>(n));
    }
    ::close(read_);
    int status = 0;
    rusage usage{};
    ::wait4(pid_, &status, 0, &usage);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw std::runtime_error("a measured program failed: " + text_);
    return usage;
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] double own_peak_mb() const { return own_peak_mb_; }

 private:
  static std::vector<char*> pointers(const std::vector<std::string>& strings) {
    std::vector<char*> result;
    result.reserve(strings.size() + 1);
    for (const std::string& text : strings) result.push_back(const_cast<char*>(text.c_str()));
    result.push_back(nullptr);
    return result;
  }
  pid_t pid_ = 0;
  int read_ = -1;
  double own_peak_mb_ = 0;
  std::string text_;
};

std::map<std::string, double> numbers_of(const std::string& text) {
  std::map<std::string, double> parts;
  const std::size_t begin = text.find('{');
  if (begin == std::string::npos) return parts;
  const auto json = nlohmann::json::parse(text.substr(begin, text.find('\n', begin) - begin), nullptr, false);
  if (!json.is_object()) return parts;
  const auto& numbers = json.contains("timings_ms") ? json["timings_ms"] : json;
  const auto flat = numbers.flatten();  // "/name", "/name/of/a/part"
  for (const auto& [name, value] : flat.items()) {
    if (value.is_number()) parts[name.substr(1)] = value.get<double>();
  }
  return parts;
}

}  // namespace

Sample run(const Program& program) {
  const auto start = std::chrono::steady_clock::now();
  Started started(program);
  const rusage usage = started.wait();
  Sample sample;
  sample.wall_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  sample.peak_mb = static_cast<double>(usage.ru_maxrss) / 1024;
  sample.own_peak_mb = started.own_peak_mb();
  sample.parts = numbers_of(started.text());
  return sample;
}

double run_at_once(const Program& program, int count) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<Started> all;
  all.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) all.emplace_back(program);
  for (Started& one : all) (void)one.wait();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return percentile(values, 0.5);
}

Comparison compare(const std::vector<double>& ours, const std::vector<double>& theirs) {
  Comparison result;
  result.ours = median(ours);
  result.theirs = median(theirs);
  result.ratio = result.ours / result.theirs;
  std::vector<double> differences;
  differences.reserve(ours.size());
  for (std::size_t i = 0; i < ours.size(); ++i) differences.push_back(ours[i] - theirs[i]);
  result.extra = median(differences);
  const auto ratio = ratio_of_medians(ours, theirs, 1);
  result.low = ratio ? ratio->ci95_low.value_or(result.ratio) : result.ratio;
  result.high = ratio ? ratio->ci95_high.value_or(result.ratio) : result.ratio;
  return result;
}

int run_to_end(const char* program, const std::function<void()>& body) {
  try {
    body();
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", program, e.what());
    return 1;
  }
}

}  // namespace precast::bench
