#include "genai/route.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "ort/discovery.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::genai {

namespace {

using ort::DeviceClass;
constexpr std::string_view kCpu = "CPUExecutionProvider";
constexpr const char* kNoFallback = "session.disable_cpu_ep_fallback";

// How genai spells the EPs that it knows; another one it knows by ORT's name.
std::string genai_name(const std::string& ep) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> names = {
      {{"OpenVINOExecutionProvider", "OpenVINO"},
       {"QNNExecutionProvider", "QNN"},
       {"NvTensorRTRTXExecutionProvider", "NvTensorRtRtx"},
       {"VitisAIExecutionProvider", "VitisAI"},
       {"CUDAExecutionProvider", "cuda"},
       {"DmlExecutionProvider", "DML"},
       {"WebGpuExecutionProvider", "WebGPU"}}};
  const auto* const found = std::ranges::find(names, ep, [](const auto& name) { return name.first; });
  return found == names.end() ? ep : std::string(found->second);
}

const Provider* provider_of(const Stage& stage, const std::string& ep) {
  const auto found = std::ranges::find(stage.providers, ep, &Provider::ep);
  return found == stage.providers.end() ? nullptr : &*found;
}

Result<void> read_request(const Bundle& bundle, const RouteRequest& request, Route& route) {
  const std::string device = util::ascii_lower(util::trim(request.device));
  if (!device.empty() && device != "auto" && device != "config" && device != "mixed") {
    route.requested_device = ort::parse_device_class(device);
    if (!route.requested_device) {
      return fail(ErrorCode::bad_input, fmt::format("there is no device '{}'", util::escape_to_line(request.device)),
                  {}, "use one of auto, cpu, gpu, npu");
    }
  }
  const ort::EpReference reference = ort::parse_ep_reference(request.ep);
  const std::string lower = util::ascii_lower(reference.name);
  if (lower.empty() && !util::trim(request.ep).empty()) {
    return fail(ErrorCode::bad_input, fmt::format("'{}' names no EP", util::escape_to_line(request.ep)), {},
                "use one of " + ort::known_ep_aliases());
  }
  if (lower.empty() || lower == "auto" || lower == "config") return {};
  const bool named = std::ranges::any_of(
      bundle.stages, [&](const Stage& stage) { return provider_of(stage, reference.name) != nullptr; });
  if (ort::find_ep(reference.name) == nullptr && !named) {
    return fail(ErrorCode::bad_input, fmt::format("there is no EP named '{}'", util::escape_to_line(reference.name)),
                {}, "use one of " + ort::known_ep_aliases());
  }
  route.requested_ep = reference.name;
  route.requested_source = reference.source;
  if (route.requested_ep == kCpu && route.requested_device.value_or(DeviceClass::cpu) != DeviceClass::cpu) {
    return fail(ErrorCode::bad_input, fmt::format("the CPU EP has no device {}", to_string(*route.requested_device)),
                {}, "leave --device out, or name another EP");
  }
  return {};
}

class Router {
 public:
  Router(const Bundle& bundle, const RouteRequest& request, Route& route)
      : bundle_(bundle), request_(request), route_(route) {}

  Result<void> route() {
    for (const Stage& stage : bundle_.stages) route_.stages.push_back(route_stage(stage));
    find_effect();
    const bool changed = std::ranges::any_of(route_.stages, &StageRoute::rerouted);
    route_.no_op = !route_.requested_ep.empty() && !changed;
    return report_no_effect();
  }

 private:
  StageRoute route_stage(const Stage& stage) {
    StageRoute routed;
    routed.stage = stage.name;
    routed.providers = stage.providers;
    routed.session_entries = stage.session_entries;
    const bool hardware = hardware_provider(stage.providers) != nullptr;
    if (route_.requested_ep == kCpu && hardware) {
      std::erase_if(routed.providers, [](const Provider& provider) { return !is_cpu(provider); });
      routed.session_entries.erase(kNoFallback);  // nothing but the CPU is left
    } else if (!route_.requested_ep.empty() && route_.requested_ep != kCpu &&
               (hardware || bundle_.layout == Layout::flat)) {
      routed.providers = {provider_for(stage, routed)};
    }
    routed.rerouted = routed.providers != stage.providers;
    if (const Provider* first = hardware_provider(routed.providers)) {
      routed.ep = first->ep;
      routed.options = first->options;
      if (request_.forbid_cpu_fallback) routed.session_entries[kNoFallback] = "1";
    }
    return routed;
  }

  Provider provider_for(const Stage& stage, StageRoute& routed) {
    if (const Provider* own = provider_of(stage, route_.requested_ep)) return *own;
    for (const Stage& other : bundle_.stages) {
      const Provider* lender = provider_of(other, route_.requested_ep);
      if (lender == nullptr || lender->options.empty()) continue;
      routed.borrowed_from = other.name;
      return *lender;
    }
    Provider made;
    made.name = genai_name(route_.requested_ep);
    made.ep = route_.requested_ep;
    if (made.ep == "OpenVINOExecutionProvider") {
      const DeviceClass device = route_.requested_device.value_or(DeviceClass::cpu);
      made.options["device_type"] = device == DeviceClass::cpu ? "CPU" : device == DeviceClass::gpu ? "GPU" : "NPU";
      routed.made_up = true;
    } else {
      warn(fmt::format("stage '{}' gets {} without options: the bundle has none for it", stage.name, made.ep));
    }
    return made;
  }

  void find_effect() {
    std::set<std::string> eps;
    std::set<std::optional<DeviceClass>> devices;
    for (const StageRoute& stage : route_.stages) {
      for (const Provider& provider : stage.providers) {
        if (is_cpu(provider)) continue;
        eps.insert(provider.ep);
        devices.insert(proven_device(provider));
      }
    }
    route_.uses_hardware = !eps.empty();
    if (eps.empty()) {
      route_.effective_device = DeviceClass::cpu;
      return;
    }
    route_.effective_ep = eps.size() == 1 ? *eps.begin() : "mixed";
    if (devices.size() == 1) route_.effective_device = *devices.begin();
  }

  void warn(const std::string& text) { route_.warnings.push_back(util::escape_to_line(text)); }

  Result<void> report_no_effect() {
    const std::string effective = route_.effective_ep == "cpu" ? std::string(kCpu) : route_.effective_ep;
    if (!route_.requested_ep.empty() && route_.requested_ep != effective) {
      PRECAST_TRY(no_effect(
          fmt::format("{} was asked for, but no stage of the bundle names an EP that it could replace: it runs on {}",
                      route_.requested_ep, route_.effective_ep),
          "name the EP in the stages' provider_options in genai_config.json, or leave --ep out"));
    }
    // What the options leave open is known when the EP's devices are.
    if (!route_.requested_device || !route_.effective_device || route_.requested_device == route_.effective_device) {
      return {};
    }
    return no_effect(fmt::format("device {} was asked for, but the effective options name {}",
                                 to_string(*route_.requested_device), to_string(*route_.effective_device)),
                     "change the stages' provider_options in genai_config.json, or leave --device out");
  }

  Result<void> no_effect(const std::string& text, const char* hint) {
    if (request_.require_effect) {
      return fail(ErrorCode::bad_input, util::escape_to_line(text), bundle_.config_path, hint);
    }
    warn(text + " (" + hint + ")");
    return {};
  }

  const Bundle& bundle_;
  const RouteRequest& request_;
  Route& route_;
};

}  // namespace

Result<Route> route_bundle(const Bundle& bundle, const RouteRequest& request) {
  Route route;
  PRECAST_TRY(read_request(bundle, request, route));
  PRECAST_TRY(Router(bundle, request, route).route());
  return route;
}

}  // namespace precast::genai
