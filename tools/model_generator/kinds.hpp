// The graph of each kind of model.
#pragma once

#include "model_generator/graph_builder.hpp"
#include "model_generator/model_generator.hpp"

namespace precast::model_generator {

// `options` were checked by generate().
[[nodiscard]] GraphBuilder build_graph(const Options& options);

}  // namespace precast::model_generator
