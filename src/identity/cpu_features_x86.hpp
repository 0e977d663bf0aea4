// The processor as compilers see it: vendor, family, model, and the instruction sets that both the processor (CPUID)
// and the operating system (XCR0) allow. Not /proc/cpuinfo: its text varies between kernels and virtual machines.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace precast::identity {

struct CpuFeatures {
  std::string vendor;  // "GenuineIntel"
  std::uint32_t family = 0;
  std::uint32_t model = 0;
  std::vector<std::string> features;  // GCC's names ("avx512bf16"), sorted
  friend bool operator==(const CpuFeatures&, const CpuFeatures&) = default;
};

struct CpuidRegisters {
  std::uint32_t eax = 0;
  std::uint32_t ebx = 0;
  std::uint32_t ecx = 0;
  std::uint32_t edx = 0;
};

// Where the answers come from: the processor, or a test.
struct CpuidSource {
  std::function<CpuidRegisters(std::uint32_t leaf, std::uint32_t subleaf)> cpuid;
  std::function<std::uint64_t()> xcr0;  // asked only when CPUID says OSXSAVE
};

[[nodiscard]] CpuFeatures read_cpu_features(const CpuidSource& source);
// Of this processor; computed once per process.
[[nodiscard]] const CpuFeatures& cpu_features();

}  // namespace precast::identity
