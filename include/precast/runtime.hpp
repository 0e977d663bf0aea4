// ONNX Runtime (ORT) and its execution providers (EPs), found and loaded at run time.
//
//   const auto complain = [](const precast::Error& error) {
//     std::cerr << error.message << '\n' << error.hint << '\n';
//     return 1;
//   };
//   auto runtime = precast::Runtime::load();
//   if (!runtime) return complain(runtime.error());
//   std::cout << "ONNX Runtime " << runtime->version() << " at " << runtime->library() << '\n';
//   const auto eps = runtime->eps();
//   if (!eps) return complain(eps.error());
//   for (const precast::EpInfo& ep : *eps) std::cout << ep.name << ": " << ep.devices.size() << '\n';
//
// One ORT per process: a library that is mapped already is used, never a second one; API version 23 or newer. load()
// and use() also make the C++ API (Ort::...) of the calling program ready, which is compiled with ORT_API_MANUAL_INIT
// (the CMake target precast::precast says so). The library changes neither descriptors, nor environment, nor working
// directory. A host that wants no telemetry sets ORT_DISABLE_TELEMETRY=1 before load(); one whose EPs crash while they
// are unloaded ends with _exit().
//
// Copies are the same runtime. Thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <onnxruntime_cxx_api.h>

#include "precast/error.hpp"
#include "precast/export.hpp"

namespace precast {

struct RuntimeOptions {
  // Empty: PRECAST_ORT_LIBRARY, beside the executable, a checkout's .deps, the system.
  std::filesystem::path ort_library;
  // EP plugin libraries under the names that they get, before those that are found (PRECAST_EP_PATH, a checkout's
  // .deps, $VIRTUAL_ENV, $CONDA_PREFIX, the system).
  std::vector<std::pair<std::string, std::filesystem::path>> ep_libraries;
};

struct DeviceInfo {
  std::string device_class;  // "cpu", "gpu", "npu"
  std::string vendor;
  std::string name;
};

struct EpInfo {
  std::string name;               // as ORT reports it: "OpenVINOExecutionProvider"
  std::string source;             // "explicit", "directory", "bundled", "pypi", "system", "built_in"
  std::filesystem::path library;  // empty: built into ORT
  std::string version;
  bool makes_compiled_models = false;  // EPContext models
  std::vector<DeviceInfo> devices;     // that it can use here
  std::string error;                   // why it could not be registered; empty = it was
};

class PRECAST_API Runtime {
 public:
  // not_found: a named library is not there; ep_unavailable: no ORT is found, or it is too old or does not load;
  // bad_input: another library than the one that this process uses already.
  [[nodiscard]] static Result<Runtime> load(const RuntimeOptions& options = {});
  // For a program that has ORT already: its OrtGetApiBase().
  [[nodiscard]] static Result<Runtime> use(const OrtApiBase* base, const RuntimeOptions& options = {});

  [[nodiscard]] const std::string& version() const;            // "1.32.0"
  [[nodiscard]] const std::filesystem::path& library() const;  // absolute, without links
  [[nodiscard]] const OrtApi& api() const;
  // Registers every EP that was found, to ask for its devices.
  [[nodiscard]] Result<std::vector<EpInfo>> eps() const;

  struct State;  // for precast's own files
  [[nodiscard]] const std::shared_ptr<State>& state() const { return state_; }

 private:
  explicit Runtime(std::shared_ptr<State> state) : state_(std::move(state)) {}
  [[nodiscard]] static Result<Runtime> load_ort(const RuntimeOptions& options);
  [[nodiscard]] static Result<Runtime> use_ort(const OrtApiBase* base, const RuntimeOptions& options);
  std::shared_ptr<State> state_;
};

// In the caller's code, because the C++ API that is made ready is the caller's.
inline Result<Runtime> Runtime::load(const RuntimeOptions& options) {
  auto runtime = load_ort(options);
  if (runtime) Ort::InitApi(&runtime->api());
  return runtime;
}

inline Result<Runtime> Runtime::use(const OrtApiBase* base, const RuntimeOptions& options) {
  auto runtime = use_ort(base, options);
  if (runtime) Ort::InitApi(&runtime->api());
  return runtime;
}

}  // namespace precast
