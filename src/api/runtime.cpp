#include "precast/runtime.hpp"

#include "api/state.hpp"
#include "util/try.hpp"

namespace precast {

namespace {

Result<std::shared_ptr<Runtime::State>> with_catalog(std::shared_ptr<ort::Runtime> runtime,
                                                     const RuntimeOptions& options) {
  ort::DiscoveryOptions discovery = ort::discovery_options_from_environment();
  discovery.explicit_libraries = options.ep_libraries;
  PRECAST_TRY_ASSIGN(auto found, ort::discover_eps(fs::FileSystem::posix(), discovery));
  auto state = std::make_shared<Runtime::State>();
  state->catalog = std::make_unique<ort::Catalog>(runtime, std::move(found));
  state->runtime = std::move(runtime);
  return state;
}

EpInfo describe(ort::Catalog& catalog, const ort::FoundEp& found) {
  EpInfo info;
  info.name = found.name;
  info.source = found.source;
  info.library = found.library;
  info.makes_compiled_models = found.spec == nullptr || found.spec->makes_ep_context;
  const auto description = catalog.describe(found);
  if (!description) {
    info.error = description.error().message;
    return info;
  }
  info.version = description->version;
  for (const ort::DeviceInfo& device : description->devices) {
    info.devices.push_back({std::string(ort::to_string(device.device_class)), device.vendor, device.name});
  }
  return info;
}

}  // namespace

Result<Runtime> Runtime::load_ort(const RuntimeOptions& options) {
  ort::RuntimeOptions loading;
  loading.library = options.ort_library;
  PRECAST_TRY_ASSIGN(auto runtime, ort::Runtime::load(loading));
  PRECAST_TRY_ASSIGN(auto state, with_catalog(std::move(runtime), options));
  return Runtime(std::move(state));
}

Result<Runtime> Runtime::use_ort(const OrtApiBase* base, const RuntimeOptions& options) {
  PRECAST_TRY_ASSIGN(auto runtime, ort::Runtime::use(base));
  PRECAST_TRY_ASSIGN(auto state, with_catalog(std::move(runtime), options));
  return Runtime(std::move(state));
}

const std::string& Runtime::version() const {
  return state_->runtime->version();
}
const std::filesystem::path& Runtime::library() const {
  return state_->runtime->library();
}
const OrtApi& Runtime::api() const {
  return state_->runtime->api();
}

Result<std::vector<EpInfo>> Runtime::eps() const {
  std::vector<EpInfo> eps;
  for (const ort::FoundEp& found : state_->catalog->found()) eps.push_back(describe(*state_->catalog, found));
  return eps;
}

}  // namespace precast
