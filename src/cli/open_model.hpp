// A session on a model, for the commands that run one.
#pragma once

#include "cli/context.hpp"
#include "session/prepared_session.hpp"

namespace precast::cli {

// What the request resolves to, opened; without `compile` the model itself. It says what takes long, and warns where
// the source runs although a compiled model was asked for: under --strict that is an error.
[[nodiscard]] Result<session::PreparedSession> open_model(Context& context, compile::Resolver& resolver,
                                                          const compile::Request& request, bool compile = true);

}  // namespace precast::cli
