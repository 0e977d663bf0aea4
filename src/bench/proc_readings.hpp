// What the kernel says about processors, memory and accelerators: /proc, DRM's fdinfo, the NPU's sysfs. Parsers of the
// text apart from the reading, for tests. Whatever is not there or not understood is nullopt or empty, never an error:
// a monitor must not fail a run. Free-threaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace precast::bench {

// ---- text
// -------------------------------------------------------------------------------------------------------------

// In clock ticks of all processors together, since boot.
struct MachineTicks {
  std::uint64_t busy = 0;
  std::uint64_t total = 0;
};
// /proc/stat: its first line. Waiting for a disk counts as idle; guests are in the other numbers already.
[[nodiscard]] std::optional<MachineTicks> parse_machine_ticks(std::string_view stat);

// /proc/PID/stat: user and system time in clock ticks, and the resident set in pages.
struct ProcessUse {
  std::uint64_t ticks = 0;
  std::uint64_t rss_pages = 0;
};
[[nodiscard]] std::optional<ProcessUse> parse_process_use(std::string_view stat);

// The bytes of "VmHWM:     1744 kB" in /proc/PID/status.
[[nodiscard]] std::optional<std::uint64_t> parse_status_bytes(std::string_view status, std::string_view field);

// Busy time of one DRM client, by engine, from /proc/PID/fdinfo/N (the kernel's drm-usage-stats). Descriptors of one
// client all say the same: `client` tells them apart. nullopt: not a DRM descriptor, or one that keeps no times.
struct DrmClient {
  std::string client;  // driver, device and id
  std::map<std::string, std::uint64_t, std::less<>> busy_ns;
};
[[nodiscard]] std::optional<DrmClient> parse_drm_client(std::string_view fdinfo);

// ---- reading
// ----------------------------------------------------------------------------------------------------------

// Nanoseconds that engines have been busy: DRM's of this process as "render", ..., NPUs of the machine as "npu:accel0".
using EngineTimes = std::map<std::string, std::uint64_t, std::less<>>;

[[nodiscard]] std::string read_proc_file(const std::filesystem::path& path);  // empty if it cannot be
[[nodiscard]] EngineTimes read_drm_engines(const std::filesystem::path& fdinfo_folder = "/proc/self/fdinfo");
[[nodiscard]] EngineTimes read_npu_engines(const std::filesystem::path& accel_folder = "/sys/class/accel");

// This process and its descendants.
[[nodiscard]] std::set<int> own_processes();
[[nodiscard]] std::map<int, ProcessUse> read_process_uses(const std::set<int>& processes);
// Bytes resident, of all of them.
[[nodiscard]] std::uint64_t resident_bytes(const std::map<int, ProcessUse>& uses);
// The most that this process had resident since it began, or since the last reset.
[[nodiscard]] std::optional<std::uint64_t> peak_resident_bytes_of_self();
// From now on the peak is that of what follows; false where the kernel cannot do it, and then nothing has changed.
[[nodiscard]] bool reset_peak_resident();
// The largest peak of any one child that has ended and was waited for, and of their own such children; nullopt: there
// was none. The kernel counts what a child was before it became its program too: one that was spawned has at least the
// peak that this process had then, so a number no larger than peak_resident_bytes_of_self() may be this process's own.
[[nodiscard]] std::optional<std::uint64_t> peak_resident_bytes_of_children();

}  // namespace precast::bench
