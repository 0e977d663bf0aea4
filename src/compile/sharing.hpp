// Models that are compiled together so that they share what their EP can share (ORT's ep.share_ep_contexts): with QNN
// one context binary for all of them, weights that are equal once. Such a group is compiled for its caller alone and is
// not stored.
#pragma once

#include <filesystem>
#include <vector>

#include "compile/resolver.hpp"

namespace precast::compile {

// One answer a model, in the order given (Request::model is not looked at): a private generation that all of them own
// together, or the source for each where they cannot be compiled. An EP without EPContext models has nothing to share,
// and nothing to compile. What is shared for a simulated target is not opened: it loads on the real one only.
//
// Errors: bad_input (fewer than two models, one that is compiled already, `embed`, `validate`), and those of
// Resolver::resolve.
[[nodiscard]] Result<std::vector<Resolution>> compile_sharing(Resolver& resolver, const Request& request,
                                                              const std::vector<std::filesystem::path>& models,
                                                              const Observer& observer = {});

}  // namespace precast::compile
