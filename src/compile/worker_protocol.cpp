#include "compile/worker_protocol.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::compile {

namespace {

using Json = nlohmann::json;

// Paths are bytes, JSON is UTF-8: bytes that are not UTF-8 travel as {"hex": "..."}.
Json path_json(const std::filesystem::path& path) {
  const std::string& bytes = path.native();
  if (util::is_utf8(bytes)) return bytes;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kDigits[byte >> 4U];
    hex += kDigits[byte & 15U];
  }
  return Json{{"hex", hex}};
}

std::filesystem::path json_path(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  const auto hex = json.at("hex").get<std::string>();
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

std::string text_of(const std::string& bytes) {
  return util::escape_invalid_utf8(bytes);
}

Json device_json(const ort::DeviceInfo& device) {
  return {{"ep_name", text_of(device.ep_name)},
          {"ep_vendor", text_of(device.ep_vendor)},
          {"class", std::string(ort::to_string(device.device_class))},
          {"vendor_id", device.vendor_id},
          {"device_id", device.device_id},
          {"vendor", text_of(device.vendor)},
          {"name", text_of(device.name)},
          {"ep_metadata", device.ep_metadata},
          {"hardware_metadata", device.hardware_metadata}};
}

ort::DeviceInfo json_device(const Json& json) {
  ort::DeviceInfo device;
  device.ep_name = json.at("ep_name").get<std::string>();
  device.ep_vendor = json.at("ep_vendor").get<std::string>();
  device.device_class = ort::parse_device_class(json.at("class").get<std::string>()).value_or(ort::DeviceClass::cpu);
  device.vendor_id = json.at("vendor_id").get<std::uint32_t>();
  device.device_id = json.at("device_id").get<std::uint32_t>();
  device.vendor = json.at("vendor").get<std::string>();
  device.name = json.at("name").get<std::string>();
  device.ep_metadata = json.at("ep_metadata").get<std::map<std::string, std::string>>();
  device.hardware_metadata = json.at("hardware_metadata").get<std::map<std::string, std::string>>();
  return device;
}

constexpr std::string_view kEventNames[] = {"ready", "compiled", "checked", "validated", "done", "failed"};
constexpr std::string_view kActionNames[] = {"compile", "open", "validate", "compile_sharing"};
constexpr std::size_t kErrorCodes = static_cast<std::size_t>(ErrorCode::internal) + 1;

ErrorCode code_of(std::string_view name) {
  for (std::size_t i = 0; i < kErrorCodes; ++i) {
    if (to_string(static_cast<ErrorCode>(i)) == name) return static_cast<ErrorCode>(i);
  }
  return ErrorCode::internal;
}

Result<WorkerAction> action_of(const std::string& name) {
  const auto* const found = std::ranges::find(kActionNames, name);
  if (found == std::end(kActionNames)) {
    return fail(ErrorCode::bad_input, "precast-worker knows no action " + util::quoted(name));
  }
  return static_cast<WorkerAction>(found - std::begin(kActionNames));
}

// Metadata of a device may hold any bytes; JSON that is not valid UTF-8 must not throw.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string serialize(const WorkerRequest& request) {
  Json json{{"precast_version", request.precast_version},
            {"action", kActionNames[static_cast<std::size_t>(request.action)]},
            {"ort_library", path_json(request.ort_library)},
            {"ep_name", request.ep_name},
            {"ep_source", request.ep_source},
            {"ep_library", path_json(request.ep_library)},
            {"device", device_json(request.device)},
            {"provider_options", request.provider_options},
            {"session_config", request.session_config},
            {"optimization_level", nullptr},
            {"free_dimensions", request.free_dimensions},
            {"model", path_json(request.model)},
            {"output", path_json(request.output)},
            {"embed", request.embed},
            {"sharing", Json::array()},
            {"open_sharing", request.open_sharing}};
  for (const SharingModel& one : request.sharing) {
    json["sharing"].push_back({{"model", path_json(one.model)}, {"output", path_json(one.output)}});
  }
  if (request.optimization_level) json["optimization_level"] = *request.optimization_level;
  return dump(json);
}

Result<WorkerRequest> parse_request(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    WorkerRequest request;
    request.precast_version = json.at("precast_version").get<std::string>();
    PRECAST_TRY_ASSIGN(request.action, action_of(json.at("action").get<std::string>()));
    request.ort_library = json_path(json.at("ort_library"));
    request.ep_name = json.at("ep_name").get<std::string>();
    request.ep_source = json.at("ep_source").get<std::string>();
    request.ep_library = json_path(json.at("ep_library"));
    request.device = json_device(json.at("device"));
    request.provider_options = json.at("provider_options").get<std::map<std::string, std::string>>();
    request.session_config = json.at("session_config").get<std::map<std::string, std::string>>();
    if (!json.at("optimization_level").is_null()) request.optimization_level = json.at("optimization_level").get<int>();
    request.free_dimensions = json.at("free_dimensions").get<std::map<std::string, std::int64_t>>();
    request.model = json_path(json.at("model"));
    request.output = json_path(json.at("output"));
    request.embed = json.at("embed").get<bool>();
    for (const Json& one : json.at("sharing")) {
      request.sharing.push_back({json_path(one.at("model")), json_path(one.at("output"))});
    }
    request.open_sharing = json.at("open_sharing").get<bool>();
    return request;
  } catch (const std::exception& e) {
    return fail(ErrorCode::bad_input, std::string("the request to precast-worker is not valid: ") + e.what());
  }
}

std::string serialize_line(const WorkerEvent& event) {
  Json json{{"event", kEventNames[static_cast<std::size_t>(event.kind)]}, {"ms", event.ms}};
  if (event.kind == WorkerEventKind::ready) {
    json["ort_version"] = event.ort_version;
    json["ort_build"] = event.ort_build;
    json["ep_version"] = event.ep_version;
    json["ep_vendor"] = event.ep_vendor;
    json["device"] = device_json(event.device);
  } else if (event.kind == WorkerEventKind::done) {
    json["libraries"] = Json::array();
    for (const MappedLibrary& library : event.libraries) {
      json["libraries"].push_back({{"path", path_json(library.path)}, {"inode", library.inode}});
    }
  } else if (event.kind == WorkerEventKind::validated) {
    json["message"] = text_of(event.message);
  } else if (event.kind == WorkerEventKind::failed) {
    json["code"] = std::string(to_string(event.code));
    json["message"] = text_of(event.message);
    json["hint"] = text_of(event.hint);
  }
  return dump(json) + "\n";
}

Result<WorkerEvent> parse_event_line(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    WorkerEvent event;
    const auto name = json.at("event").get<std::string>();
    const auto* const found = std::find(std::begin(kEventNames), std::end(kEventNames), name);
    if (found == std::end(kEventNames)) return fail(ErrorCode::corrupt, "precast-worker reported '" + name + "'");
    event.kind = static_cast<WorkerEventKind>(found - std::begin(kEventNames));
    event.ms = json.at("ms").get<double>();
    if (event.kind == WorkerEventKind::ready) {
      event.ort_version = json.at("ort_version").get<std::string>();
      event.ort_build = json.at("ort_build").get<std::string>();
      event.ep_version = json.at("ep_version").get<std::string>();
      event.ep_vendor = json.at("ep_vendor").get<std::string>();
      event.device = json_device(json.at("device"));
    } else if (event.kind == WorkerEventKind::done) {
      for (const Json& library : json.at("libraries")) {
        event.libraries.push_back({json_path(library.at("path")), library.at("inode").get<std::uint64_t>()});
      }
    } else if (event.kind == WorkerEventKind::validated) {
      event.message = json.at("message").get<std::string>();
    } else if (event.kind == WorkerEventKind::failed) {
      event.code = code_of(json.at("code").get<std::string>());
      event.message = json.at("message").get<std::string>();
      event.hint = json.at("hint").get<std::string>();
    }
    return event;
  } catch (const std::exception& e) {
    return fail(ErrorCode::corrupt, std::string("precast-worker reported something that is not valid: ") + e.what());
  }
}

}  // namespace precast::compile
