// What a session takes and gives, and whether given tensors fit; for src/api only.
#pragma once

#include <vector>

#include "precast/session.hpp"

namespace precast::api {

// Of the session's inputs or outputs, in the model's order. Throws Ort::Exception.
[[nodiscard]] std::vector<TensorInfo> inputs_of(const Ort::Session& session);
[[nodiscard]] std::vector<TensorInfo> outputs_of(const Ort::Session& session);

// bad_input that names every input that is missing, unknown, or of another dtype or shape than `wanted`. Throws
// Ort::Exception.
[[nodiscard]] Result<void> check_inputs(const std::vector<TensorInfo>& wanted, const Tensors& given);

}  // namespace precast::api
