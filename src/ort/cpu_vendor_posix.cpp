#include <atomic>
#include <cstdint>
#include <optional>

#include <sys/mman.h>

#include <unistd.h>

#include "ort/cpu_vendor.hpp"
#include "util/text.hpp"

namespace precast::ort {

namespace {

decltype(OrtApi::HardwareDevice_VendorId) real_vendor_of = nullptr;
decltype(OrtApi::HardwareDevice_Type) type_of = nullptr;
std::atomic<std::uint32_t> assumed_vendor{0};

std::uint32_t ORT_API_CALL vendor_of(const OrtHardwareDevice* device) noexcept {
  return type_of(device) == OrtHardwareDeviceType_CPU ? assumed_vendor.load() : real_vendor_of(device);
}

// PCI vendor numbers, as ORT gives them.
std::optional<std::uint32_t> number_of(std::string_view vendor) {
  const std::string lower = util::ascii_lower(vendor);
  if (lower == "intel") return 0x8086;
  if (lower == "amd") return 0x1022;
  return std::nullopt;
}

}  // namespace

bool assume_cpu_vendor(const OrtApi& api, std::string_view vendor) {
  const std::optional<std::uint32_t> number = number_of(vendor);
  if (!number) return false;
  assumed_vendor = *number;
  if (api.HardwareDevice_VendorId == &vendor_of) return true;
  auto* const entry = &const_cast<OrtApi&>(api).HardwareDevice_VendorId;
  const auto page_size = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  char* const page = reinterpret_cast<char*>(entry) - reinterpret_cast<std::uintptr_t>(entry) % page_size;
  // Read-only after relocation. It stays writable: in a library without that protection the page holds other data.
  if (mprotect(page, page_size, PROT_READ | PROT_WRITE) != 0) return false;
  real_vendor_of = api.HardwareDevice_VendorId;
  type_of = api.HardwareDevice_Type;
  *entry = &vendor_of;
  return true;
}

}  // namespace precast::ort
