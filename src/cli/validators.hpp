// What CLI11 asks of an option's value; an answer that is not empty is what is wrong with it.
#pragma once

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace precast::cli {

// An unset variable in a script must not mean "without".
inline std::string not_empty(const std::string& value) {
  return value.empty() ? "the value is empty" : "";
}

// CLI11 takes -1 for the largest number there is, and what is too large for less.
std::string whole_number(const std::string& value);

// For the whole program, once everything is added: no option takes an empty value (CLI11 takes one for the number 0)
// but
// --system, which it means "none" to. What stands without a name is a path or somebody else's argument, with an error
// of its own.
void refuse_empty_values(CLI::App& app);

}  // namespace precast::cli
