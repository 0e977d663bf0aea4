#include "genai/session_options.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace precast::genai {

namespace {

// genai 0.18: these it reads itself, with these types; everything else goes to ORT as a config entry, a string.
constexpr std::array<std::string_view, 4> kNumbers = {"intra_op_num_threads", "inter_op_num_threads",
                                                      "log_severity_level", "log_verbosity_level"};
constexpr std::array<std::string_view, 2> kBooleans = {"enable_cpu_mem_arena", "enable_mem_pattern"};
constexpr std::array<std::string_view, 4> kStrings = {"log_id", "enable_profiling", "graph_optimization_level",
                                                      "custom_ops_library"};
constexpr std::string_view kProviderOptions = "provider_options";
constexpr std::string_view kDeviceFilter = "device_filtering_options";

bool is_one_of(std::span<const std::string_view> keys, std::string_view key) {
  return std::ranges::find(keys, key) != keys.end();
}

std::string canonical(const std::string& name) {
  const ort::EpSpec* spec = ort::find_ep(name);
  return spec != nullptr ? std::string(spec->name) : name;
}

// One scalar of an object of strings, with a note if it was something else.
void read_entry(const std::string& where, const std::string& key, const Json& value,
                std::map<std::string, std::string>& into, Notes& notes) {
  const auto text = as_option_text(value);
  if (!text) {
    notes.add(fmt::format("{}: '{}' is {}, not a string: left out", where, key, kind_of(value)));
    return;
  }
  if (!value.is_string()) {
    notes.add(fmt::format("{}: '{}' is {}, not a string: read as \"{}\"", where, key, kind_of(value), *text));
  }
  into[key] = *text;
}

void read_device_filter(const Json& value, Provider& provider) {
  provider.device_filter = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  const Json* type = member(value, "hardware_device_type");
  if (type != nullptr && type->is_string()) {
    provider.device = ort::parse_device_class(type->get_ref<const std::string&>());
  }
}

Provider read_provider(const std::string& name, const Json& object, const std::string& where, Notes& notes) {
  Provider provider;
  provider.name = name;
  provider.ep = canonical(name);
  for (const auto& [key, value] : object.items()) {
    if (key == kDeviceFilter && value.is_object()) {
      read_device_filter(value, provider);
    } else {
      read_entry(where + ": " + name, key, value, provider.options, notes);
    }
  }
  return provider;
}

// genai makes one provider of two that are spelled alike; of two spellings it makes two, of which ORT takes the first.
void add(std::vector<Provider>& providers, Provider provider) {
  const auto same = std::ranges::find(providers, provider.name, &Provider::name);
  if (same == providers.end()) {
    providers.push_back(std::move(provider));
    return;
  }
  for (auto& [key, value] : provider.options) same->options[key] = value;
  if (provider.device_filter.empty()) return;
  same->device_filter = provider.device_filter;
  same->device = provider.device;
}

std::vector<Provider> read_providers(const Json& list, const std::string& where, Notes& notes) {
  std::vector<Provider> providers;
  for (const Json& element : list) {
    if (!element.is_object()) {
      notes.add(fmt::format("{}: an element is {}, not an object: left out", where, kind_of(element)));
      continue;
    }
    for (const auto& [name, object] : element.items()) {
      if (name.empty() || !object.is_object()) {
        notes.add(fmt::format("{}: the options of '{}' are {}: left out", where, name, kind_of(object)));
      } else {
        add(providers, read_provider(name, object, where, notes));
      }
    }
  }
  return providers;
}

bool has_its_type(std::string_view key, const Json& value) {
  if (is_one_of(kNumbers, key)) return value.is_number();
  if (is_one_of(kBooleans, key)) return value.is_boolean();
  return value.is_string();
}

}  // namespace

std::optional<std::string> as_option_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  if (const auto number = whole_number(value)) return std::to_string(*number);
  if (value.is_number()) return value.dump();
  return std::nullopt;
}

bool is_own_key(std::string_view key) {
  return key == kProviderOptions || is_one_of(kNumbers, key) || is_one_of(kBooleans, key) || is_one_of(kStrings, key);
}

SessionOptions read_session_options(const Json& object, const std::string& where, Notes& notes) {
  SessionOptions options;
  for (const auto& [key, value] : object.items()) {
    if (key == kProviderOptions) {
      if (value.is_array()) {
        options.providers = read_providers(value, where + "." + key, notes);
      } else {
        notes.add(fmt::format("{}: '{}' is {}, not a list: left out", where, key, kind_of(value)));
      }
    } else if (!is_own_key(key)) {
      read_entry(where, key, value, options.entries, notes);
    } else if (!has_its_type(key, value)) {
      notes.add(fmt::format("{}: '{}' is {}: left out", where, key, kind_of(value)));
    }
  }
  return options;
}

}  // namespace precast::genai
