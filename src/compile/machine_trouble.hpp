// An EP's words for what ails the machine and not the model: such a failure must not be remembered.
#pragma once

#include <optional>
#include <string_view>

#include "precast/error.hpp"

namespace precast::compile {

// no_space; ep_unavailable for a library that does not load; io for everything else (no memory, too many open files, a
// failing disk); nullopt: the words name no such trouble. Looks for the system's own texts of errors and for what is
// commonly said when memory is short, whoever says them.
[[nodiscard]] std::optional<ErrorCode> machine_trouble(std::string_view words);

}  // namespace precast::compile
