#pragma once

#include <span>
#include <vector>

#include "program.hpp"

namespace precast::fake_ep {

// Runs the program on inputs in the program's order. Thread-safe. Throws EpError for shapes that do not fit.
std::vector<Tensor> execute(const Program& program, std::span<const TensorView> inputs);

}  // namespace precast::fake_ep
