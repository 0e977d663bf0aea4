#include "process/process_table_linux.hpp"

#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "process/descriptor_posix.hpp"
#include "process/pidfd_linux.hpp"

namespace precast::process {
namespace {

// Places after the name, from 0: state ppid pgrp ... starttime (fields 3, 4, 5 and 22 of proc(5)).
constexpr std::size_t kState = 0;
constexpr std::size_t kParent = 1;
constexpr std::size_t kGroup = 2;
constexpr std::size_t kStartTime = 19;

template <typename Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

// The name is at most 64 bytes and every field a number: a stat line never fills this.
std::optional<ProcessEntry> read_process(const std::string& pid_text) {
  const Descriptor file(::open(("/proc/" + pid_text + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::array<char, 2048> buffer;
  const ssize_t size = ::read(file.get(), buffer.data(), buffer.size());
  if (size <= 0) return std::nullopt;
  return parse_process_stat({buffer.data(), static_cast<std::size_t>(size)});
}

}  // namespace

std::optional<ProcessEntry> parse_process_stat(std::string_view line) {
  ProcessEntry entry;
  const auto name_end = line.rfind(") ");
  const auto pid_end = line.find(' ');
  if (name_end == std::string_view::npos || !parse_number(line.substr(0, pid_end), entry.pid)) return std::nullopt;

  std::array<std::string_view, kStartTime + 1> fields;
  std::string_view rest = line.substr(name_end + 2);
  for (auto& field : fields) {
    const auto end = rest.find_first_of(" \n");
    field = rest.substr(0, end);
    if (field.empty()) return std::nullopt;
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  }
  entry.state = fields[kState].front();
  const bool numbers = parse_number(fields[kParent], entry.parent) && parse_number(fields[kGroup], entry.group) &&
                       parse_number(fields[kStartTime], entry.start_time);
  return numbers ? std::optional(entry) : std::nullopt;
}

std::vector<ProcessEntry> read_process_table() {
  std::vector<ProcessEntry> table;
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc", error);
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (name.front() < '0' || name.front() > '9') continue;
    if (const auto entry = read_process(name)) table.push_back(*entry);
  }
  return table;
}

std::set<int> descendants_of(int pid, const std::vector<ProcessEntry>& table) {
  std::multimap<int, int> children;
  for (const auto& entry : table) children.emplace(entry.parent, entry.pid);

  std::set<int> found;
  std::vector<int> open = {pid};
  while (!open.empty()) {
    const auto [first, last] = children.equal_range(open.back());
    open.pop_back();
    for (auto child = first; child != last; ++child) {
      // A snapshot is not of one moment: re-used numbers could close a circle in it.
      if (child->second != pid && found.insert(child->second).second) open.push_back(child->second);
    }
  }
  return found;
}

std::vector<int> children_of_this_thread() {
  std::vector<int> children;
  const Descriptor file(::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> buffer;  // what does not fit into it is seen when these have ended
  const ssize_t size = file ? ::read(file.get(), buffer.data(), buffer.size()) : 0;
  if (size <= 0) return children;
  std::string_view rest(buffer.data(), static_cast<std::size_t>(size));
  // Every number is followed by a blank: one without is cut off.
  for (auto end = rest.find(' '); end != std::string_view::npos; end = rest.find(' ')) {
    int pid = 0;
    if (parse_number(rest.substr(0, end), pid)) children.push_back(pid);
    rest.remove_prefix(end + 1);
  }
  return children;
}

void signal_process(const ProcessEntry& entry, int signal) {
  const Descriptor pidfd(open_pidfd(entry.pid));
  if (!pidfd) return;  // it has ended
  const auto now = read_process(std::to_string(entry.pid));
  if (!now || now->start_time != entry.start_time) return;
  send_signal(pidfd.get(), signal);  // fails only if it has ended since, or belongs to another user
}

}  // namespace precast::process
