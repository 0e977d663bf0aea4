#include "bench/memory_monitor.hpp"

#include <cmath>
#include <cstring>
#include <fstream>
#include <new>

#include <sys/mman.h>
#include <sys/wait.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/program.hpp"

namespace precast::bench {
namespace {

using precast::testing::Folder;

// ---- text
// -------------------------------------------------------------------------------------------------------------

TEST(ProcReadings, MachineTicksCountGuestsOnceAndWaitingAsIdle) {
  const auto ticks = parse_machine_ticks("cpu  100 20 30 400 50 6 7 8 90 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n");
  ASSERT_TRUE(ticks);
  EXPECT_EQ(ticks->total, 621U);
  EXPECT_EQ(ticks->busy, 171U);
}

TEST(ProcReadings, WhatIsNotUnderstoodIsNotThere) {
  for (const char* text : {"", "cpu", "cpu 1 2 3\n", "cpu a b c d e\n", "intr 1 2 3 4 5\n"}) {
    EXPECT_FALSE(parse_machine_ticks(text)) << text;
  }
  for (const char* text : {"", "1 (x", "1 (x) R 1 2 3"}) EXPECT_FALSE(parse_process_use(text)) << text;
  for (const char* text : {"", "VmHWM:\n", "VmHWM: 12 MB\n", "VmHWM: x kB\n"}) {
    EXPECT_FALSE(parse_status_bytes(text, "VmHWM")) << text;
  }
}

TEST(ProcReadings, AProcessMayCallItselfWhatItLikes) {
  const auto use = parse_process_use(
      "2540 (a) b) 9) R 2531 2531 1017 0 -1 4194304 99 0 0 0 70 5 0 0 20 0 1 0 4185972 3133440 392 "
      "18446744073709551615 1");
  ASSERT_TRUE(use);
  EXPECT_EQ(use->ticks, 75U);
  EXPECT_EQ(use->rss_pages, 392U);
}

TEST(ProcReadings, PeakOfAProcess) {
  EXPECT_EQ(parse_status_bytes("Name:\tcat\nVmPeak:\t    3060 kB\nVmHWM:\t    1744 kB\n", "VmHWM"), 1744U * 1024);
}

constexpr const char* kDrm =
    "pos:\t0\nflags:\t02100002\ndrm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\ndrm-client-id:\t7\n"
    "drm-engine-render:\t9288864723 ns\ndrm-engine-video:\t2000 ns\ndrm-engine-capacity-video:\t2\n"
    "drm-memory-system0:\t12 KiB\ndrm-cycles-rcs:\t55\n";

TEST(ProcReadings, DrmEnginesShareTheirTime) {
  const auto client = parse_drm_client(kDrm);
  ASSERT_TRUE(client);
  EXPECT_EQ(client->client, "i915 0000:00:02.0 7");
  EXPECT_THAT(client->busy_ns,
              ::testing::ElementsAre(::testing::Pair("render", 9288864723U), ::testing::Pair("video", 1000U)));
  EXPECT_FALSE(parse_drm_client("pos:\t0\nflags:\t02\n"));
  EXPECT_FALSE(parse_drm_client("drm-driver:\tvirtio_gpu\n"));
}

void write(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

TEST(ProcReadings, ADrmClientWithTwoDescriptorsCountsOnce) {
  const Folder folder;
  write(folder / "fdinfo/3", kDrm);
  write(folder / "fdinfo/4", kDrm);
  write(folder / "fdinfo/5", "drm-driver: i915\ndrm-pdev: 0000:00:02.0\ndrm-client-id: 8\ndrm-engine-video: 4 ns\n");
  write(folder / "fdinfo/6", "pos: 0\n");
  EXPECT_EQ(read_drm_engines(folder / "fdinfo"), (EngineTimes{{"render", 9288864723U}, {"video", 1004U}}));
  EXPECT_TRUE(read_drm_engines(folder / "none").empty());
}

TEST(ProcReadings, AnNpuIsOneEngine) {
  const Folder folder;
  write(folder / "accel/accel0/device/npu_busy_time_us", "1234\n");
  write(folder / "accel/accel1/device/other", "1\n");
  EXPECT_EQ(read_npu_engines(folder / "accel"), (EngineTimes{{"npu:accel0", 1234000U}}));
}

// ---- what happened between readings
// -----------------------------------------------------------------------------------

HwReading reading(int ms, std::uint64_t busy, std::uint64_t total, std::map<int, ProcessUse> processes,
                  EngineTimes engines = {}) {
  return {.at = std::chrono::steady_clock::time_point(std::chrono::milliseconds(ms)),
          .machine = MachineTicks{busy, total},
          .processes = std::move(processes),
          .engines = std::move(engines)};
}

TEST(HwUsage, MeansAndPeaksAreOfTheIntervals) {
  HwUsage usage;
  usage.add(reading(0, 100, 1000, {{1, {10, 5}}}), 500);
  usage.add(reading(100, 110, 1020, {{1, {14, 5}}, {2, {900, 5}}}), 800);  // 50 %, own 20 %: a new child is not counted
  usage.add(reading(200, 130, 1040, {{1, {16, 5}}, {2, {906, 5}}}), 200);  // 100 %, own 40 %
  EXPECT_EQ(usage.cpu().mean_pct, 75.0);
  EXPECT_EQ(usage.cpu().process_mean_pct, 30.0);
  EXPECT_EQ(usage.cpu().peak_pct, 100.0);
  EXPECT_EQ(usage.cpu().sample_count, 2U);
  EXPECT_EQ(usage.ram({}).mean, 500.0);
  EXPECT_EQ(usage.ram({}).used, 200U);
  EXPECT_EQ(usage.ram({}).peak, 800U);
  EXPECT_EQ(usage.ram(900).peak, 900U);
  EXPECT_FALSE(usage.adapter());
  EXPECT_FALSE(usage.engine_time_ns());
}

TEST(HwUsage, OneReadingHasNoIntervals) {
  HwUsage usage;
  EXPECT_EQ(usage.ram({}).peak, std::nullopt);
  usage.add(reading(0, 1, 2, {}), 0);
  EXPECT_EQ(usage.cpu().mean_pct, std::nullopt);
  EXPECT_EQ(usage.cpu().sample_count, 0U);
  EXPECT_EQ(usage.ram({}).mean, std::nullopt);
}

TEST(HwUsage, AnAdapterIsAsBusyAsItsBusiestEngine) {
  HwUsage usage;
  usage.add(reading(0, 0, 10, {}, {{"render", 1000}}), 0);
  usage.add(reading(1, 0, 20, {}, {{"render", 251000}, {"video", 7}}), 0);       // 25 %; video is new
  usage.add(reading(2, 0, 30, {}, {{"render", 251000}, {"video", 750007}}), 0);  // 75 %
  usage.add(reading(3, 0, 40, {}, {{"render", 5}, {"video", 750007}}), 0);       // render began anew
  ASSERT_TRUE(usage.adapter());
  EXPECT_NEAR(usage.adapter()->mean_pct.value(), 100.0 / 3, 1e-9);
  EXPECT_EQ(usage.adapter()->peak_pct, 75.0);
  EXPECT_EQ(usage.adapter()->sample_count, 3U);
  EXPECT_EQ(usage.engine_time_ns(), 1000000U);
}

// ---- the real /proc
// ---------------------------------------------------------------------------------------------------

TEST(MemoryMonitor, KeepsWhatItReadAtEachPoint) {
  std::uint64_t bytes = 0;
  MemoryMonitor monitor([&bytes] { return std::optional(bytes += 10); });
  monitor.checkpoint(Checkpoint::baseline);
  monitor.checkpoint(Checkpoint::after_inference);
  EXPECT_EQ(monitor.section().rss.baseline, 10U);
  EXPECT_EQ(monitor.section().rss.after_compile, std::nullopt);
  EXPECT_EQ(monitor.section().rss.after_inference, 20U);
  EXPECT_EQ(monitor.section().vram_local.baseline, std::nullopt);
}

// Peaks as they would be read: each reset leaves `after_reset`.
struct FakePeaks {
  std::optional<std::uint64_t> own = 700;
  std::optional<std::uint64_t> children;
  bool can_reset = true;
  std::uint64_t after_reset = 300;
  [[nodiscard]] PeakReadings readings() {
    return {.own = [this] { return own; },
            .reset =
                [this] {
                  if (can_reset) own = after_reset;
                  return can_reset;
                },
            .children = [this] { return children; }};
  }
};

TEST(MemoryMonitor, EachPhaseHasAPeakOfItsOwn) {
  FakePeaks peaks;
  MemoryMonitor monitor([] { return std::nullopt; }, peaks.readings());
  monitor.phase_ends(PeakPhase::load);
  peaks.own = 500;
  monitor.phase_ends(PeakPhase::first_run);
  peaks.own = 400;
  monitor.phase_ends(PeakPhase::steady);
  EXPECT_EQ(monitor.section().peaks.load, 700U);
  EXPECT_EQ(monitor.section().peaks.first_run, 500U);
  EXPECT_EQ(monitor.section().peaks.steady, 400U);
  EXPECT_EQ(monitor.own_peak(), 700U);
  peaks.own = 800;
  EXPECT_EQ(monitor.own_peak(), 800U);
}

TEST(MemoryMonitor, APeakThatCannotBeginAnewIsNoLaterPhases) {
  FakePeaks peaks{.can_reset = false};
  MemoryMonitor monitor([] { return std::nullopt; }, peaks.readings());
  monitor.phase_ends(PeakPhase::load);
  monitor.phase_ends(PeakPhase::first_run);
  peaks.can_reset = true;
  monitor.phase_ends(PeakPhase::steady);
  EXPECT_EQ(monitor.section().peaks.load, 700U);
  EXPECT_EQ(monitor.section().peaks.first_run, std::nullopt);
  EXPECT_EQ(monitor.section().peaks.steady, std::nullopt);
}

TEST(MemoryMonitor, WithoutTheEndOfTheLoadAPeakMayBeTheLoads) {
  FakePeaks peaks;
  MemoryMonitor monitor([] { return std::nullopt; }, peaks.readings());
  monitor.phase_ends(PeakPhase::first_run);
  EXPECT_EQ(monitor.section().peaks.first_run, std::nullopt);
}

TEST(MemoryMonitor, AWorkersPeakIsOnlyWhatCannotBeThisProcesss) {
  for (const auto& [children, expected] :
       std::vector<std::pair<std::optional<std::uint64_t>, std::optional<std::uint64_t>>>{
           {701, 701}, {700, std::nullopt}, {5, std::nullopt}, {std::nullopt, std::nullopt}}) {
    FakePeaks peaks{.children = children};
    MemoryMonitor monitor([] { return std::nullopt; }, peaks.readings());
    monitor.phase_ends(PeakPhase::load);
    EXPECT_EQ(monitor.section().peaks.workers, expected);
  }
}

// Resident while it lives, and not a byte longer.
class Touched {
 public:
  explicit Touched(std::size_t bytes)
      : bytes_(bytes), at_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (at_ == MAP_FAILED) throw std::bad_alloc();
    std::memset(at_, 1, bytes);
  }
  ~Touched() { ::munmap(at_, bytes_); }
  Touched(const Touched&) = delete;
  Touched& operator=(const Touched&) = delete;

 private:
  std::size_t bytes_;
  void* at_;
};

constexpr std::size_t kMib = std::size_t{1} << 20U;

TEST(MemoryMonitor, RealPeaksAreOfTheirPhases) {
  if (!reset_peak_resident()) GTEST_SKIP() << "this kernel begins no peak anew";
  MemoryMonitor monitor;
  {
    const Touched large(64 * kMib);
  }
  monitor.phase_ends(PeakPhase::load);
  {
    const Touched small(8 * kMib);
  }
  monitor.phase_ends(PeakPhase::first_run);
  {
    const Touched larger(96 * kMib);
  }
  monitor.phase_ends(PeakPhase::steady);
  const MemoryPeaks peaks = monitor.section().peaks;
  EXPECT_GE(peaks.load.value(), peaks.first_run.value() + 40 * kMib);
  EXPECT_GE(peaks.steady.value(), peaks.load.value() + 20 * kMib);
  EXPECT_EQ(monitor.own_peak(), peaks.steady);
  EXPECT_LT(peak_resident_bytes_of_self().value(), peaks.steady.value() - 40 * kMib);

  HwMonitor hw;
  hw.start();
  hw.stop();
  EXPECT_EQ(hw.section("cpu", monitor.own_peak()).ram.peak, peaks.steady);
}

TEST(MemoryMonitor, AChildsPeakIsKnownWhenItWasWaitedFor) {
  const std::uint64_t own = peak_resident_bytes_of_self().value();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const Touched large(own + 64 * kMib);
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_GE(peak_resident_bytes_of_children().value(), own + 64 * kMib);
  MemoryMonitor monitor;
  monitor.phase_ends(PeakPhase::load);
  EXPECT_EQ(monitor.section().peaks.workers, peak_resident_bytes_of_children());
}

TEST(MemoryMonitor, ReadsThisProcess) {
  EXPECT_TRUE(own_processes().contains(::getpid()));
  EXPECT_GT(resident_bytes_now().value(), 1U << 20U);
  EXPECT_GT(peak_resident_bytes_of_self().value(), 1U << 20U);
}

TEST(HwMonitor, SamplesTheMachineUntilItIsStopped) {
  HwMonitor monitor(std::chrono::milliseconds(1));
  monitor.start();
  monitor.start();
  // Until a tick of a clock has passed somewhere; whatever the machine does, time goes on.
  const auto first = parse_machine_ticks(read_proc_file("/proc/stat")).value();
  double work = 1;
  while (parse_machine_ticks(read_proc_file("/proc/stat"))->total < first.total + 4) work = std::sqrt(work + 1);
  monitor.stop();
  monitor.stop();
  const HwMonitorSection section = monitor.section("cpu");
  EXPECT_TRUE(section.monitor.value().starts_with("proc"));
  EXPECT_EQ(section.device_kind, "cpu");
  EXPECT_GT(section.cpu.sample_count, 0U);
  EXPECT_TRUE(section.cpu.mean_pct);
  EXPECT_LE(section.cpu.mean_pct.value(), section.cpu.peak_pct.value());
  EXPECT_LE(section.cpu.peak_pct.value(), 100.0);
  EXPECT_GT(section.ram.mean.value(), 1 << 20);
  EXPECT_GE(section.ram.peak.value(), section.ram.used.value());
}

TEST(HwMonitor, ThatNeverRanKnowsNothing) {
  HwMonitor monitor;
  monitor.stop();
  EXPECT_EQ(monitor.section("npu").monitor, std::nullopt);
  EXPECT_EQ(monitor.section("npu").ram.peak, std::nullopt);
}

TEST(HwMonitor, EndsWithItsOwner) {
  HwMonitor monitor(std::chrono::hours(1));
  monitor.start();
}

}  // namespace
}  // namespace precast::bench
