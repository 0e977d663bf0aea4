// Seeded ONNX models for tests and benchmarks: opset 17, IR version 8, finite outputs. The same options give the same
// bytes on every machine.
//
//   precast::model_generator::Options options;
//   options.kind = precast::model_generator::Kind::tiny;
//   options.output = "/tmp/tiny.onnx";
//   auto made = precast::model_generator::generate(options);
//
// Weights go to disk in blocks: a 1 GB model costs a few MB of memory. The files appear whole or not at all (written
// under a temporary name beside the output, then renamed; the data file first). Free-threaded for different outputs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "precast/error.hpp"

namespace precast::model_generator {

enum class Kind : std::uint8_t {
  tiny,           // MatMul -> Add -> Relu, float32 [1,8], about 1 KB
  dynamic,        // tiny with a symbolic first dimension "batch"
  resnet50,       // ResNet-50's shape, float32 [1,3,224,224], about 102 MB
  transformer,    // encoder stack, float32 [1,sequence,hidden], about 340 MB by default
  two_partition,  // MatMul -> separator -> MatMul: two compiled partitions on an EP that lacks the separator
  unsupported,    // no node that OpenVINO or QNN can run
  branch,         // dynamic, then an If whose branches need the outer graph's weights and an operator that EPs lack
  empty,          // tiny, with no elements left before the last node
};

enum class Separator : std::uint8_t {
  fastgelu,  // com.microsoft.FastGelu with bias: OpenVINO and QNN lack it
  shrink,    // Shrink: QNN lacks it, OpenVINO runs it
};

struct Options {
  Kind kind = Kind::tiny;
  std::filesystem::path output;
  std::uint64_t seed = 1;
  std::optional<bool> external;  // weights in "<stem>.data" beside the output; not given: transformer only
  std::string op = "Relu";       // tiny, dynamic, empty: op type of the last node, any operator with one float input
  Separator separator = Separator::fastgelu;  // two_partition
  // transformer: layers * 12 * hidden^2 weights
  std::int64_t layers = 12;
  std::int64_t hidden = 768;
  std::int64_t heads = 0;  // 0 = hidden / 64, at least 1; must divide hidden
  std::int64_t sequence = 64;
};

struct Generated {
  std::filesystem::path model;
  std::uint64_t model_bytes = 0;
  std::optional<std::filesystem::path> data;
  std::uint64_t data_bytes = 0;
};

// bad_input for options that make no sense, for an inline model past protobuf's 2 GiB; io when the disk says no.
[[nodiscard]] Result<Generated> generate(const Options& options);

}  // namespace precast::model_generator
