#include "environment.hpp"

#include <cstdlib>

namespace precast::fake_ep {

std::optional<std::string> environment(const std::string& name) {
  const char* value = std::getenv(("FAKE_EP_" + name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string environment_or(const std::string& name, const std::string& fallback) {
  return environment(name).value_or(fallback);
}

}  // namespace precast::fake_ep
