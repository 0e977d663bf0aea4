#include "identity/host.hpp"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "identity/cpu_features_x86.hpp"
#include "identity/environment.hpp"
#include "support.hpp"

namespace precast::identity::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::Pair;

// A processor with AVX2, AVX-512, BF16 and AMX; what of it counts is for the operating system to say.
CpuidSource processor(std::uint64_t xcr0, bool osxsave = true) {
  CpuidSource source;
  source.cpuid = [osxsave](std::uint32_t leaf, std::uint32_t subleaf) -> CpuidRegisters {
    const std::uint32_t osxsave_bit = osxsave ? 1U << 27U : 0;
    if (leaf == 0) return {.eax = 7, .ebx = 0x756E6547, .ecx = 0x6C65746E, .edx = 0x49656E69};
    if (leaf == 1)
      return {.eax = 0x000806F8, .ebx = 0, .ecx = (1U << 28U) | (1U << 12U) | osxsave_bit, .edx = 1U << 26U};
    if (leaf == 7 && subleaf == 0)
      return {.eax = 1, .ebx = (1U << 5U) | (1U << 16U), .ecx = 1U << 11U, .edx = 1U << 24U};
    if (leaf == 7 && subleaf == 1) return {.eax = 1U << 5U};
    if (leaf == 0x80000000) return {.eax = 0x80000001};
    if (leaf == 0x80000001) return {.ecx = 1U << 5U};
    return {.eax = ~0U, .ebx = ~0U, .ecx = ~0U, .edx = ~0U};  // a leaf that it does not have: must not be believed
  };
  source.xcr0 = [xcr0] { return xcr0; };
  return source;
}

TEST(CpuFeatures, AreThoseThatTheOperatingSystemAllows) {
  EXPECT_THAT(read_cpu_features(processor(0x600E7)).features,
              ElementsAre("amx-tile", "avx", "avx2", "avx512bf16", "avx512f", "avx512vnni", "fma", "lzcnt", "sse2"));
  EXPECT_THAT(read_cpu_features(processor(0xE7)).features,
              ElementsAre("avx", "avx2", "avx512bf16", "avx512f", "avx512vnni", "fma", "lzcnt", "sse2"));
  EXPECT_THAT(read_cpu_features(processor(0x7)).features, ElementsAre("avx", "avx2", "fma", "lzcnt", "sse2"));
  EXPECT_THAT(read_cpu_features(processor(0x3)).features, ElementsAre("lzcnt", "sse2"));
  EXPECT_THAT(read_cpu_features(processor(0x600E7, false)).features, ElementsAre("lzcnt", "sse2"));
}

TEST(CpuFeatures, FamilyAndModelAreTheCombinedOnes) {
  const CpuFeatures cpu = read_cpu_features(processor(0));
  EXPECT_EQ(cpu.vendor, "GenuineIntel");
  EXPECT_EQ(cpu.family, 6U);
  EXPECT_EQ(cpu.model, 143U);  // Sapphire Rapids
}

TEST(CpuFeatures, AgreeWithTheKernelHere) {
  std::ifstream file("/proc/cpuinfo");
  std::map<std::string, std::string> info;
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const auto colon = line.find(':');
    info[line.substr(0, line.find_first_of("\t:"))] = line.size() > colon + 2 ? line.substr(colon + 2) : "";
  }
  const CpuFeatures& cpu = cpu_features();
  EXPECT_EQ(cpu.vendor, info["vendor_id"]);
  EXPECT_EQ(std::to_string(cpu.family), info["cpu family"]);
  EXPECT_EQ(std::to_string(cpu.model), info["model"]);
  std::istringstream words(info["flags"]);
  const std::vector<std::string> flags{std::istream_iterator<std::string>(words), {}};
  for (const char* name : {"avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16"}) {
    std::string ours = name;
    std::erase(ours, '_');
    const bool kernel = std::find(flags.begin(), flags.end(), name) != flags.end();
    EXPECT_EQ(std::find(cpu.features.begin(), cpu.features.end(), ours) != cpu.features.end(), kernel) << name;
  }
}

class Driver : public TempFolder {
 protected:
  std::string of(ort::DeviceClass device_class, std::uint32_t vendor) {
    ort::DeviceInfo device;
    device.device_class = device_class;
    device.vendor_id = vendor;
    return driver_version(fs::FileSystem::posix(), device, folder_);
  }
};

TEST_F(Driver, MetadataComesFirst) {
  ort::DeviceInfo device;
  device.device_class = ort::DeviceClass::npu;
  device.vendor_id = 0x8086;
  write("module/intel_vpu/version", "9.9\n");
  device.hardware_metadata["os_driver_version"] = "32.1";
  EXPECT_EQ(driver_version(fs::FileSystem::posix(), device, folder_), "32.1");
}

TEST_F(Driver, ModuleVersionElseKernelReleaseElseUnknown) {
  EXPECT_EQ(of(ort::DeviceClass::gpu, 0x10DE), "");
  write("module/nvidia/version", "570.86\n");
  EXPECT_EQ(of(ort::DeviceClass::gpu, 0x10DE), "nvidia 570.86");
  stdfs::create_directories(folder_ / "module/xe");
  const std::string release = host_system().kernel_release;
  ASSERT_FALSE(release.empty());
  EXPECT_EQ(of(ort::DeviceClass::gpu, 0x8086), "xe of kernel " + release);
  stdfs::create_directories(folder_ / "bus/pci/drivers/i915");
  EXPECT_EQ(of(ort::DeviceClass::gpu, 0x8086), "i915 of kernel " + release + ", xe of kernel " + release);
  EXPECT_EQ(of(ort::DeviceClass::npu, 0x8086), "");
  EXPECT_EQ(of(ort::DeviceClass::npu, 0x4D4F), "");
  EXPECT_EQ(of(ort::DeviceClass::cpu, 0x8086), "");
}

TEST(Environment, WorkerGetsTheAllowListOnly) {
  Settings settings = plain_settings("/ort", "/ep");
  settings.target.ep.found.spec = ort::find_ep("qnn");
  settings.worker_environment = {"EXTRA"};
  settings.environment = {{"PATH", "/bin"},         {"HOME", "/root"},   {"LANG", "C"},       {"TMPDIR", "/t"},
                          {"LD_LIBRARY_PATH", "l"}, {"LD_PRELOAD", "p"}, {"PRECAST_X", "1"},  {"QNN_LOG", "2"},
                          {"ONEDNN_VERBOSE", "3"},  {"EXTRA", "4"},      {"AWS_SECRET", "5"}, {"PATH", "second"}};
  EXPECT_THAT(
      worker_environment(settings),
      ElementsAre(Pair("PATH", "/bin"), Pair("HOME", "/root"), Pair("LANG", "C"), Pair("TMPDIR", "/t"),
                  Pair("LD_LIBRARY_PATH", "l"), Pair("PRECAST_X", "1"), Pair("QNN_LOG", "2"), Pair("EXTRA", "4")));
}

TEST(Environment, IdentityHasTheTablesSetVariablesAndEveryNamedOne) {
  Settings settings = plain_settings("/ort", "/ep");
  settings.target.ep.found.spec = ort::find_ep("openvino");
  settings.worker_environment = {"UNSET", "PATH"};
  settings.environment = {{"PATH", "/bin"}, {"ONEDNN_MAX_CPU_ISA", "AVX2"}, {"QNN_LOG", "2"}, {"HOME", "/root"}};
  EXPECT_THAT(identity_environment(settings),
              ElementsAre(Pair("ONEDNN_MAX_CPU_ISA", "AVX2"), Pair("PATH", "/bin"), Pair("UNSET", std::nullopt)));
}

}  // namespace
}  // namespace precast::identity::test
