// Whether a compiled model can hold its context inside: an ONNX file ends at 2 GiB.
#pragma once

#include <filesystem>

#include "model/model_facts.hpp"
#include "ort/target.hpp"
#include "precast/error.hpp"

namespace precast::compile {

// bad_input when the weights of the source alone would go past 2 GiB in the form that the EP keeps them in. EPs find
// that out only after the compile, and say it in words that nobody understands.
[[nodiscard]] Result<void> check_embeddable(const model::ModelFacts& facts, const ort::Target& target,
                                            const std::filesystem::path& model);

}  // namespace precast::compile
