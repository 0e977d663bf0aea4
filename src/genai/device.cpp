#include <algorithm>
#include <array>

#include "genai/route.hpp"
#include "util/text.hpp"

namespace precast::genai {

namespace {

using ort::DeviceClass;

std::string option(const Provider& provider, const std::string& key) {
  const auto found = provider.options.find(key);
  return found == provider.options.end() ? std::string() : found->second;
}

// "GPU", "GPU.1", "CPU_FP32"; "AUTO:GPU,CPU" and the like decide while running.
std::optional<DeviceClass> openvino_device(const Provider& provider) {
  const std::string type = option(provider, "device_type");
  return ort::parse_device_class(std::string_view(type).substr(0, type.find_first_of("._")));
}

std::optional<DeviceClass> qnn_device(const Provider& provider) {
  constexpr std::array<std::pair<std::string_view, DeviceClass>, 3> backends = {
      {{"htp", DeviceClass::npu}, {"cpu", DeviceClass::cpu}, {"gpu", DeviceClass::gpu}}};
  const std::string type = util::ascii_lower(option(provider, "backend_type"));
  std::string path = util::ascii_lower(option(provider, "backend_path"));
  path = path.substr(path.find_last_of("/\\") + 1);
  std::optional<DeviceClass> found;
  for (const auto& [name, device] : backends) {
    if (type != name && path.find("qnn" + std::string(name)) == std::string::npos) continue;
    if (found) return std::nullopt;  // the two options disagree
    found = device;
  }
  return found;
}

std::optional<DeviceClass> dml_device(const Provider& provider) {
  const std::string filter = option(provider, "device_filter");
  return filter.empty() ? DeviceClass::gpu : ort::parse_device_class(filter);
}

}  // namespace

std::optional<DeviceClass> proven_device(const Provider& provider) {
  const ort::EpSpec* spec = ort::find_ep(provider.ep);
  if (spec == nullptr) return provider.device;
  if (spec->name == "OpenVINOExecutionProvider") {
    return option(provider, "device_type").empty() ? provider.device : openvino_device(provider);
  }
  if (spec->name == "QNNExecutionProvider") {
    const auto device = qnn_device(provider);
    return device ? device : provider.device;
  }
  if (provider.device) return provider.device;
  if (spec->name == "DmlExecutionProvider") return dml_device(provider);
  return spec->device_classes.size() == 1 ? std::optional(spec->device_classes.front()) : std::nullopt;
}

}  // namespace precast::genai
