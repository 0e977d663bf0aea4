#include <fstream>
#include <string>

#include <sys/utsname.h>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/environment.hpp"
#include "util/text.hpp"

namespace precast::bench {

namespace {

// The value of the first line that begins with `name`; empty if there is none.
std::string value_in(const char* file, std::string_view name, char separator) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    std::string value(util::trim(std::string_view(line).substr(at + 1)));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
    return util::escape_to_line(value);
  }
  return {};
}

}  // namespace

void fill_environment(EnvironmentSection& environment) {
  utsname names{};
  std::string os = value_in("/etc/os-release", "PRETTY_NAME=", '=');
  if (::uname(&names) == 0) {
    if (!os.empty()) os += ", ";
    os += std::string(names.sysname) + " " + names.release + " " + names.machine;
  }
  if (!os.empty()) environment.os = os;
  if (std::string cpu = value_in("/proc/cpuinfo", "model name", ':'); !cpu.empty()) {
    const long processors = ::sysconf(_SC_NPROCESSORS_ONLN);
    if (processors > 0) cpu += fmt::format(", {} processors", processors);
    environment.cpu = std::move(cpu);
  }
}

}  // namespace precast::bench
