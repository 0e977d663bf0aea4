#include "identity/cpu_features_x86.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include <cpuid.h>

namespace precast::identity {
namespace {

// XCR0: the register states that the operating system saves. Without them the instructions fault.
constexpr std::uint64_t kNoState = 0;
constexpr std::uint64_t kAvx = 0x6;      // SSE, AVX
constexpr std::uint64_t kAvx512 = 0xE6;  // and opmask, upper halves of ZMM0-15, ZMM16-31
constexpr std::uint64_t kAmx = 0x60000;  // tile configuration and data
constexpr std::uint64_t kApx = std::uint64_t{1} << 19U;

enum class Register : std::uint8_t { eax, ebx, ecx, edx };
using enum Register;

struct Feature {
  std::string_view name;
  std::uint32_t leaf;
  std::uint32_t subleaf;
  Register in;
  std::uint32_t bit;
  std::uint64_t state;
};

constexpr std::uint32_t kExtended = 0x80000001;

// Intel SDM volume 2A (CPUID), AMD APM volume 3 appendix E.
constexpr std::array kFeatures = {
    Feature{"sse", 1, 0, edx, 25, kNoState},
    Feature{"sse2", 1, 0, edx, 26, kNoState},
    Feature{"sse3", 1, 0, ecx, 0, kNoState},
    Feature{"pclmul", 1, 0, ecx, 1, kNoState},
    Feature{"ssse3", 1, 0, ecx, 9, kNoState},
    Feature{"fma", 1, 0, ecx, 12, kAvx},
    Feature{"cx16", 1, 0, ecx, 13, kNoState},
    Feature{"sse4.1", 1, 0, ecx, 19, kNoState},
    Feature{"sse4.2", 1, 0, ecx, 20, kNoState},
    Feature{"movbe", 1, 0, ecx, 22, kNoState},
    Feature{"popcnt", 1, 0, ecx, 23, kNoState},
    Feature{"aes", 1, 0, ecx, 25, kNoState},
    Feature{"avx", 1, 0, ecx, 28, kAvx},
    Feature{"f16c", 1, 0, ecx, 29, kAvx},
    Feature{"bmi", 7, 0, ebx, 3, kNoState},
    Feature{"avx2", 7, 0, ebx, 5, kAvx},
    Feature{"bmi2", 7, 0, ebx, 8, kNoState},
    Feature{"avx512f", 7, 0, ebx, 16, kAvx512},
    Feature{"avx512dq", 7, 0, ebx, 17, kAvx512},
    Feature{"adx", 7, 0, ebx, 19, kNoState},
    Feature{"avx512ifma", 7, 0, ebx, 21, kAvx512},
    Feature{"avx512pf", 7, 0, ebx, 26, kAvx512},
    Feature{"avx512er", 7, 0, ebx, 27, kAvx512},
    Feature{"avx512cd", 7, 0, ebx, 28, kAvx512},
    Feature{"sha", 7, 0, ebx, 29, kNoState},
    Feature{"avx512bw", 7, 0, ebx, 30, kAvx512},
    Feature{"avx512vl", 7, 0, ebx, 31, kAvx512},
    Feature{"avx512vbmi", 7, 0, ecx, 1, kAvx512},
    Feature{"avx512vbmi2", 7, 0, ecx, 6, kAvx512},
    Feature{"gfni", 7, 0, ecx, 8, kNoState},
    Feature{"vaes", 7, 0, ecx, 9, kAvx},
    Feature{"vpclmulqdq", 7, 0, ecx, 10, kAvx},
    Feature{"avx512vnni", 7, 0, ecx, 11, kAvx512},
    Feature{"avx512bitalg", 7, 0, ecx, 12, kAvx512},
    Feature{"avx512vpopcntdq", 7, 0, ecx, 14, kAvx512},
    Feature{"avx5124vnniw", 7, 0, edx, 2, kAvx512},
    Feature{"avx5124fmaps", 7, 0, edx, 3, kAvx512},
    Feature{"avx512vp2intersect", 7, 0, edx, 8, kAvx512},
    Feature{"amx-bf16", 7, 0, edx, 22, kAmx},
    Feature{"avx512fp16", 7, 0, edx, 23, kAvx512},
    Feature{"amx-tile", 7, 0, edx, 24, kAmx},
    Feature{"amx-int8", 7, 0, edx, 25, kAmx},
    Feature{"avxvnni", 7, 1, eax, 4, kAvx},
    Feature{"avx512bf16", 7, 1, eax, 5, kAvx512},
    Feature{"amx-fp16", 7, 1, eax, 21, kAmx},
    Feature{"avxifma", 7, 1, eax, 23, kAvx},
    Feature{"avxvnniint8", 7, 1, edx, 4, kAvx},
    Feature{"avxneconvert", 7, 1, edx, 5, kAvx},
    Feature{"amx-complex", 7, 1, edx, 8, kAmx},
    Feature{"avxvnniint16", 7, 1, edx, 10, kAvx},
    Feature{"avx10", 7, 1, edx, 19, kAvx},
    Feature{"apxf", 7, 1, edx, 21, kApx},
    Feature{"amx-fp8", 0x1E, 1, eax, 4, kAmx},
    Feature{"amx-transpose", 0x1E, 1, eax, 5, kAmx},
    Feature{"amx-tf32", 0x1E, 1, eax, 6, kAmx},
    Feature{"amx-avx512", 0x1E, 1, eax, 7, kAmx},
    Feature{"amx-movrs", 0x1E, 1, eax, 8, kAmx},
    Feature{"lzcnt", kExtended, 0, ecx, 5, kNoState},
    Feature{"sse4a", kExtended, 0, ecx, 6, kNoState},
    Feature{"xop", kExtended, 0, ecx, 11, kAvx},
    Feature{"fma4", kExtended, 0, ecx, 16, kAvx},
};

std::uint32_t value_of(const CpuidRegisters& registers, Register in) {
  switch (in) {
    case eax:
      return registers.eax;
    case ebx:
      return registers.ebx;
    case ecx:
      return registers.ecx;
    case edx:
      return registers.edx;
  }
  return 0;
}

// Answers zeros for leaves that the processor does not have (some answer them with the last leaf they know).
class Leaves {
 public:
  explicit Leaves(const CpuidSource& source) : source_(source) {
    basic_ = source_.cpuid(0, 0);
    last_extended_ = source_.cpuid(0x80000000, 0).eax;
    last_of_7_ = basic_.eax >= 7 ? source_.cpuid(7, 0).eax : 0;
  }
  const CpuidRegisters& basic() const { return basic_; }
  CpuidRegisters at(std::uint32_t leaf, std::uint32_t subleaf) {
    const std::uint32_t last = leaf < 0x80000000 ? basic_.eax : last_extended_;
    if (leaf > last || (leaf == 7 && subleaf > last_of_7_)) return {};
    const auto [found, added] = known_.try_emplace({leaf, subleaf});
    if (added) found->second = source_.cpuid(leaf, subleaf);
    return found->second;
  }

 private:
  const CpuidSource& source_;
  CpuidRegisters basic_;
  std::uint32_t last_extended_ = 0;
  std::uint32_t last_of_7_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, CpuidRegisters> known_;
};

std::string vendor_of(const CpuidRegisters& basic) {
  std::array<char, 12> text{};
  std::memcpy(text.data(), &basic.ebx, 4);
  std::memcpy(text.data() + 4, &basic.edx, 4);
  std::memcpy(text.data() + 8, &basic.ecx, 4);
  return {text.data(), text.size()};
}

}  // namespace

CpuFeatures read_cpu_features(const CpuidSource& source) {
  Leaves leaves(source);
  CpuFeatures result;
  result.vendor = vendor_of(leaves.basic());
  const CpuidRegisters signature = leaves.at(1, 0);
  const std::uint32_t base_family = (signature.eax >> 8U) & 0xFU;
  result.family = base_family == 0xF ? base_family + ((signature.eax >> 20U) & 0xFFU) : base_family;
  result.model = (signature.eax >> 4U) & 0xFU;
  if (base_family == 0xF || base_family == 6) result.model |= ((signature.eax >> 16U) & 0xFU) << 4U;

  const bool osxsave = ((signature.ecx >> 27U) & 1U) != 0;
  const std::uint64_t state = osxsave ? source.xcr0() : 0;
  for (const Feature& feature : kFeatures) {
    const std::uint32_t value = value_of(leaves.at(feature.leaf, feature.subleaf), feature.in);
    if (((value >> feature.bit) & 1U) == 0 || (state & feature.state) != feature.state) continue;
    result.features.emplace_back(feature.name);
    if (feature.name == "avx10") {
      result.features.push_back("avx10." + std::to_string(leaves.at(0x24, 0).ebx & 0xFFU));
    }
  }
  std::sort(result.features.begin(), result.features.end());
  return result;
}

const CpuFeatures& cpu_features() {
  static const CpuFeatures features_here =
      read_cpu_features(CpuidSource{[](std::uint32_t leaf, std::uint32_t subleaf) {
                                      CpuidRegisters r;
                                      __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
                                      return r;
                                    },
                                    [] {
                                      std::uint32_t low = 0;
                                      std::uint32_t high = 0;
                                      __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
                                      return (std::uint64_t{high} << 32U) | low;
                                    }});
  return features_here;
}

}  // namespace precast::identity
