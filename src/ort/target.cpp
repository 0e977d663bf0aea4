#include "ort/target.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "util/text.hpp"

namespace precast::ort {

namespace {

constexpr std::string_view kQnn = "QNNExecutionProvider";

constexpr std::array<Preference, 11> kPreferences = {{
    {kQnn, DeviceClass::npu},
    {"OpenVINOExecutionProvider", DeviceClass::npu},
    {"VitisAIExecutionProvider", DeviceClass::npu},
    {"OpenVINOExecutionProvider", DeviceClass::gpu},
    {"MIGraphXExecutionProvider", DeviceClass::gpu},
    {"TensorrtExecutionProvider", DeviceClass::gpu},
    {"NvTensorRTRTXExecutionProvider", DeviceClass::gpu},
    {"WebGpuExecutionProvider", DeviceClass::gpu},
    {"DmlExecutionProvider", DeviceClass::gpu},
    {"OpenVINOExecutionProvider", DeviceClass::cpu},
    {"CPUExecutionProvider", DeviceClass::cpu},
}};

const DeviceInfo* first_of(const EpDescription& ep, DeviceClass device_class) {
  const auto at = std::ranges::find(ep.devices, device_class, &DeviceInfo::device_class);
  return at == ep.devices.end() ? nullptr : &*at;
}

// In order of preference; of an EP that the table does not know, the class of its first device.
std::vector<DeviceClass> wanted_classes(const EpDescription& ep, const TargetRequest& request) {
  if (request.device) return {*request.device};
  if (ep.found.spec != nullptr) return ep.found.spec->device_classes;
  if (ep.devices.empty()) return {};
  return {ep.devices.front().device_class};
}

std::string classes_of(const EpDescription& ep) {
  std::string text;
  for (const DeviceClass device_class : {DeviceClass::npu, DeviceClass::gpu, DeviceClass::cpu}) {
    if (first_of(ep, device_class) == nullptr) continue;
    text += (text.empty() ? "" : ", ") + std::string(to_string(device_class));
  }
  return text;
}

std::string value_of(const std::map<std::string, std::string>& options, const std::string& key) {
  const auto at = options.find(key);
  return at == options.end() ? std::string{} : at->second;
}

// QNN's CPU-class device is a machine without a Snapdragon: it compiles for the one that the options name.
bool is_simulator(const EpDescription& ep, const DeviceInfo& device) {
  return ep.found.spec != nullptr && ep.found.spec->name == kQnn && device.device_class == DeviceClass::cpu;
}

std::unexpected<Error> no_device(const EpDescription& ep, const TargetRequest& request) {
  const std::string wanted = request.device ? fmt::format("no {} device", to_string(*request.device))
                                            : std::string("no device that it can use");
  const std::string classes = classes_of(ep);
  std::string hint = "precast eps shows which EPs have devices here";
  if (!ep.offers_as.empty()) {
    hint = fmt::format("the library offers its devices as {} only: --ep-library {}={}", ep.offers_as, ep.offers_as,
                       util::escape_to_line(ep.found.library.native()));
  } else if (!classes.empty()) {
    hint = fmt::format("its devices here are of class {}", classes);
  } else if (ep.found.spec != nullptr) {
    hint = fmt::format("it is for {}; {}", ep.found.spec->hardware, hint);
  }
  return fail(ErrorCode::ep_unavailable, fmt::format("EP {} has {} on this machine", ep.found.name, wanted),
              ep.found.library, std::move(hint));
}

}  // namespace

bool Target::makes_ep_context() const {
  return ep.found.spec == nullptr || ep.found.spec->makes_ep_context;
}

std::string Target::alias() const {
  return ep.found.spec == nullptr ? ep.found.name : std::string(ep.found.spec->aliases.front());
}

std::vector<std::string> environment_passed_globs(const Target& target) {
  if (target.ep.found.spec != nullptr) return environment_identity_globs(target);
  std::string glob;
  for (const char c : target.ep.found.name) {
    const auto byte = static_cast<unsigned char>(c);
    glob += std::isalnum(byte) != 0 ? static_cast<char>(std::toupper(byte)) : '_';
  }
  return {glob + "_*"};
}

std::vector<std::string> environment_identity_globs(const Target& target) {
  if (target.ep.found.spec == nullptr) return {};
  const auto& globs = target.ep.found.spec->environment;
  return {globs.begin(), globs.end()};
}

std::vector<DeviceInfo> devices_of_ep(const std::vector<DeviceInfo>& all, std::string_view name) {
  std::vector<DeviceInfo> exact;
  std::vector<DeviceInfo> derived;
  for (const DeviceInfo& device : all) {
    if (device.ep_name == name) exact.push_back(device);
    if (device.ep_name.starts_with(std::string(name) + ".")) derived.push_back(device);
  }
  return exact.empty() ? derived : exact;
}

Result<Target> bind_target(const EpDescription& ep, const TargetRequest& request,
                           std::map<std::string, std::string> effective_options) {
  const std::string soc_model = value_of(effective_options, "soc_model");
  const std::string htp_arch = value_of(effective_options, "htp_arch");
  const bool names_machine = !soc_model.empty() || !htp_arch.empty();
  const DeviceInfo* bound = nullptr;
  bool needs_machine = false;
  const auto offer = [&](DeviceClass device_class) {
    const DeviceInfo* device = first_of(ep, device_class);
    if (device == nullptr) return;
    if (is_simulator(ep, *device) && !names_machine) {
      needs_machine = true;
    } else if (bound == nullptr) {
      bound = device;
    }
  };
  for (const DeviceClass device_class : wanted_classes(ep, request)) offer(device_class);
  const bool qnn = ep.found.spec != nullptr && ep.found.spec->name == kQnn;
  if (bound == nullptr && qnn && request.device == DeviceClass::npu) offer(DeviceClass::cpu);
  if (bound == nullptr && needs_machine) {
    return fail(ErrorCode::ep_unavailable, fmt::format("EP {} has no Snapdragon NPU on this machine", ep.found.name),
                ep.found.library,
                "to compile for another machine, name it: --ep-options soc_model=60 --ep-options htp_arch=73");
  }
  if (bound == nullptr) return no_device(ep, request);
  Target target{ep, *bound, std::move(effective_options), std::nullopt};
  if (is_simulator(ep, *bound)) target.simulated = Target::Simulated{soc_model, htp_arch};
  return target;
}

Target cpu_target() {
  Target target;
  target.ep.found.spec = find_ep("cpu");
  target.ep.found.name = target.ep.found.spec->name;
  target.ep.found.source = "built_in";
  return target;
}

std::span<const Preference> preference_table() {
  return kPreferences;
}

}  // namespace precast::ort
