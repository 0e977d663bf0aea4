#include "model/index_limits.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "model/file_stream.hpp"
#include "model/wire_reader.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::model {
namespace {

// Field numbers of onnx.proto.
constexpr int kModelGraph = 7;
constexpr int kGraphNode = 1;
constexpr int kGraphInitializer = 5;
constexpr int kGraphInput = 11;
constexpr int kNodeInput = 1;
constexpr int kNodeOutput = 2;
constexpr int kNodeOpType = 4;
constexpr int kNodeAttribute = 5;
constexpr int kAttributeName = 1;
constexpr int kAttributeInt = 3;
constexpr int kTensorDims = 1;
constexpr int kTensorName = 8;
constexpr int kValueName = 1;
constexpr int kLongestName = 1 << 20;
constexpr std::size_t kEntryCost = 128;

// Operators whose first input comes out with the same values, though maybe of another type or shape.
constexpr std::array<std::string_view, 7> kSameValues = {"Cast",      "Identity", "Reshape",         "Squeeze",
                                                         "Unsqueeze", "Flatten",  "DequantizeLinear"};

class IndexWalk {
 public:
  explicit IndexWalk(WireReader& in) : in_(in) {}

  bool run() {
    return in_.root([this](const Field& field) {
      if (field.number != kModelGraph) return in_.skip(field);
      return in_.message(field, [this](const Field& inner) { return graph_field(inner); });
    });
  }

  [[nodiscard]] IndexLimits limits() const {
    IndexLimits limits;
    for (const GatherNode& gather : gathers_) {
      const auto table = tables_.find(origin(gather.data));
      const std::string& input = origin(gather.indices);
      if (table == tables_.end() || std::ranges::find(inputs_, input) == inputs_.end()) continue;
      const auto rank = static_cast<std::int64_t>(table->second.size());
      const std::int64_t axis = gather.axis < 0 ? gather.axis + rank : gather.axis;
      if (axis < 0 || axis >= rank) continue;
      const std::int64_t size = table->second[static_cast<std::size_t>(axis)];
      if (size <= 0) continue;
      const auto [limit, first] = limits.try_emplace(input, size);
      if (!first) limit->second = std::min(limit->second, size);
    }
    return limits;
  }

 private:
  using Field = WireReader::Field;
  struct GatherNode {
    std::string data;
    std::string indices;
    std::int64_t axis = 0;
  };

  bool graph_field(const Field& field) {
    switch (field.number) {
      case kGraphNode:
        return node(field);
      case kGraphInitializer:
        return initializer(field);
      case kGraphInput: {
        std::string name;
        const bool whole = in_.message(field, [&](const Field& inner) {
          return inner.number == kValueName ? in_.text(inner, name, kLongestName) : in_.skip(inner);
        });
        if (!whole || !keep(name)) return false;
        inputs_.push_back(std::move(name));
        return true;
      }
      default:
        return in_.skip(field);
    }
  }

  bool node(const Field& field) {
    GatherNode gather;
    std::string output;
    std::string op_type;
    std::size_t inputs = 0;
    const bool whole = in_.message(field, [&](const Field& inner) {
      switch (inner.number) {
        case kNodeInput:
          ++inputs;
          if (inputs > 2) return in_.skip(inner);
          return in_.text(inner, inputs == 1 ? gather.data : gather.indices, kLongestName);
        case kNodeOutput:
          return output.empty() ? in_.text(inner, output, kLongestName) : in_.skip(inner);
        case kNodeOpType:
          return in_.text(inner, op_type, kLongestName);
        case kNodeAttribute:
          return attribute(inner, gather);
        default:
          return in_.skip(inner);
      }
    });
    if (!whole) return false;
    if (op_type == "Gather" || op_type == "GatherBlockQuantized") {
      if (!keep(gather.data) || !keep(gather.indices)) return false;
      gathers_.push_back(std::move(gather));
    } else if (std::ranges::find(kSameValues, op_type) != kSameValues.end() && !output.empty()) {
      if (!keep(output) || !keep(gather.data)) return false;
      same_as_.try_emplace(std::move(output), std::move(gather.data));
    }
    return true;
  }

  bool attribute(const Field& field, GatherNode& gather) {
    std::string name;
    std::int64_t value = 0;
    const bool whole = in_.message(field, [&](const Field& inner) {
      if (inner.number == kAttributeName) return in_.text(inner, name, kLongestName);
      if (inner.number == kAttributeInt) return in_.integer(inner, value);
      return in_.skip(inner);
    });
    if (name == "axis" || name == "gather_axis") gather.axis = value;
    return whole;
  }

  bool initializer(const Field& field) {
    std::string name;
    std::vector<std::int64_t> dims;
    constexpr std::size_t kMostDims = 64;
    const bool whole = in_.message(field, [&](const Field& inner) {
      if (inner.number == kTensorName) return in_.text(inner, name, kLongestName);
      if (inner.number != kTensorDims) return in_.skip(inner);
      return in_.integers(inner, [&](std::int64_t size) {
        if (dims.size() < kMostDims) dims.push_back(size);
      });
    });
    if (!whole || !keep(name)) return false;
    tables_.try_emplace(std::move(name), std::move(dims));
    return true;
  }

  bool keep(const std::string& text) { return in_.keep(text.size() + kEntryCost); }

  // Through operators that leave the values as they are; a graph has no cycles, but a file may say so.
  [[nodiscard]] const std::string& origin(const std::string& name) const {
    const std::string* at = &name;
    for (std::size_t steps = 0; steps <= same_as_.size(); ++steps) {
      const auto next = same_as_.find(*at);
      if (next == same_as_.end()) break;
      at = &next->second;
    }
    return *at;
  }

  WireReader& in_;
  std::vector<std::string> inputs_;
  std::unordered_map<std::string, std::vector<std::int64_t>> tables_;
  std::unordered_map<std::string, std::string> same_as_;
  std::vector<GatherNode> gathers_;
};

Result<IndexLimits> walk(google::protobuf::io::ZeroCopyInputStream& stream, std::uint64_t size,
                         const std::filesystem::path& path) {
  constexpr std::uint64_t kProtobufLimit = std::numeric_limits<std::int32_t>::max();
  if (size > kProtobufLimit) return fail(ErrorCode::bad_input, util::quoted(path) + " is larger than 2 GiB", path);
  WireReader reader(stream, static_cast<int>(size));
  IndexWalk index(reader);
  if (!index.run()) return fail(ErrorCode::bad_input, util::quoted(path) + " is not a whole ONNX model", path);
  return index.limits();
}

}  // namespace

Result<IndexLimits> read_index_limits(fs::FileSystem& fs, const std::filesystem::path& path) {
  PRECAST_TRY_ASSIGN(fs::File file, fs.open(path, fs::OpenMode::read));
  PRECAST_TRY_ASSIGN(const fs::FileStat stat, fs.stat(file));
  FileStream stream(fs, file, stat.size);
  auto limits = walk(stream, stat.size, path);
  if (const std::optional<Error>& error = stream.error()) return std::unexpected(*error);
  return limits;
}

Result<IndexLimits> parse_index_limits(std::string_view bytes, std::string_view name) {
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  return walk(stream, bytes.size(), name);
}

}  // namespace precast::model
