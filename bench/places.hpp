// Where what is measured lies: the build, and what set-up fetched.
#pragma once

#include <filesystem>

namespace precast::bench {

inline const std::filesystem::path kBin = std::filesystem::path(PRECAST_BINARY_DIR) / "bin";
inline const std::filesystem::path kDeps = PRECAST_DEPS_DIR;
inline const std::filesystem::path kOpenvinoLibrary =
    kDeps / "eps/openvino/onnxruntime_ep_openvino/libonnxruntime_providers_openvino_plugin.so";
inline const std::filesystem::path kQnnFolder = kDeps / "eps/qnn/onnxruntime_qnn";
inline const std::filesystem::path kQnnLibrary = kQnnFolder / "libonnxruntime_providers_qnn.so";

[[nodiscard]] inline std::filesystem::path ort_library() {
  return std::filesystem::canonical(kDeps / "ort/lib/libonnxruntime.so.1");
}

}  // namespace precast::bench
