#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <system_error>

#include <sys/resource.h>

#include <unistd.h>

#include "bench/proc_readings.hpp"
#include "process/process_table_linux.hpp"
#include "util/text.hpp"

namespace precast::bench {
namespace {

namespace stdfs = std::filesystem;

std::optional<std::uint64_t> to_number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return number;
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  while (true) {
    const std::size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos) return found;
    line.remove_prefix(start);
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    found.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

// "key: value" lines.
std::map<std::string, std::string, std::less<>> parse_pairs(std::string_view text) {
  std::map<std::string, std::string, std::less<>> pairs;
  for (const std::string& line : util::split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string_view view = line;
    pairs.emplace(util::trim(view.substr(0, colon)), util::trim(view.substr(colon + 1)));
  }
  return pairs;
}

std::string value_of(const std::map<std::string, std::string, std::less<>>& pairs, std::string_view key) {
  const auto found = pairs.find(key);
  return found == pairs.end() ? std::string() : found->second;
}

// An unreadable folder is an empty one.
std::vector<stdfs::path> entries_of(const stdfs::path& folder) {
  std::vector<stdfs::path> entries;
  std::error_code error;
  for (stdfs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  return entries;
}

}  // namespace

std::optional<MachineTicks> parse_machine_ticks(std::string_view stat) {
  constexpr std::size_t idle = 3;
  constexpr std::size_t wait = 4;
  constexpr std::size_t first_guest = 8;
  const std::vector<std::string_view> fields = words(stat.substr(0, stat.find('\n')));
  if (fields.size() < 1 + wait || fields.front() != "cpu") return std::nullopt;
  MachineTicks ticks;
  for (std::size_t i = 0; i < std::min(fields.size() - 1, first_guest); ++i) {
    const auto number = to_number(fields[i + 1]);
    if (!number) return std::nullopt;
    ticks.total += *number;
    if (i != idle && i != wait) ticks.busy += *number;
  }
  return ticks;
}

std::optional<ProcessUse> parse_process_use(std::string_view stat) {
  // The name in parentheses is the process's own choice: only what follows the last one counts.
  constexpr std::size_t user = 11;
  constexpr std::size_t system = 12;
  constexpr std::size_t rss = 21;
  const std::size_t end_of_name = stat.rfind(')');
  if (end_of_name == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> fields = words(stat.substr(end_of_name + 1));
  if (fields.size() <= rss) return std::nullopt;
  const auto user_ticks = to_number(fields[user]);
  const auto system_ticks = to_number(fields[system]);
  const auto pages = to_number(fields[rss]);
  if (!user_ticks || !system_ticks || !pages) return std::nullopt;
  return ProcessUse{.ticks = *user_ticks + *system_ticks, .rss_pages = *pages};
}

std::optional<std::uint64_t> parse_status_bytes(std::string_view status, std::string_view field) {
  const std::string value = value_of(parse_pairs(status), field);
  if (!value.ends_with(" kB")) return std::nullopt;
  const auto kib = to_number(value);
  return kib ? std::optional(*kib * 1024) : std::nullopt;
}

std::optional<DrmClient> parse_drm_client(std::string_view fdinfo) {
  constexpr std::string_view engine = "drm-engine-";
  constexpr std::string_view capacity = "drm-engine-capacity-";
  const auto pairs = parse_pairs(fdinfo);
  const std::string driver = value_of(pairs, "drm-driver");
  if (driver.empty()) return std::nullopt;
  DrmClient client;
  client.client = driver + " " + value_of(pairs, "drm-pdev") + " " + value_of(pairs, "drm-client-id");
  for (const auto& [key, value] : pairs) {
    const auto time = to_number(value);
    if (!key.starts_with(engine) || key.starts_with(capacity) || !value.ends_with(" ns") || !time) continue;
    const std::string name = key.substr(engine.size());
    // Several engines of a kind count their times together.
    const std::uint64_t engines = to_number(value_of(pairs, std::string(capacity) + name)).value_or(1);
    client.busy_ns[name] = *time / std::max<std::uint64_t>(engines, 1);
  }
  if (client.busy_ns.empty()) return std::nullopt;
  return client;
}

std::string read_proc_file(const stdfs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

EngineTimes read_drm_engines(const stdfs::path& fdinfo_folder) {
  EngineTimes times;
  std::set<std::string> clients;
  for (const stdfs::path& path : entries_of(fdinfo_folder)) {
    const auto client = parse_drm_client(read_proc_file(path));
    if (!client || !clients.insert(client->client).second) continue;
    for (const auto& [engine, busy] : client->busy_ns) times[engine] += busy;
  }
  return times;
}

EngineTimes read_npu_engines(const stdfs::path& accel_folder) {
  EngineTimes times;
  for (const stdfs::path& path : entries_of(accel_folder)) {
    const auto busy_us = to_number(read_proc_file(path / "device/npu_busy_time_us"));
    if (busy_us) times["npu:" + path.filename().string()] = *busy_us * 1000;
  }
  return times;
}

std::set<int> own_processes() {
  std::set<int> processes = process::descendants_of(::getpid(), process::read_process_table());
  processes.insert(::getpid());
  return processes;
}

std::map<int, ProcessUse> read_process_uses(const std::set<int>& processes) {
  std::map<int, ProcessUse> uses;
  for (const int pid : processes) {
    const auto use = parse_process_use(read_proc_file("/proc/" + std::to_string(pid) + "/stat"));
    if (use) uses[pid] = *use;  // else it has ended
  }
  return uses;
}

std::uint64_t resident_bytes(const std::map<int, ProcessUse>& uses) {
  std::uint64_t pages = 0;
  for (const auto& [pid, use] : uses) pages += use.rss_pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::optional<std::uint64_t> peak_resident_bytes_of_self() {
  return parse_status_bytes(read_proc_file("/proc/self/status"), "VmHWM");
}

bool reset_peak_resident() {
  std::ofstream file("/proc/self/clear_refs", std::ios::binary);
  file << "5";  // proc(5): of what this file clears, the peak alone
  return file.flush().good();
}

std::optional<std::uint64_t> peak_resident_bytes_of_children() {
  rusage usage{};
  if (::getrusage(RUSAGE_CHILDREN, &usage) != 0 || usage.ru_maxrss <= 0) return std::nullopt;
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace precast::bench
