#include "settings.hpp"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "environment.hpp"
#include "error.hpp"
#include "onnxruntime_session_options_config_keys.h"

namespace precast::fake_ep {
namespace {

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return text;
}

float read_number(const std::string& text) {
  float value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw EpError("option output_scale: '" + text + "' is not a number", ORT_INVALID_ARGUMENT);
  }
  return value;
}

void read_claim(const std::string& text, Settings& settings) {
  settings.claim_all = text.empty();
  if (text == "none") return;
  std::istringstream list(text);
  for (std::string op; std::getline(list, op, ',');) settings.claim.insert(op);
}

}  // namespace

Settings read_settings(Ort::ConstSessionOptions options, const std::string& ep_name) {
  const std::string prefix = "ep." + lower(ep_name) + ".";
  const auto own = [&](const std::string& key, const std::string& fallback) {
    return options.GetConfigEntryOrDefault((prefix + key).c_str(), fallback);
  };
  const auto session = [&](const char* key) { return options.GetConfigEntryOrDefault(key, ""); };
  Settings settings;
  settings.ep_name = ep_name;
  read_claim(own("claim", environment_or("CLAIM", "")), settings);
  settings.fault = own("fault", "");
  settings.output_scale = read_number(own("output_scale", "1"));
  settings.share_context = own("share_context", "0") == "1";
  settings.context_enabled = session(kOrtSessionOptionEpContextEnable) == "1";
  settings.embed = session(kOrtSessionOptionEpContextEmbedMode) == "1";
  settings.context_file = session(kOrtSessionOptionEpContextFilePath);
  settings.initializers_folder = session(kOrtSessionOptionsModelExternalInitializersFileFolderPath);
  return settings;
}

}  // namespace precast::fake_ep
