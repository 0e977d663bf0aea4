#pragma once

#include <string>

namespace precast::fake_ep::test {

// A model with every operation the fake EP claims, broadcasting, batches, a transposed Gemm with alpha and beta and a
// dynamic first dimension; weights inline.
void write_every_operation_model(const std::string& file);

// Two inputs, no path between their branches: [x -> Relu -> y], [a -> MatMul -> b].
void write_two_branches_model(const std::string& file);

// y = MatMul(x, w) + Sigmoid(MatMul(x, w)): the node in the middle is not the fake EP's, so that fusing the two others
// would make a cycle.
void write_skip_connection_model(const std::string& file);

}  // namespace precast::fake_ep::test
