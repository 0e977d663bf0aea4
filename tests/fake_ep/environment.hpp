#pragma once

#include <optional>
#include <string>

namespace precast::fake_ep {

// The value of FAKE_EP_<name>, or PRECAST_FAKE_EP_<name>, read now; nothing is remembered between two uses.
std::optional<std::string> environment(const std::string& name);

std::string environment_or(const std::string& name, const std::string& fallback);

}  // namespace precast::fake_ep
