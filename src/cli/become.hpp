// `resolve --exec`: this process becomes another program that uses the model.
#pragma once

#include <string>
#include <vector>

#include "cli/context.hpp"

namespace precast::cli {

// Every argument that is "{}" becomes the model's path (appended when there is none); PRECAST_MODEL holds it too. The
// lease is inherited by the program and ends with it. A private generation is deleted when the program ended: then
// precast stays as its parent, passes signals on, and ends with its status. Returns only on failure or in that case.
[[nodiscard]] int become(Context& context, compile::Resolution resolution, std::vector<std::string> command);

}  // namespace precast::cli
