#include "model_generator/model_generator.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "model_generator/kinds.hpp"
#include "util/try.hpp"

namespace precast::model_generator {
namespace {

static_assert(std::endian::native == std::endian::little, "ONNX's raw data is little-endian");

// ORT maps external data into memory: whole pages are the kindest offsets.
constexpr std::uint64_t kAlignment = 4096;
constexpr std::uint64_t kProtobufLimit = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kLargestOption = 1 << 20;
// Wire types and field numbers of onnx.proto.
constexpr char kModelGraphTag = (7 << 3) | 2;
constexpr char kGraphInitializerTag = (5 << 3) | 2;
constexpr char kTensorRawDataTag = (9 << 3) | 2;

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>((value & 0x7F) | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

// A file that has its name only once it is complete.
class Writer {
 public:
  explicit Writer(std::filesystem::path path) : path_(std::move(path)), temporary_(path_) {
    temporary_ += ".tmp";
    errno = 0;
    stream_.open(temporary_, std::ios::binary | std::ios::trunc);
  }
  ~Writer() {
    std::error_code ignored;  // nothing is lost if a temporary file stays behind
    if (!done_) std::filesystem::remove(temporary_, ignored);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void write(std::string_view bytes) {
    stream_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    written_ += bytes.size();
  }
  void write(const Weight& weight, std::uint64_t seed) {
    WeightStream source(weight, seed);
    std::vector<float> block(std::min<std::uint64_t>(weight.elements(), 1U << 18));
    for (std::uint64_t left = weight.elements(); left > 0;) {
      const std::span<float> part = std::span(block).first(std::min<std::uint64_t>(left, block.size()));
      source.next(part);
      write(std::string_view(reinterpret_cast<const char*>(part.data()), part.size_bytes()));
      left -= part.size();
    }
  }
  void pad_to(std::uint64_t offset) { write(std::string(offset - written_, '\0')); }
  [[nodiscard]] std::uint64_t written() const { return written_; }

  Result<void> finish() {
    stream_.close();
    if (!stream_) {
      const std::string why = errno != 0 ? std::generic_category().message(errno) : "the stream failed";
      return fail(ErrorCode::io, fmt::format("cannot write '{}': {}", path_.string(), why), path_,
                  "check that the folder exists, can be written and has room");
    }
    std::error_code error;
    std::filesystem::rename(temporary_, path_, error);
    if (error) {
      return fail(ErrorCode::io, fmt::format("cannot put '{}' in place: {}", path_.string(), error.message()), path_);
    }
    done_ = true;
    return {};
  }

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  std::ofstream stream_;
  std::uint64_t written_ = 0;
  bool done_ = false;
};

onnx::TensorProto tensor_head(const Weight& weight) {
  onnx::TensorProto tensor;
  for (const std::int64_t dim : weight.dims) tensor.add_dims(dim);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.set_name(weight.name);
  return tensor;
}

void add_entry(onnx::TensorProto& tensor, const std::string& key, const std::string& value) {
  onnx::StringStringEntryProto& entry = *tensor.add_external_data();
  entry.set_key(key);
  entry.set_value(value);
}

// The serialised tensors, each without the payload that an inline one still needs.
struct Head {
  std::string bytes;
  const Weight* payload = nullptr;
  [[nodiscard]] std::uint64_t size() const {
    if (payload == nullptr) return bytes.size();
    return bytes.size() + 1 + varint(payload->bytes()).size() + payload->bytes();
  }
};

Result<std::uint64_t> write_data(const GraphBuilder& graph, const std::filesystem::path& path, std::uint64_t seed,
                                 std::vector<Head>& heads) {
  Writer data(path);
  for (const Weight& weight : graph.weights()) {
    data.pad_to((data.written() + kAlignment - 1) / kAlignment * kAlignment);
    onnx::TensorProto tensor = tensor_head(weight);
    add_entry(tensor, "location", path.filename().string());
    add_entry(tensor, "offset", std::to_string(data.written()));
    add_entry(tensor, "length", std::to_string(weight.bytes()));
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    heads.push_back(Head{.bytes = tensor.SerializeAsString()});
    data.write(weight, seed);
  }
  const std::uint64_t written = data.written();
  PRECAST_TRY(data.finish());
  return written;
}

// The model message with its graph, into which the tensors are put by hand, so that no payload is ever in memory.
Result<std::uint64_t> write_model(const GraphBuilder& graph, const std::filesystem::path& path, std::uint64_t seed,
                                  const std::vector<Head>& heads) {
  onnx::ModelProto frame = graph.model();
  const std::string graph_bytes = frame.graph().SerializeAsString();
  frame.clear_graph();
  std::uint64_t graph_size = graph_bytes.size();
  for (const Head& head : heads) graph_size += 1 + varint(head.size()).size() + head.size();
  if (graph_size + frame.ByteSizeLong() + 16 > kProtobufLimit) {
    return fail(ErrorCode::bad_input,
                fmt::format("'{}' would be {} bytes: an ONNX file ends at 2 GiB", path.string(), graph_size), path,
                "add --external, or ask for fewer layers or a smaller hidden size");
  }
  Writer out(path);
  out.write(frame.SerializeAsString());
  out.write(kModelGraphTag + varint(graph_size));
  out.write(graph_bytes);
  for (const Head& head : heads) {
    out.write(kGraphInitializerTag + varint(head.size()));
    out.write(head.bytes);
    if (head.payload == nullptr) continue;
    out.write(kTensorRawDataTag + varint(head.payload->bytes()));
    out.write(*head.payload, seed);
  }
  const std::uint64_t written = out.written();
  PRECAST_TRY(out.finish());
  return written;
}

Result<Options> checked(Options options) {
  if (options.output.filename().empty()) {
    return fail(ErrorCode::bad_input, "no output file is named", options.output, "say where to: -o model.onnx");
  }
  if (options.op.empty()) return fail(ErrorCode::bad_input, "the operator's name is empty", {}, "for example Relu");
  if (options.kind != Kind::transformer) return options;
  const auto sane = [](std::int64_t value) { return value >= 1 && value <= kLargestOption; };
  if (!sane(options.layers) || !sane(options.hidden) || !sane(options.sequence) || options.heads < 0) {
    return fail(ErrorCode::bad_input,
                fmt::format("layers {}, hidden {}, heads {} and sequence {} must lie between 1 and {}", options.layers,
                            options.hidden, options.heads, options.sequence, kLargestOption));
  }
  if (options.heads == 0) options.heads = std::max<std::int64_t>(1, options.hidden / 64);
  if (options.hidden % options.heads != 0) {
    return fail(ErrorCode::bad_input,
                fmt::format("{} heads do not divide a hidden size of {}", options.heads, options.hidden), {},
                "choose --hidden as a multiple of --heads");
  }
  return options;
}

}  // namespace

Result<Generated> generate(const Options& wanted) {
  PRECAST_TRY_ASSIGN(const Options options, checked(wanted));
  const GraphBuilder graph = build_graph(options);
  Generated made;
  made.model = options.output;
  std::vector<Head> heads;
  const bool external = options.external.value_or(options.kind == Kind::transformer);
  if (external && !graph.weights().empty()) {
    const std::filesystem::path data = options.output.parent_path() / (options.output.stem().string() + ".data");
    PRECAST_TRY_ASSIGN(made.data_bytes, write_data(graph, data, options.seed, heads));
    made.data = data;
  } else {
    for (const Weight& weight : graph.weights()) {
      heads.push_back(Head{.bytes = tensor_head(weight).SerializeAsString(), .payload = &weight});
    }
  }
  PRECAST_TRY_ASSIGN(made.model_bytes, write_model(graph, options.output, options.seed, heads));
  return made;
}

}  // namespace precast::model_generator
