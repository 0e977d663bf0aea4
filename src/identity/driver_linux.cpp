#include <array>
#include <span>
#include <string_view>

#include <sys/utsname.h>

#include "identity/host.hpp"
#include "util/text.hpp"

namespace precast::identity {
namespace {

using ort::DeviceClass;

struct KernelDriver {
  std::uint32_t vendor;  // PCI
  DeviceClass device_class;
  std::string_view module;
};

// Where a vendor has two for one class, whichever is loaded counts (both, if both are).
constexpr std::array kDrivers = {
    KernelDriver{0x8086, DeviceClass::npu, "intel_vpu"}, KernelDriver{0x8086, DeviceClass::gpu, "i915"},
    KernelDriver{0x8086, DeviceClass::gpu, "xe"},        KernelDriver{0x1002, DeviceClass::gpu, "amdgpu"},
    KernelDriver{0x1022, DeviceClass::gpu, "amdgpu"},    KernelDriver{0x1022, DeviceClass::npu, "amdxdna"},
    KernelDriver{0x1002, DeviceClass::npu, "amdxdna"},   KernelDriver{0x10DE, DeviceClass::gpu, "nvidia"},
};

constexpr std::uint64_t kMaxVersionFile = 4096;  // sysfs gives at most a page

std::string module_version(fs::FileSystem& fs, std::string_view module, const std::filesystem::path& sys) {
  const std::filesystem::path folder = sys / "module" / module;
  const auto version = fs::read_small_file(fs, folder / "version", kMaxVersionFile);
  if (version) return std::string(module) + " " + std::string(util::trim(*version));
  // A module from the kernel's tree has no version of its own; one that is built in need not have a folder there.
  const bool in_tree = fs::exists(fs, folder) || fs::exists(fs, sys / "bus/pci/drivers" / module);
  return in_tree ? std::string(module) + " of kernel " + host_system().kernel_release : std::string{};
}

std::string from_metadata(const ort::DeviceInfo& device) {
  for (const auto* metadata : {&device.ep_metadata, &device.hardware_metadata}) {
    const auto found = metadata->find("os_driver_version");
    if (found != metadata->end() && !found->second.empty()) return found->second;
  }
  return {};
}

}  // namespace

HostSystem host_system() {
  utsname name{};
  if (uname(&name) != 0) return {};  // fails for bad pointers only
  return {name.sysname, name.machine, name.release};
}

std::string driver_version(fs::FileSystem& fs, const ort::DeviceInfo& device, const std::filesystem::path& sys) {
  std::string version = from_metadata(device);
  if (!version.empty() || device.device_class == DeviceClass::cpu) return version;
  for (const KernelDriver& driver : kDrivers) {
    if (driver.vendor != device.vendor_id || driver.device_class != device.device_class) continue;
    const std::string one = module_version(fs, driver.module, sys);
    if (!one.empty()) version += (version.empty() ? "" : ", ") + one;
  }
  return version;
}

}  // namespace precast::identity
