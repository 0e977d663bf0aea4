#include "blob.hpp"

#include <cstring>
#include <type_traits>

#include "error.hpp"

namespace precast::fake_ep {
namespace {

constexpr std::string_view kMagic = "PCFAKEEP";
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kSizeAt = kMagic.size() + 2 * sizeof(std::uint32_t);

class Writer {
 public:
  template <typename T>
  void number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_.append(value);
  }
  template <typename T, typename WriteOne>
  void list(const T& values, WriteOne write_one) {
    number(static_cast<std::uint32_t>(values.size()));
    for (const auto& value : values) write_one(value);
  }
  void texts(const std::vector<std::string>& values) {
    list(values, [this](const std::string& value) { text(value); });
  }
  void raw(const void* data, std::size_t size) { bytes_.append(static_cast<const char*>(data), size); }

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::string_view raw(std::uint64_t size) {
    if (size > rest_.size()) throw EpError("the context binary is damaged");
    const auto part = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return part;
  }
  template <typename T>
  T number() {
    T value{};
    const auto bytes = raw(sizeof value);
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  std::string text() { return std::string(raw(number<std::uint32_t>())); }
  template <typename ReadOne>
  void list(ReadOne read_one) {
    for (auto left = number<std::uint32_t>(); left > 0; --left) read_one();
  }
  std::vector<std::string> texts() {
    std::vector<std::string> values;
    list([&] { values.push_back(text()); });
    return values;
  }

 private:
  std::string_view rest_;
};

void write_partition(const Program& program, Writer& out) {
  out.text(program.name);
  out.texts(program.inputs);
  out.texts(program.outputs);
  out.list(program.operations, [&out](const Operation& operation) {
    out.text(operation.op);
    out.texts(operation.inputs);
    out.text(operation.output);
    out.number(operation.alpha);
    out.number(operation.beta);
    out.number(static_cast<std::uint8_t>(operation.transpose_a));
    out.number(static_cast<std::uint8_t>(operation.transpose_b));
  });
  out.list(program.constants, [&out](const auto& constant) {
    out.text(constant.first);
    out.list(constant.second.shape, [&out](std::int64_t extent) { out.number(extent); });
    out.number(std::uint64_t{constant.second.values.size()});
  });
  for (const auto& [name, tensor] : program.constants) {
    out.raw(tensor.values.data(), tensor.values.size() * sizeof(float));
  }
  out.number(program.output_scale);
}

void read_weights(Tensor& tensor, Reader& in) {
  const auto bytes = in.raw(tensor.values.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(tensor.values.data(), bytes.data(), bytes.size());
}

Program read_partition(Reader& in, std::uint64_t blob_size) {
  Program program;
  program.name = in.text();
  program.inputs = in.texts();
  program.outputs = in.texts();
  in.list([&] {
    Operation& operation = program.operations.emplace_back();
    operation.op = in.text();
    operation.inputs = in.texts();
    operation.output = in.text();
    operation.alpha = in.number<float>();
    operation.beta = in.number<float>();
    operation.transpose_a = in.number<std::uint8_t>() != 0;
    operation.transpose_b = in.number<std::uint8_t>() != 0;
  });
  in.list([&] {
    Tensor& tensor = program.constants[in.text()];
    in.list([&] { tensor.shape.push_back(in.number<std::int64_t>()); });
    const auto count = in.number<std::uint64_t>();
    if (count > blob_size / sizeof(float)) throw EpError("the context binary is damaged");
    tensor.values.resize(count);
  });
  for (auto& [name, tensor] : program.constants) read_weights(tensor, in);
  program.output_scale = in.number<float>();
  return program;
}

}  // namespace

std::string write_blob(const std::vector<Program>& partitions) {
  Writer out;
  out.raw(kMagic.data(), kMagic.size());
  out.number(kVersion);
  out.number(static_cast<std::uint32_t>(partitions.size()));
  out.number(std::uint64_t{0});
  for (const Program& program : partitions) write_partition(program, out);
  std::string bytes = out.take();
  const std::uint64_t size = bytes.size();
  std::memcpy(bytes.data() + kSizeAt, &size, sizeof size);
  return bytes;
}

std::vector<Program> read_blob(std::string_view bytes) {
  Reader in(bytes);
  if (bytes.size() < kMagic.size() || in.raw(kMagic.size()) != kMagic) {
    throw EpError("the context binary has no magic number");
  }
  if (in.number<std::uint32_t>() != kVersion) throw EpError("the context binary has another format version");
  const auto count = in.number<std::uint32_t>();
  if (in.number<std::uint64_t>() != bytes.size()) throw EpError("the context binary is truncated");
  std::vector<Program> partitions;
  if (count > bytes.size()) throw EpError("the context binary is damaged");
  partitions.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) partitions.push_back(read_partition(in, bytes.size()));
  return partitions;
}

}  // namespace precast::fake_ep
