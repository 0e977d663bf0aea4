// A target is what a model is compiled for: an EP, one of its devices, and the effective options. Plain data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ort/discovery.hpp"
#include "ort/ep_table.hpp"

namespace precast::ort {

// One OrtEpDevice, as plain data.
struct DeviceInfo {
  std::string ep_name;  // as the device reports it
  std::string ep_vendor;
  DeviceClass device_class = DeviceClass::cpu;
  std::uint32_t vendor_id = 0;
  std::uint32_t device_id = 0;
  std::string vendor;
  std::string name;  // FULL_DEVICE_NAME or "Description" metadata when there is one
  std::map<std::string, std::string> ep_metadata;
  std::map<std::string, std::string> hardware_metadata;
  friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

struct EpDescription {
  FoundEp found;
  std::string version;  // ep_metadata "version"; for built-in EPs ORT's
  std::string vendor;
  std::vector<DeviceInfo> devices;  // in ORT's order
  // Without devices: another name under which the library offers some. It is registered under a name that it does not
  // take (OpenVINO's offers its devices under its own name only).
  std::string offers_as;
};

// What the user asked for.
struct TargetRequest {
  std::string ep;                                       // "" or "auto" = any; alias, canonical name, name@source
  std::optional<DeviceClass> device;                    // none = auto
  std::map<std::string, std::string> provider_options;  // --ep-options
};

struct Target {
  EpDescription ep;
  DeviceInfo device;                                    // the one that is bound
  std::map<std::string, std::string> provider_options;  // effective: table defaults < request
  // Set when the EP compiles for a machine that is not here (QNN's soc_model / htp_arch).
  struct Simulated {
    std::string soc_model;
    std::string htp_arch;
  };
  std::optional<Simulated> simulated;
  [[nodiscard]] bool makes_ep_context() const;  // spec says so; an EP unknown to the table may
  [[nodiscard]] std::string alias() const;      // "openvino"; the name itself if unknown
};

// ORT's own CPU EP without options, for a reference run.
[[nodiscard]] Target cpu_target();

// Globs of the variables that the worker must get for this EP, and of those that enter an identity. Known EPs: the
// table's, for both. An EP that the table does not know: its name in upper case, all but letters and digits as '_',
// then "_*" is passed on ("fake" -> "FAKE_*"); none enters the identity, for that is what --worker-env NAME is for.
[[nodiscard]] std::vector<std::string> environment_passed_globs(const Target& target);
[[nodiscard]] std::vector<std::string> environment_identity_globs(const Target& target);

// Of all devices that ORT lists those of the EP registered as `name`. OpenVINO's OpenVINOExecutionProvider.AUTO and the
// like ("<name>.<anything>") count only where there is no other.
[[nodiscard]] std::vector<DeviceInfo> devices_of_ep(const std::vector<DeviceInfo>& all, std::string_view name);

// Options as the EP gets them: table defaults, then the request's (later wins). Declared file options (spec and
// `extra_file_options`) are expanded (~), made absolute against the working directory, must be regular files; missing:
// bad_input naming the key. OpenVINO's load_config may be inline JSON (a value that starts with '{').
// Options that are libraries: a bare name is looked for beside the plugin; missing: bad_input naming the key (QNN would
// silently run on the CPU). QNN: backend_path defaults to libQnnHtp.so beside the plugin, unless backend_type is given.
[[nodiscard]] Result<std::map<std::string, std::string>> effective_provider_options(
    fs::FileSystem& fs, const FoundEp& ep, const std::map<std::string, std::string>& requested,
    const std::vector<std::string>& extra_file_options);

// The device of `ep` that the request binds: the first of the wanted class, or of the EP's preference order. QNN
// without a Snapdragon is a CPU-class device, offered only when soc_model or htp_arch is given; --device npu is then
// accepted. No device: ep_unavailable with the classes that there are.
[[nodiscard]] Result<Target> bind_target(const EpDescription& ep, const TargetRequest& request,
                                         std::map<std::string, std::string> effective_options);

// Both auto: QNN/npu, OpenVINO/npu, VitisAI/npu, OpenVINO/gpu, MIGraphX/gpu, TensorRT/gpu, NvTensorRTRTX/gpu,
// WebGPU/gpu, DML/gpu, OpenVINO/cpu, CPU/cpu. {canonical EP name, class} in this order; the caller registers and binds
// each in turn.
struct Preference {
  std::string_view ep;
  DeviceClass device_class;
};
[[nodiscard]] std::span<const Preference> preference_table();

}  // namespace precast::ort
