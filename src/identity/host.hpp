// What of this machine's system software a compile can depend on.
#pragma once

#include <filesystem>
#include <string>

#include "fs/file_system.hpp"
#include "ort/target.hpp"

namespace precast::identity {

struct HostSystem {
  std::string os;              // "Linux"
  std::string architecture;    // "x86_64"
  std::string kernel_release;  // not part of an identity, but of an in-tree driver's version
};
[[nodiscard]] HostSystem host_system();

// The kernel driver of the device: `os_driver_version` of its metadata, else the version of the kernel module that
// drives its vendor's devices, else (a driver from the kernel's own tree) the kernel release. Empty = not known.
// `sys` stands for /sys.
[[nodiscard]] std::string driver_version(fs::FileSystem& fs, const ort::DeviceInfo& device,
                                         const std::filesystem::path& sys = "/sys");

}  // namespace precast::identity
