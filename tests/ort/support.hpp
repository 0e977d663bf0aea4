// What the tests of the ort layer share: the one Runtime of the process, the EPs of the checkout, small models.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fs/file_system.hpp"
#include "ort/catalog.hpp"
#include "ort/discovery.hpp"

namespace precast::ort::tests {

namespace stdfs = std::filesystem;

inline const stdfs::path kDeps = PRECAST_DEPS_DIR;
inline const stdfs::path kOrtLibrary = kDeps / "ort/lib/libonnxruntime.so.1";
inline const stdfs::path kOpenvinoFolder = kDeps / "eps/openvino/onnxruntime_ep_openvino";
inline const stdfs::path kOpenvinoLibrary = kOpenvinoFolder / "libonnxruntime_providers_openvino_plugin.so";
inline const stdfs::path kQnnFolder = kDeps / "eps/qnn/onnxruntime_qnn";
inline const stdfs::path kQnnLibrary = kQnnFolder / "libonnxruntime_providers_qnn.so";

// A folder of the test's own, removed afterwards.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  [[nodiscard]] const stdfs::path& path() const { return path_; }
  [[nodiscard]] stdfs::path operator/(const stdfs::path& name) const { return path_ / name; }
  stdfs::path write(const stdfs::path& name, std::string_view text = "x") const;  // with its folders

 private:
  stdfs::path path_;
};

// Loads ORT from .deps at the first call.
std::shared_ptr<Runtime> runtime();
// The checkout's EPs and the CPU EP.
std::vector<FoundEp> checkout_eps();

// An EP and a device as ORT would describe them.
FoundEp found_ep(const std::string& name, const std::string& source = "bundled");
DeviceInfo device(const std::string& ep, DeviceClass device_class, const std::string& name = "a device");
EpDescription description(const std::string& ep, const std::vector<DeviceClass>& classes);

// "code: message [hint]" of a failed result, for EXPECT_THAT.
std::string text_of(const Error& error);

inline fs::FileSystem& disk() {
  return fs::FileSystem::posix();
}

}  // namespace precast::ort::tests
