// The one table of what precast knows about execution providers (EPs). Plain data, no ORT header.
// Sources: ORT's EP documentation; what was tried stands in docs/ and in the comments of the table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "precast/error.hpp"

namespace precast::ort {

enum class DeviceClass : std::uint8_t { cpu, gpu, npu };
[[nodiscard]] std::string_view to_string(DeviceClass device_class);                  // "cpu", "gpu", "npu"
[[nodiscard]] std::optional<DeviceClass> parse_device_class(std::string_view text);  // any case

struct EpSpec {
  std::string_view name;                          // canonical, as ORT reports it
  std::vector<std::string_view> aliases;          // lower case; the first one names files
  std::vector<DeviceClass> device_classes;        // in order of preference
  std::vector<std::string_view> library_names;    // plugin file names, globs allowed; empty = built into ORT
  std::vector<std::string_view> package_folders;  // folder names in a site-packages directory that hold them
  std::vector<std::string_view> dependent_files;  // globs beside the plugin that belong to its identity
  bool makes_ep_context = false;                  // can write EPContext models
  bool narrows_floats = false;                    // keeps float32 weights in 16 bits
  std::vector<std::pair<std::string_view, std::string_view>> default_options;
  std::vector<std::string_view> file_options;      // options whose value is a file (its bytes enter the identity)
  std::vector<std::string_view> library_options;   // options whose value is a library (backend_path)
  std::vector<std::string_view> run_time_options;  // options that cannot influence a compile; globs
  std::vector<std::string_view> cache_options;     // options that make the EP write caches of its own
  std::vector<std::string_view> environment;       // variables that can influence a compile; globs
  std::string_view hardware;                       // what it offers devices for, for messages
  std::string_view install_hint;                   // what to install when it is not found
};

[[nodiscard]] std::span<const EpSpec> ep_table();
// By canonical name or alias, any case. Unknown: nullptr.
[[nodiscard]] const EpSpec* find_ep(std::string_view name_or_alias);
// "cpu, openvino, qnn, ...": for messages.
[[nodiscard]] std::string known_ep_aliases();
// Is `value` matched by one of the globs?
[[nodiscard]] bool matches_any(std::span<const std::string_view> globs, std::string_view value);

}  // namespace precast::ort
