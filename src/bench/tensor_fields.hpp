// The fields of an ONNX TensorProto as they stand in a file, not yet checked against each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <google/protobuf/io/zero_copy_stream.h>

#include "bench/source.hpp"
#include "precast/error.hpp"

namespace precast::bench {

struct TensorFields {
  std::string name;
  std::int32_t element_type = 0;
  std::vector<std::int64_t> shape;
  bool external = false;
  bool segment = false;
  std::optional<std::string> raw;
  std::string float_data;  // little-endian, as packed
  std::string double_data;
  std::vector<std::int64_t> int32_data;
  std::vector<std::int64_t> int64_data;
  std::vector<std::int64_t> uint64_data;  // the bits
  std::vector<std::string> strings;
};

// `size` bytes. bad_input: not the wire format, truncated, floats that are not packed.
[[nodiscard]] Result<TensorFields> read_tensor_fields(google::protobuf::io::ZeroCopyInputStream& stream, int size,
                                                      const Place& place);

}  // namespace precast::bench
