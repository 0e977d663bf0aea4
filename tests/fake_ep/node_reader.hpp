#pragma once

#include <optional>
#include <string>

#include "onnxruntime_cxx_api.h"
#include "program.hpp"

namespace precast::fake_ep {

// The node's attribute, if it has it and it is of that type.
std::optional<std::string> text_attribute(Ort::ConstNode node, const std::string& name);
std::optional<std::int64_t> integer_attribute(Ort::ConstNode node, const std::string& name);

bool is_ep_context(Ort::ConstNode node);

// Whether the executor can run the node: a known operation of the ONNX domain on float32 tensors of fitting rank.
bool is_executable(Ort::ConstNode node);

// Copies a partition, weights included: nothing of it points into ORT's graph afterwards.
Program read_program(Ort::ConstGraph graph, Ort::ConstNode fused_node);

}  // namespace precast::fake_ep
