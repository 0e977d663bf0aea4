// Which EP each stage of a bundle runs on, with which options, and what of a request really takes effect. Pure logic on
// plain data: no library is loaded, the bundle is not changed.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fs/file_system.hpp"
#include "genai/bundle.hpp"
#include "ort/ep_table.hpp"
#include "precast/error.hpp"

namespace precast::genai {

struct RouteRequest {
  std::string ep;                    // "", "auto" or "config" = the bundle's own; alias, canonical name, name@source
  std::string device;                // "", "auto", "config", "mixed" = none asked for; "cpu", "gpu", "npu"; any case
  bool forbid_cpu_fallback = false;  // a stage that names an EP fails rather than runs on the CPU
  bool require_effect = false;       // an EP or device asked for that would have no effect is an error, not a warning
};

struct StageRoute {
  std::string stage;
  std::string ep;                              // canonical; empty = CPU
  std::map<std::string, std::string> options;  // of that EP
  std::vector<Provider> providers;             // all that take effect, in order of priority; `ep` is the first
  std::map<std::string, std::string> session_entries;
  bool rerouted = false;      // its provider list was replaced or emptied by the request, by something else
  std::string borrowed_from;  // the stage whose options it got, or empty
  bool made_up = false;       // its options are precast's own
};

struct Route {
  std::vector<StageRoute> stages;  // as in the bundle
  std::string requested_ep;        // canonical; empty = none
  std::string requested_source;    // of name@source
  std::optional<ort::DeviceClass> requested_device;
  std::string effective_ep = "cpu";                  // "cpu", a canonical name, or "mixed" (several EPs)
  std::optional<ort::DeviceClass> effective_device;  // none = the options do not prove one
  bool uses_hardware = false;                        // some stage names an EP other than the CPU's
  bool no_op = false;                                // an EP was asked for, and nothing is other than in the bundle
  std::vector<std::string> warnings;                 // asked for and not effective, options left empty
};

// An EP asked for: the pipeline stages that name a non-CPU provider get it, and no other stage; a flat decoder always
// gets it. CPU: providers are taken away. Options of a stage that gets an EP: its own for it, even if empty; else the
// first non-empty ones that a stage has for it; else OpenVINO's device_type (the device asked for, or CPU); else none,
// with a warning. bad_input: an EP that the table does not know and the bundle does not name, an unknown device, a
// device that the CPU EP has not.
[[nodiscard]] Result<Route> route_bundle(const Bundle& bundle, const RouteRequest& request);

// The device that a provider's options prove: device_filtering_options, OpenVINO's device_type, QNN's backend, or the
// only one the EP has. DML means a GPU unless its device_filter says otherwise.
[[nodiscard]] std::optional<ort::DeviceClass> proven_device(const Provider& provider);

// A model that takes the place of a stage's own.
struct StageFile {
  std::string stage;
  std::string file;                   // relative to the folder that the config will lie in
  bool disable_model_compile = true;  // session.disable_model_compile=1: it is compiled, and a compile is a defect
};

// The config as genai should get it: providers and session entries of the route in place, all option values strings,
// what the notes call left out left out, files replaced; everything else and the order of keys as it was. The same
// input gives the same bytes. None = the bundle's own config says the same and genai can read it. internal: `route` or
// `replacements` name a stage that the bundle lacks.
[[nodiscard]] Result<std::optional<std::string>> patched_config(const Bundle& bundle, const Route& route,
                                                                std::span<const StageFile> replacements);

// Options that are libraries (QNN's backend_path) must be files: genai would run on the CPU and say nothing. A bare
// name is looked for beside the EP's library; `ep_libraries` maps canonical names to those, and where it has none bare
// names are not checked. bad_input naming stage, key and value.
[[nodiscard]] Result<void> check_options(fs::FileSystem& fs, const Route& route,
                                         const std::map<std::string, std::filesystem::path>& ep_libraries);

}  // namespace precast::genai
