// make_identity: the canonical JSON. nlohmann's objects are ordered maps and dump() without an indent writes no white
// space: the text is canonical as it comes.
#include "identity/identity.hpp"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "identity/cpu_features_x86.hpp"
#include "identity/environment.hpp"
#include "identity/host.hpp"
#include "identity/option_fields.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::identity {
namespace {

using nlohmann::json;

constexpr std::string_view kCompileFlags = "ERROR_IF_NO_NODES_COMPILED|ERROR_IF_OUTPUT_FILE_EXISTS";

// Metadata that varies with the state of the machine or with where the EP lies, and not with what it compiles. OpenVINO
// 2026.4.1 was asked for every property of its CPU device: under `taskset -c 0` RANGE_FOR_STREAMS alone changes
// ((1, 2) -> (1, 1)); with ONEDNN_MAX_CPU_ISA set none does (which is why the environment is a field of its own). From
// a copied folder library_path should change alone: not tried. Of the NPU and GPU plugins: memory
// in use, temperature, and which slot of the machine or which of two equal cards it is.
constexpr std::array<std::string_view, 17> kVaryingMetadata = {
    "library_path",
    "RANGE_FOR_*",
    "OPTIMAL_NUMBER_OF_INFER_REQUESTS",
    "AVAILABLE_DEVICES",
    "EXECUTION_DEVICES",
    "COMPATIBILITY_CHECK",
    "card_idx",
    "accel_idx",
    "pci_bus_id",
    "LUID",
    "Dxgi*",
    "DEVICE_LUID",
    "DEVICE_UUID",
    "DEVICE_PCI_INFO",
    "DEVICE_THERMAL",
    "GPU_MEMORY_STATISTICS",
    "NPU_DEVICE_ALLOC_MEM_SIZE",
};

constexpr std::string_view kDigits = "0123456789abcdef";

// JSON is UTF-8 and not every environment value is. Escaping inside the text could make two values one.
json text_value(const std::string& text) {
  if (util::is_utf8(text)) return text;
  std::string hex;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4U];
    hex += kDigits[byte & 0xFU];
  }
  return json{{"bytes", hex}};
}

json text_map(const std::map<std::string, std::string>& values) {
  json result = json::object();
  for (const auto& [key, value] : values) result[util::escape_invalid_utf8(key)] = text_value(value);
  return result;
}

json source_field(const ModelEvidence& model) {
  json external = json::array();
  for (std::size_t i = 1; i < model.files.size(); ++i) {
    external.push_back(json::array({model.facts.external_files[i - 1].location, model.files[i].sha256}));
  }
  std::sort(external.begin(), external.end());
  return {{"model", model.files.front().sha256}, {"external", external}};
}

// Links and copies of one library are one entry, under the name that sorts first.
json libraries_field(const std::vector<FileEvidence>& libraries) {
  std::map<std::string, std::string> name_of;  // by digest
  for (const FileEvidence& library : libraries) {
    const std::string name = util::escape_invalid_utf8(library.path.filename().string());
    const auto [found, added] = name_of.emplace(library.sha256, name);
    if (!added) found->second = std::min(found->second, name);
  }
  json result = json::array();
  for (const auto& [digest, name] : name_of) result.push_back(json::array({name, digest}));
  std::sort(result.begin(), result.end());
  return result;
}

json metadata_field(const std::map<std::string, std::string>& metadata) {
  std::map<std::string, std::string> kept;
  for (const auto& [key, value] : metadata) {
    if (!ort::matches_any(kVaryingMetadata, key)) kept.emplace(key, value);
  }
  return text_map(kept);
}

json device_field(const ort::DeviceInfo& device, const std::string& driver) {
  json result = {{"class", ort::to_string(device.device_class)},
                 {"vendor_id", device.vendor_id},
                 {"device_id", device.device_id},
                 {"name", text_value(device.name)},
                 {"metadata", metadata_field(device.ep_metadata)},
                 {"hardware", metadata_field(device.hardware_metadata)}};
  result["driver"] = driver.empty() ? json(nullptr) : text_value(driver);
  return result;
}

json host_field(const ort::DeviceInfo& device) {
  const HostSystem system = host_system();
  json result = {{"os", system.os}, {"architecture", system.architecture}};
  if (device.device_class != ort::DeviceClass::cpu) return result;
  // QNN's simulated targets are of this class too, although their code runs elsewhere: a key too many is safe.
  const CpuFeatures& cpu = cpu_features();
  result["cpu"] = {
      {"vendor", text_value(cpu.vendor)}, {"family", cpu.family}, {"model", cpu.model}, {"features", cpu.features}};
  return result;
}

json environment_field(const Settings& settings) {
  json result = json::object();
  for (const auto& [name, value] : identity_environment(settings)) {
    result[util::escape_invalid_utf8(name)] = value ? text_value(*value) : json(nullptr);
  }
  return result;
}

std::string level_name(int level) {
  switch (level) {
    case 0:
      return "disable";
    case 1:
      return "basic";
    case 2:
      return "extended";
    case 99:
      return "all";
    default:
      return std::to_string(level);
  }
}

json session_field(const Settings& settings) {
  json free_dimensions = json::object();
  for (const auto& [name, size] : settings.free_dimensions) free_dimensions[util::escape_invalid_utf8(name)] = size;
  return {{"config", text_map(compile_session_config(settings))},
          {"optimization_level", level_name(settings.optimization_level)},
          {"free_dimensions", free_dimensions}};
}

// What a compile in this process makes is never given to who wants it isolated, nor the other way round.
std::string compile_flags(const Settings& settings) {
  return std::string(kCompileFlags) + (settings.in_process ? "|in_process" : "");
}

std::string why_uncacheable(const Settings& settings, const std::string& driver) {
  const ort::DeviceInfo& device = settings.target.device;
  const bool here = device.device_class != ort::DeviceClass::cpu && !settings.target.simulated;
  if (!here || !driver.empty()) return {};
  return "the driver version of the " + std::string(ort::to_string(device.device_class)) + " '" + device.name +
         "' is not known";
}

}  // namespace

Result<Identity> make_identity(fs::FileSystem& fs, Digester& digester, const Settings& settings,
                               const ModelEvidence& model, const std::vector<FileEvidence>& libraries) {
  if (model.files.size() != model.facts.external_files.size() + 1) {
    return fail(ErrorCode::internal, "the evidence of " + util::quoted(model.model) + " does not fit its facts",
                model.model);
  }
  PRECAST_TRY(check_self_contained(fs, settings));
  PRECAST_TRY_ASSIGN(const OptionFields options, option_fields(fs, digester, settings));
  const ort::Target& target = settings.target;
  const std::string driver = target.simulated ? std::string{} : driver_version(fs, target.device);
  const std::string& ep_name = target.device.ep_name.empty() ? target.ep.found.name : target.device.ep_name;
  const json source = source_field(model);
  const json fields = {
      {"schema", kSchema},
      {"source", source},
      {"ep",
       {{"name", text_value(ep_name)},
        {"vendor", text_value(target.ep.vendor)},
        {"version", text_value(target.ep.version)}}},
      {"ep_libraries", libraries_field(libraries)},
      {"device", device_field(target.device, driver)},
      {"host", host_field(target.device)},
      {"environment", environment_field(settings)},
      {"provider_options", text_map(options.provider_options)},
      {"option_files", text_map(options.option_files)},
      {"session_options", session_field(settings)},
      {"embed", settings.embed},
      {"compiler",
       {{"ort_version", text_value(settings.ort_version)},
        {"ort_build", text_value(settings.ort_build)},
        {"flags", compile_flags(settings)}}},
  };
  Identity identity;
  identity.canonical = fields.dump();
  identity.key = util::sha256_hex(identity.canonical);
  identity.source_sha256 = util::sha256_hex(source.dump());
  identity.uncacheable = why_uncacheable(settings, driver);
  return identity;
}

}  // namespace precast::identity
