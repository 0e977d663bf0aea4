// What doctor says of a store.
#pragma once

#include <string>
#include <vector>

#include "store/health.hpp"

namespace precast::cli {

struct Check {
  std::string name;
  bool ok = true;  // false: something is wrong; true may still have a hint
  std::string message;
  std::string hint;
};

// One check per subject, in the same order always, so that scripts find them by name.
[[nodiscard]] std::vector<Check> store_checks(const store::Health& health);

}  // namespace precast::cli
