#pragma once

#include <functional>
#include <vector>

#include "onnxruntime_cxx_api.h"

namespace precast::fake_ep {

// Groups the nodes that `supported` accepts (nodes are in topological order) into connected groups, each of which can
// be fused into one node: no path leads from a group through other nodes back into it.
std::vector<std::vector<Ort::ConstNode>> find_partitions(const std::vector<Ort::ConstNode>& nodes,
                                                         const std::function<bool(Ort::ConstNode)>& supported);

}  // namespace precast::fake_ep
