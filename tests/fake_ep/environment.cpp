#include "environment.hpp"

#include <cstdlib>

namespace precast::fake_ep {

std::optional<std::string> environment(const std::string& name) {
  for (const char* prefix : {"FAKE_EP_", "PRECAST_FAKE_EP_"}) {
    if (const char* value = std::getenv((prefix + name).c_str()); value != nullptr) return value;
  }
  return std::nullopt;
}

std::string environment_or(const std::string& name, const std::string& fallback) {
  return environment(name).value_or(fallback);
}

}  // namespace precast::fake_ep
