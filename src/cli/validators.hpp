// What CLI11 asks of an option's value; an answer that is not empty is what is wrong with it.
#pragma once

#include <string>

namespace precast::cli {

// An unset variable in a script must not mean "without".
inline std::string not_empty(const std::string& value) {
  return value.empty() ? "the name is empty" : "";
}

}  // namespace precast::cli
