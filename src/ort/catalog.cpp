#include "ort/catalog.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::ort {

namespace {

// An EP may say anything; identities, JSON and the worker's protocol hold text.
std::string text_of(const char* text) {
  return text == nullptr ? std::string{} : util::escape_invalid_utf8(text);
}

std::map<std::string, std::string> entries_of(const Ort::ConstKeyValuePairs& pairs) {
  std::map<std::string, std::string> entries;
  for (auto& [key, value] : pairs.GetKeyValuePairs()) entries.emplace(text_of(key.c_str()), text_of(value.c_str()));
  return entries;
}

DeviceClass class_of(OrtHardwareDeviceType type) {
  switch (type) {
    case OrtHardwareDeviceType_GPU:
      return DeviceClass::gpu;
    case OrtHardwareDeviceType_NPU:
      return DeviceClass::npu;
    case OrtHardwareDeviceType_CPU:
      break;
  }
  return DeviceClass::cpu;
}

// Names as EPs and as ORT's own device discovery give them.
std::string name_of(const DeviceInfo& device) {
  for (const auto* metadata : {&device.ep_metadata, &device.hardware_metadata}) {
    for (const char* key : {"FULL_DEVICE_NAME", "Description"}) {
      if (const auto at = metadata->find(key); at != metadata->end()) return at->second;
    }
  }
  return {};
}

DeviceInfo describe_device(const Ort::ConstEpDevice& device) {
  const Ort::ConstHardwareDevice hardware = device.Device();
  DeviceInfo info;
  info.ep_name = text_of(device.EpName());
  info.ep_vendor = text_of(device.EpVendor());
  info.device_class = class_of(hardware.Type());
  info.vendor_id = hardware.VendorId();
  info.device_id = hardware.DeviceId();
  info.vendor = text_of(hardware.Vendor());
  info.ep_metadata = entries_of(device.EpMetadata());
  info.hardware_metadata = entries_of(hardware.Metadata());
  info.name = name_of(info);
  return info;
}

Result<std::vector<Ort::ConstEpDevice>> all_devices(Runtime& runtime) {
  try {
    return runtime.env().GetEpDevices();
  } catch (const Ort::Exception& exception) {
    return std::unexpected<Error>(to_error(exception, "cannot list the devices of EPs", ErrorCode::ep_unavailable));
  }
}

bool is_same_hardware(const DeviceInfo& a, const DeviceInfo& b) {
  return a.ep_name == b.ep_name && a.device_class == b.device_class && a.vendor_id == b.vendor_id &&
         a.device_id == b.device_id && a.name == b.name;
}

std::string name_offered_by(const std::vector<DeviceInfo>& devices, const std::filesystem::path& library) {
  for (const DeviceInfo& device : devices) {
    const auto at = device.ep_metadata.find("library_path");
    std::error_code ignored;  // no such file is another file
    if (at != device.ep_metadata.end() && std::filesystem::equivalent(at->second, library, ignored)) {
      return device.ep_name;
    }
  }
  return {};
}

bool wants_any(const TargetRequest& request) {
  return request.ep.empty() || util::ascii_lower(request.ep) == "auto";
}

}  // namespace

Catalog::Catalog(std::shared_ptr<Runtime> runtime, std::vector<FoundEp> found)
    : runtime_(std::move(runtime)), found_(std::move(found)) {}

Result<EpDescription> Catalog::describe(const FoundEp& ep) {
  if (!ep.library.empty()) PRECAST_TRY(runtime_->register_ep_library(ep.name, ep.library));
  PRECAST_TRY_ASSIGN(const std::vector<Ort::ConstEpDevice> devices, all_devices(*runtime_));
  std::vector<DeviceInfo> infos;
  infos.reserve(devices.size());
  for (const Ort::ConstEpDevice& device : devices) infos.push_back(describe_device(device));
  EpDescription description{ep, {}, {}, devices_of_ep(infos, ep.name), {}};
  if (description.devices.empty() && !ep.library.empty()) description.offers_as = name_offered_by(infos, ep.library);
  if (ep.library.empty()) description.version = runtime_->version();
  if (!description.devices.empty()) {
    const DeviceInfo& first = description.devices.front();
    description.vendor = first.ep_vendor;
    if (const auto at = first.ep_metadata.find("version"); !ep.library.empty() && at != first.ep_metadata.end()) {
      description.version = at->second;
    }
  }
  return description;
}

Result<Target> Catalog::choose(fs::FileSystem& fs, const TargetRequest& request,
                               const std::vector<std::string>& extra_file_options) {
  return wants_any(request) ? choose_any(fs, request, extra_file_options)
                            : choose_named(fs, request, extra_file_options);
}

Result<Target> Catalog::choose_named(fs::FileSystem& fs, const TargetRequest& request,
                                     const std::vector<std::string>& extra_file_options) {
  PRECAST_TRY_ASSIGN(const FoundEp* ep, select_ep(found_, parse_ep_reference(request.ep)));
  // Before the EP is loaded: a wrong option should cost nothing.
  PRECAST_TRY_ASSIGN(auto options, effective_provider_options(fs, *ep, request.provider_options, extra_file_options));
  PRECAST_TRY_ASSIGN(const EpDescription description, describe(*ep));
  return bind_target(description, request, std::move(options));
}

Result<Target> Catalog::choose_any(fs::FileSystem& fs, const TargetRequest& request,
                                   const std::vector<std::string>& extra_file_options) {
  std::string refused;
  for (const Preference& preference : preference_table()) {
    if (request.device && *request.device != preference.device_class) continue;
    const auto at = std::ranges::find(found_, preference.ep, &FoundEp::name);
    if (at == found_.end()) continue;
    TargetRequest wanted = request;
    wanted.ep = at->name;
    wanted.device = preference.device_class;
    auto target = choose_named(fs, wanted, extra_file_options);
    if (target) return target;
    // The user's mistake is reported; that an EP does not load or has no such device only means "the next one".
    if (target.error().code == ErrorCode::bad_input) return target;
    refused += fmt::format("{}{}", refused.empty() ? "" : "; ", target.error().message);
  }
  return fail(ErrorCode::ep_unavailable,
              fmt::format("no EP has a device of class {} here", to_string(request.device.value_or(DeviceClass::cpu))),
              {}, refused.empty() ? std::string("precast eps shows what is found here") : refused);
}

Result<Ort::ConstEpDevice> Catalog::device_of(const Target& target) {
  if (!target.ep.found.library.empty()) {
    PRECAST_TRY(runtime_->register_ep_library(target.ep.found.name, target.ep.found.library));
  }
  PRECAST_TRY_ASSIGN(const std::vector<Ort::ConstEpDevice> devices, all_devices(*runtime_));
  std::optional<Ort::ConstEpDevice> similar;
  for (const Ort::ConstEpDevice& device : devices) {
    const DeviceInfo info = describe_device(device);
    if (info == target.device) return device;
    // Metadata may hold what changes while a machine runs; the hardware is the same.
    if (!similar && is_same_hardware(info, target.device)) similar = device;
  }
  if (similar) return *similar;
  return fail(ErrorCode::ep_unavailable,
              fmt::format("EP {} does not offer the {} device '{}' any more", target.ep.found.name,
                          to_string(target.device.device_class), target.device.name),
              target.ep.found.library, "precast eps shows the devices that there are");
}

}  // namespace precast::ort
