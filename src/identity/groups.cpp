#include "identity/groups.hpp"

#include "identity/links.hpp"

namespace precast::identity {

std::filesystem::path base_library(const Settings& settings) {
  const std::filesystem::path& plugin = settings.target.ep.found.library;
  return logical_absolute(plugin.empty() ? settings.ort_library : plugin);
}

std::string library_group(const Settings& settings) {
  return "ep:" + base_library(settings).string();
}

std::string model_group(const std::filesystem::path& model) {
  return "model:" + model.string();
}

}  // namespace precast::identity
