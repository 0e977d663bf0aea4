// Files that are no models, broken ones and hostile ones: always an error that says what is wrong, never a crash.
#include <cstring>

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "fs/counting_file_system.hpp"
#include "model/model_facts.hpp"
#include "model_builder.hpp"

namespace precast::model {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Result<ModelFacts> read(const std::filesystem::path& path) {
  return read_model(fs::FileSystem::posix(), path);
}

void expect_error(const Result<ModelFacts>& result, ErrorCode code, const std::string& path, const std::string& words) {
  ASSERT_FALSE(result) << path << ": " << words;
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_THAT(result.error().message, AllOf(HasSubstr(path), HasSubstr(words)));
  EXPECT_FALSE(result.error().hint.empty());
}

onnx::ModelProto small_model() {
  auto model = empty_model();
  model.set_producer_name("test");
  auto& graph = *model.mutable_graph();
  add_value(*graph.add_input(), "x", onnx::TensorProto::FLOAT);
  graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(8);
  add_value(*graph.add_output(), "y", onnx::TensorProto::FLOAT);
  auto& weight = *graph.add_initializer();
  weight.set_name("w");
  weight.set_data_type(onnx::TensorProto::FLOAT);
  weight.add_dims(4);
  weight.set_raw_data(std::string(16, '\x11'));
  fill_external(*graph.add_initializer(), "e", "e.bin", "0", "16");
  auto& node = *graph.add_node();
  node.set_op_type("EPContext");
  node.set_domain("com.microsoft");
  add_attribute(node, "source").set_s("X");
  add_attribute(node, "body").mutable_g()->add_node()->set_op_type("Relu");
  return model;
}

TEST(ReadModel, ReadsAFile) {
  const TemporaryFolder folder;
  const auto facts = read(folder.write("model.onnx", small_model().SerializeAsString()));
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->node_count, 1U);
  EXPECT_EQ(facts->external_files.size(), 1U);
}

TEST(ReadModel, FollowsLinks) {
  const TemporaryFolder folder;
  const auto target = folder.write("blob", small_model().SerializeAsString());
  std::filesystem::create_symlink(target, folder / "model.onnx");
  EXPECT_TRUE(read(folder / "model.onnx"));
}

TEST(BadFile, Missing) {
  const TemporaryFolder folder;
  expect_error(read(folder / "none.onnx"), ErrorCode::not_found, "none.onnx", "does not exist");
  std::filesystem::create_symlink("nowhere", folder / "dangling.onnx");
  expect_error(read(folder / "dangling.onnx"), ErrorCode::not_found, "dangling.onnx", "does not exist");
}

TEST(BadFile, Empty) {
  const TemporaryFolder folder;
  expect_error(read(folder.write("empty.onnx", "")), ErrorCode::bad_input, "empty.onnx", "is empty");
  expect_error(parse_model("", "bytes"), ErrorCode::bad_input, "bytes", "is empty");
}

TEST(BadFile, Folder) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "folder.onnx");
  expect_error(read(folder / "folder.onnx"), ErrorCode::bad_input, "folder.onnx", "is a folder");
}

TEST(BadFile, Fifo) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "fifo.onnx").c_str(), 0600), 0);
  expect_error(read(folder / "fifo.onnx"), ErrorCode::bad_input, "fifo.onnx", "not a regular file");
  expect_error(read("/dev/null"), ErrorCode::bad_input, "/dev/null", "not a regular file");
}

TEST(BadFile, Socket) {
  const TemporaryFolder folder;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder / "socket";
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int socket_descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(socket_descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  expect_error(read(path), ErrorCode::bad_input, "socket", "not a regular file");
  close(socket_descriptor);
}

// Root reads everything, so the refusal is made by the seam.
class Refusing : public fs::CountingFileSystem {
 public:
  Refusing() : CountingFileSystem(fs::FileSystem::posix()) {}
  Result<fs::File> open(const std::filesystem::path& path, fs::OpenMode) override {
    return fail(ErrorCode::io, "cannot open '" + path.string() + "': Permission denied", path);
  }
};

class FailingRead : public fs::CountingFileSystem {
 public:
  explicit FailingRead(int failing_call) : CountingFileSystem(fs::FileSystem::posix()), failing_call_(failing_call) {}
  Result<std::size_t> read_at(fs::File& file, std::span<std::byte> into, std::uint64_t offset) override {
    if (failing_call_-- == 0) {
      if (end_of_file) return 0;
      return fail(ErrorCode::io, "cannot read '" + file.path().string() + "': Input/output error", file.path());
    }
    return CountingFileSystem::read_at(file, into.first(std::min<std::size_t>(into.size(), 50)), offset);
  }
  bool end_of_file = false;

 private:
  int failing_call_;
};

TEST(BadFile, Unreadable) {
  const TemporaryFolder folder;
  const auto path = folder.write("secret.onnx", small_model().SerializeAsString());
  Refusing refusing;
  expect_error(read_model(refusing, path), ErrorCode::bad_input, "secret.onnx", "Permission denied");
  if (geteuid() != 0) {
    std::filesystem::permissions(path, std::filesystem::perms::none);
    expect_error(read(path), ErrorCode::bad_input, "secret.onnx", "cannot be read");
  }
}

TEST(BadFile, ReadErrorsArePassedOnAndShortReadsAreNone) {
  const TemporaryFolder folder;
  const auto path = folder.write("model.onnx", small_model().SerializeAsString());
  for (int call = 0; call < 4; ++call) {
    FailingRead failing(call);
    const auto result = read_model(failing, path);
    ASSERT_FALSE(result) << call;
    EXPECT_EQ(result.error().code, ErrorCode::io);
    EXPECT_THAT(result.error().message, HasSubstr("Input/output error"));
    FailingRead shrinking(call);
    shrinking.end_of_file = true;
    expect_error(read_model(shrinking, path), ErrorCode::bad_input, "model.onnx", "became shorter");
  }
  FailingRead slow(1000);
  EXPECT_TRUE(read_model(slow, path));
}

TEST(BadFile, Garbage) {
  const TemporaryFolder folder;
  const std::string zeros(1000, '\0');
  for (const std::string& bytes :
       {std::string("hello, world"), zeros, std::string("\xFF\xFE\x00\x01", 4), std::string("PK\x03\x04"),
        std::string("{\"ir_version\": 8}"), std::string("\x08")}) {
    const auto result = read(folder.write("garbage.onnx", bytes));
    expect_error(result, ErrorCode::bad_input, "garbage.onnx", "is not an ONNX model");
  }
}

TEST(BadFile, ProtobufOfSomethingElse) {
  onnx::StringStringEntryProto pair;
  pair.set_key("a");
  pair.set_value("b");
  expect_error(parse_model(pair.SerializeAsString(), "pair.onnx"), ErrorCode::bad_input, "pair.onnx", "ONNX model");
  onnx::ModelProto model = empty_model();
  model.clear_graph();
  expect_error(parse_model(model.SerializeAsString(), "m"), ErrorCode::bad_input, "m", "it has no graph");
  model = empty_model();
  model.clear_ir_version();
  expect_error(parse_model(model.SerializeAsString(), "m"), ErrorCode::bad_input, "m", "no ir_version");
  model = empty_model();
  model.clear_opset_import();
  expect_error(parse_model(model.SerializeAsString(), "m"), ErrorCode::bad_input, "m", "imports no operator set");
}

TEST(BadFile, TruncatedAtEveryByte) {
  const TemporaryFolder folder;
  const std::string bytes = small_model().SerializeAsString();
  ASSERT_GT(bytes.size(), 150U);
  for (std::size_t length = 1; length < bytes.size(); ++length) {
    const auto from_memory = parse_model(std::string_view(bytes).substr(0, length), "m");
    ASSERT_FALSE(from_memory) << length;
    const auto from_file = read(folder.write("cut.onnx", std::string_view(bytes).substr(0, length)));
    ASSERT_FALSE(from_file) << length;
    EXPECT_EQ(from_file.error().code, ErrorCode::bad_input);
  }
  // Where the cut shows: inside the graph.
  expect_error(parse_model(std::string_view(bytes).substr(0, bytes.size() / 2), "m"), ErrorCode::bad_input, "m",
               "is truncated");
}

// The generated classes are the judge of what is well-formed.
TEST(BadFile, FlippedBytesAreJudgedAsProtobufJudgesThem) {
  const std::string bytes = small_model().SerializeAsString();
  int both_refuse = 0;
  int both_accept = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int mask : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF}) {
      std::string flipped = bytes;
      flipped[i] = static_cast<char>(flipped[i] ^ mask);
      const auto facts = parse_model(flipped, "m");
      onnx::ModelProto model;
      const bool parses = model.ParseFromString(flipped);
      if (!parses) {
        both_refuse += facts ? 0 : 1;  // the walk does not look into what it skips, so it may accept
      } else if (facts) {
        ++both_accept;
        EXPECT_EQ(facts->ir_version, model.ir_version()) << i;
        EXPECT_EQ(facts->producer, model.producer_name()) << i;
        EXPECT_EQ(facts->node_count, static_cast<std::uint64_t>(model.graph().node_size())) << i;
        EXPECT_EQ(facts->outputs.size(), static_cast<std::size_t>(model.graph().output_size())) << i;
      } else if (model.ir_version() > 0) {
        EXPECT_THAT(facts.error().message, Not(HasSubstr("encoding"))) << i << ' ' << mask;
        EXPECT_THAT(facts.error().message, Not(HasSubstr("truncated"))) << i << ' ' << mask;
      }
    }
  }
  EXPECT_GT(both_refuse, 100);
  EXPECT_GT(both_accept, 100);
}

TEST(Hostile, DeepNesting) {
  auto model = empty_model();
  onnx::GraphProto* graph = model.mutable_graph();
  for (int depth = 0; depth < 32; ++depth) graph = add_attribute(*graph->add_node(), "g").mutable_g();
  ASSERT_TRUE(parse_model(model.SerializeAsString(), "m"));  // 97 levels
  for (int depth = 0; depth < 1000; ++depth) graph = add_attribute(*graph->add_node(), "g").mutable_g();
  expect_error(parse_model(model.SerializeAsString(), "m"), ErrorCode::bad_input, "m", "100 messages deep");
}

TEST(Hostile, TheDepthLimitIsProtobufsOwn) {
  auto model = empty_model();
  onnx::GraphProto* graph = model.mutable_graph();
  int accepted = 0;
  for (int depth = 0; depth < 40; ++depth) {
    const std::string bytes = model.SerializeAsString();
    onnx::ModelProto parsed;
    EXPECT_EQ(parse_model(bytes, "m").has_value(), parsed.ParseFromString(bytes)) << depth;
    accepted += parse_model(bytes, "m").has_value() ? 1 : 0;
    graph = add_attribute(*graph->add_node(), "g").mutable_g();
  }
  EXPECT_EQ(accepted, 34);  // 1 + 3 * 33 = 100 nested messages
}

TEST(Hostile, DeepGroups) {
  const std::string groups(1000000, '\x5B');  // field 11, start of a group
  EXPECT_FALSE(parse_model(empty_model().SerializeAsString() + groups, "m"));
}

TEST(Hostile, LengthsThatLeaveTheirMessage) {
  // A graph of 4 bytes with a node that claims 100.
  std::string inner = empty_model().SerializeAsString() + std::string("\x3a\x04\x0a\x64", 4) + "ab";
  expect_error(parse_model(inner, "m"), ErrorCode::bad_input, "m", "is damaged");
  // A graph that claims 2 GiB - 1, then one that claims more than 32 bits.
  const std::string huge = empty_model().SerializeAsString() + "\x3a\xff\xff\xff\xff\x07";
  expect_error(parse_model(huge, "m"), ErrorCode::bad_input, "m", "is truncated");
  EXPECT_FALSE(parse_model(empty_model().SerializeAsString() + "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "m"));
}

TEST(Hostile, TruncatedAndEndlessVarints) {
  const std::string start = empty_model().SerializeAsString();
  expect_error(parse_model(start + "\x28\xff\xff", "m"), ErrorCode::bad_input, "m", "is truncated");
  EXPECT_FALSE(parse_model(start + "\x28" + std::string(50, '\xff'), "m"));
  EXPECT_FALSE(parse_model(start + std::string(50, '\xff'), "m"));
}

TEST(Hostile, HugeNamesAndCountlessEntries) {
  auto model = empty_model();
  model.mutable_graph()->add_initializer()->set_name(std::string(2 << 20, 'n'));
  expect_error(parse_model(model.SerializeAsString(), "m"), ErrorCode::bad_input, "m", "more than a megabyte");
  // Two bytes of file each, a hundred in memory.
  std::string inputs;
  for (int i = 0; i < 1000000; ++i) inputs += std::string("\x5a\x00", 2);
  std::string bytes = empty_model().SerializeAsString();
  bytes += "\x3a";
  for (std::size_t length = inputs.size(); length > 0; length >>= 7U) {
    bytes += static_cast<char>((length & 0x7FU) | (length >= 0x80U ? 0x80U : 0U));
  }
  expect_error(parse_model(bytes + inputs, "m"), ErrorCode::bad_input, "m", "names and metadata");
}

TEST(Hostile, AReferenceOfMegabytes) {
  auto model = empty_model();
  auto& node = *model.mutable_graph()->add_node();
  node.set_op_type("EPContext");
  node.set_domain("com.microsoft");
  add_attribute(node, "embed_mode").set_i(0);
  add_attribute(node, "ep_cache_context").set_s(std::string(2 << 20, 'r'));
  expect_error(parse_model(model.SerializeAsString(), "m"), ErrorCode::bad_input, "m",
               "file reference of 2097152 bytes");
}

// ---- size ----------------------------------------------------------------------------------------------------------

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>((value & 0x7FU) | 0x80U);
  return bytes + static_cast<char>(value);
}

// A sparse file: a model with one tensor of `payload` bytes, and an output after it.
std::filesystem::path write_huge(const TemporaryFolder& folder, std::uint64_t payload) {
  onnx::TensorProto head;
  head.set_name("w");
  const std::string tensor = head.SerializeAsString() + "\x4a" + varint(payload);
  onnx::GraphProto tail;
  add_value(*tail.add_output(), "y", onnx::TensorProto::FLOAT);
  const std::string after = tail.SerializeAsString();
  const std::uint64_t tensor_size = tensor.size() + payload;
  const std::string initializer = "\x2a" + varint(tensor_size) + tensor;
  const std::string start =
      empty_model().SerializeAsString() + "\x3a" + varint(initializer.size() + payload + after.size()) + initializer;
  const auto path = folder.write("huge.onnx", start);
  std::filesystem::resize_file(path, start.size() + payload);
  std::ofstream(path, std::ios::binary | std::ios::app) << after;
  return path;
}

long peak_memory_kb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(Size, APayloadIsNeitherReadNorHeld) {
  const TemporaryFolder folder;
  const auto path = write_huge(folder, std::uint64_t{1} << 30U);
  fs::CountingFileSystem counting(fs::FileSystem::posix());
  const long before = peak_memory_kb();
  const auto facts = read_model(counting, path);
  ASSERT_TRUE(facts) << facts.error().message;
  ASSERT_EQ(facts->outputs.size(), 1U);
  EXPECT_EQ(facts->outputs[0].name, "y");
  const auto counts = counting.counts();
  EXPECT_LT(counts.bytes_read.at(path), 16384U);
  EXPECT_LE(counts.total(), 8U);
  EXPECT_LT(peak_memory_kb() - before, 64 * 1024);
}

TEST(Size, OfManyPayloadsLittleMoreThanTheHeadsIsRead) {
  const TemporaryFolder folder;
  auto model = empty_model();
  for (int i = 0; i < 20; ++i) {
    model.mutable_graph()->add_initializer()->set_raw_data(std::string(std::size_t{256} * 1024, 'p'));
  }
  const auto path = folder.write("many.onnx", model.SerializeAsString());
  fs::CountingFileSystem counting(fs::FileSystem::posix());
  ASSERT_TRUE(read_model(counting, path));
  EXPECT_LT(counting.counts().bytes_read.at(path), 21U * 4096U + 1U);
}

TEST(Size, ATruncatedPayloadIsNoticedThoughItIsNotRead) {
  const TemporaryFolder folder;
  const auto path = write_huge(folder, std::uint64_t{1} << 30U);
  std::filesystem::resize_file(path, 1U << 20U);
  expect_error(read(path), ErrorCode::bad_input, "huge.onnx", "is truncated");
}

TEST(Size, PastProtobufsLimit) {
  const TemporaryFolder folder;
  const auto path = folder.write("large.onnx", small_model().SerializeAsString());
  std::filesystem::resize_file(path, std::uint64_t{1} << 31U);
  expect_error(read(path), ErrorCode::bad_input, "large.onnx", "ends at 2 GiB");
}

}  // namespace
}  // namespace precast::model
