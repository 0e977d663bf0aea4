// The stages of a bundle, compiled side by side.
#pragma once

#include <vector>

#include "genai/prepare.hpp"

namespace precast::genai {

// "stage 'context' of '/models/x'", for messages.
[[nodiscard]] std::string stage_of(const Bundle& bundle, const std::string& stage);

// The stage's EP as a request names it: with the source, if one was asked for.
[[nodiscard]] std::string ep_reference(const Route& route, const StageRoute& stage);

// The device class that a stage wants of its EP: asked for, or what its options say; none = any.
[[nodiscard]] std::optional<ort::DeviceClass> device_for(const Route& route, const StageRoute& stage);

// Every stage of the route that names an EP, through the resolver; the others as they are. An error of a stage that is
// no answer (bad input, EP not there, cancelled) is the first one's, with the stage's name.
[[nodiscard]] Result<std::vector<PreparedStage>> compile_stages(compile::Resolver& resolver, const OpenedBundle& opened,
                                                                const PrepareOptions& options,
                                                                const StageObserver& observer);

}  // namespace precast::genai
