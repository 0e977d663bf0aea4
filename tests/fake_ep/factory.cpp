// The two entry points, the factory behind them, and what happens when the library goes.

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "environment.hpp"
#include "ep.hpp"
#include "error.hpp"
#include "faults.hpp"
#include "onnxruntime_cxx_api.h"
#include "onnxruntime_session_options_config_keys.h"
#include "settings.hpp"
#include "trace.hpp"

namespace precast::fake_ep {
namespace {

constexpr const char* kVendor = "precast tests";

class Factory : public OrtEpFactory {
 public:
  explicit Factory(std::string name);

 private:
  void get_devices(const OrtHardwareDevice* const* devices, std::size_t count, OrtEpDevice** ep_devices,
                   std::size_t max_ep_devices, std::size_t* ep_device_count);
  void create_ep(const OrtSessionOptions* options, const OrtLogger* logger, OrtEp** ep) const;

  std::string name_;
  std::string version_;
};

Factory& factory(OrtEpFactory* self) {
  return *static_cast<Factory*>(self);
}

Ort::KeyValuePairs metadata(std::size_t device, std::size_t devices) {
  Ort::KeyValuePairs pairs;
  if (const auto driver = environment("DRIVER")) pairs.Add("os_driver_version", driver->c_str());
  std::istringstream extra(environment_or("METADATA", ""));
  for (std::string pair; std::getline(extra, pair, ';');) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos) throw EpError("FAKE_EP_METADATA: '" + pair + "' has no '='");
    pairs.Add(pair.substr(0, equals).c_str(), pair.substr(equals + 1).c_str());
  }
  if (devices > 1) pairs.Add("device_index", std::to_string(device).c_str());
  return pairs;
}

// ORT does nothing with these keys: they are plain session options that the EP reads.
void trace_sharing(Ort::ConstSessionOptions options) {
  if (options.GetConfigEntryOrDefault(kOrtSessionOptionShareEpContexts, "0") == "1") trace("share");
  if (options.GetConfigEntryOrDefault(kOrtSessionOptionStopShareEpContexts, "0") == "1") trace("stop_share");
}

OrtCompiledModelCompatibility verdict(std::string_view compatibility) {
  struct Verdict {
    std::string_view name;
    OrtCompiledModelCompatibility value;
  };
  constexpr std::array verdicts = {
      Verdict{"optimal", OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL},
      Verdict{"prefer_recompile", OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION},
      Verdict{"unsupported", OrtCompiledModelCompatibility_EP_UNSUPPORTED},
      Verdict{"not_applicable", OrtCompiledModelCompatibility_EP_NOT_APPLICABLE},
  };
  const bool same = compatibility == environment_or("COMPATIBILITY", "fake;v1");
  const std::string wanted = environment_or("VERDICT", same ? "optimal" : "unsupported");
  for (const Verdict& candidate : verdicts) {
    if (candidate.name == wanted) return candidate.value;
  }
  throw EpError("FAKE_EP_VERDICT: there is no verdict '" + wanted + "'");
}

Factory::Factory(std::string name)
    : OrtEpFactory{}, name_(std::move(name)), version_(environment_or("VERSION", "1.0.0")) {
  ort_version_supported = ORT_API_VERSION;
  GetName = [](const OrtEpFactory* self) noexcept { return static_cast<const Factory*>(self)->name_.c_str(); };
  GetVendor = [](const OrtEpFactory*) noexcept { return kVendor; };
  GetVersion = [](const OrtEpFactory* self) noexcept { return static_cast<const Factory*>(self)->version_.c_str(); };
  GetSupportedDevices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t count,
                           OrtEpDevice** ep_devices, size_t max, size_t* ep_device_count) noexcept -> OrtStatus* {
    return guarded([&] { factory(self).get_devices(devices, count, ep_devices, max, ep_device_count); });
  };
  CreateEp = [](OrtEpFactory* self, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                const OrtSessionOptions* options, const OrtLogger* logger, OrtEp** ep) noexcept -> OrtStatus* {
    return guarded([&] { factory(self).create_ep(options, logger, ep); });
  };
  ReleaseEp = [](OrtEpFactory*, OrtEp* raw) noexcept {
    const std::unique_ptr<Ep> ep(static_cast<Ep*>(raw));
    trace("release");
    // A status has nowhere to go here, as for a real EP.
    Ort::Status(guarded([&] { ep->faults().at(Where::kReleaseEp); }));
  };
  ValidateCompiledModelCompatibilityInfo = [](OrtEpFactory*, const OrtHardwareDevice* const*, size_t, const char* info,
                                              OrtCompiledModelCompatibility* result) noexcept -> OrtStatus* {
    trace("validate");
    return guarded([&] {
      Faults().at(Where::kValidate);
      *result = verdict(info);
    });
  };
  CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** transfer) noexcept -> OrtStatus* {
    *transfer = nullptr;
    return nullptr;
  };
}

void Factory::get_devices(const OrtHardwareDevice* const* devices, std::size_t count, OrtEpDevice** ep_devices,
                          std::size_t max_ep_devices, std::size_t* ep_device_count) {
  *ep_device_count = 0;
  Faults().at(Where::kDevices);
  const std::size_t wanted = std::min<std::size_t>(std::stoul(environment_or("DEVICES", "1")), max_ep_devices);
  for (std::size_t i = 0; i < count; ++i) {
    Ort::ConstHardwareDevice device(devices[i]);
    if (device.Type() != OrtHardwareDeviceType_CPU) continue;
    while (*ep_device_count < wanted) {
      Ort::KeyValuePairs pairs = metadata(*ep_device_count, wanted);
      Ort::ThrowOnError(Ort::GetEpApi().CreateEpDevice(this, device, pairs, nullptr, &ep_devices[*ep_device_count]));
      ++*ep_device_count;
    }
  }
}

void Factory::create_ep(const OrtSessionOptions* options, const OrtLogger* logger, OrtEp** ep) const {
  trace("create_ep");
  trace_sharing(Ort::ConstSessionOptions(options));
  auto created = std::make_unique<Ep>(read_settings(Ort::ConstSessionOptions(options), name_), logger);
  created->faults().at(Where::kCreateEp);
  *ep = created.release();
}

struct UnloadFaults {
  UnloadFaults() = default;
  UnloadFaults(const UnloadFaults&) = delete;
  UnloadFaults& operator=(const UnloadFaults&) = delete;
  ~UnloadFaults() {
    try {
      Faults().at(Where::kUnload);
    } catch (const std::exception& error) {  // ORT may be gone: a status has nowhere to go
      std::fprintf(stderr, "%s\n", error.what());
    }
  }
};

const UnloadFaults kUnloadFaults;

}  // namespace
}  // namespace precast::fake_ep

extern "C" __attribute__((visibility("default"))) OrtStatus* CreateEpFactories(const char* registration_name,
                                                                               const OrtApiBase* base, const OrtLogger*,
                                                                               OrtEpFactory** factories,
                                                                               size_t max_factories,
                                                                               size_t* factory_count) noexcept {
  using namespace precast::fake_ep;
  const OrtApi* api = base->GetApi(ORT_API_VERSION);
  if (api == nullptr) {
    return base->GetApi(1)->CreateStatus(ORT_NOT_IMPLEMENTED, "fake EP: ONNX Runtime is too old for API version 23");
  }
  Ort::InitApi(api);
  trace("register");
  return guarded([&] {
    *factory_count = 0;
    Faults().at(Where::kFactories);
    if (Faults().behaviour("no_factories")) return;
    if (max_factories == 0) throw EpError("ORT leaves no room for a factory");
    factories[0] = std::make_unique<Factory>(registration_name).release();
    *factory_count = 1;
  });
}

extern "C" __attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* released) noexcept {
  using namespace precast::fake_ep;
  const std::unique_ptr<Factory> factory(static_cast<Factory*>(released));
  trace("unregister");
  return guarded([] { Faults().at(Where::kReleaseFactory); });
}
