// What /proc says about all processes, as one snapshot that may be stale a moment later. Whoever hunts processes by it
// takes another one until nothing new appears. Free-threaded.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace precast::process {

struct ProcessEntry {
  int pid = 0;
  int parent = 0;
  int group = 0;
  // 'R', 'S', 'Z', ... A 'Z' need not be dead: its first thread has ended, others may go on.
  char state = '?';
  std::uint64_t start_time = 0;  // in clock ticks since boot; with `pid` it names one process
};

// One line of /proc/PID/stat. The name in it is the process's own choice and may hold blanks and parentheses.
[[nodiscard]] std::optional<ProcessEntry> parse_process_stat(std::string_view line);

// Those that ended while reading are left out. Empty if /proc is not there.
[[nodiscard]] std::vector<ProcessEntry> read_process_table();

// Children of `pid`, their children and so on, without `pid` itself.
[[nodiscard]] std::set<int> descendants_of(int pid, const std::vector<ProcessEntry>& table);

// Children of the calling thread, ended ones too: one small read, so fast that a process which forks and exits over and
// over is still there when the list comes back. Empty where the kernel has no such file (CONFIG_PROC_CHILDREN).
[[nodiscard]] std::vector<int> children_of_this_thread();

// Signals the process of `entry` and never another one that got its number since.
void signal_process(const ProcessEntry& entry, int signal);

}  // namespace precast::process
