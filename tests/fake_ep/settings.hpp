#pragma once

#include <filesystem>
#include <set>
#include <string>

#include "onnxruntime_cxx_api.h"

namespace precast::fake_ep {

// What a session's options say; ORT's options object does not outlive CreateEp.
struct Settings {
  std::string ep_name;
  bool claim_all = true;
  std::set<std::string, std::less<>> claim;  // op types, unless claim_all
  std::string fault;
  float output_scale = 1;
  bool share_context = false;
  bool context_enabled = false;
  bool embed = false;
  std::filesystem::path context_file;         // as given, "" if not
  std::filesystem::path initializers_folder;  // as given, "" if not
};

// Throws EpError for a value that is not understood.
Settings read_settings(Ort::ConstSessionOptions options, const std::string& ep_name);

}  // namespace precast::fake_ep
