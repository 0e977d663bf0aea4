#include <limits>

#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "model/file_stream.hpp"
#include "model/model_facts.hpp"
#include "model/model_walk.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::model {
namespace {

constexpr std::uint64_t kProtobufLimit = std::numeric_limits<std::int32_t>::max();
constexpr const char* kFetchAgain = "copy, download or export the model again";

std::unexpected<Error> refuse(const std::filesystem::path& path, const std::string& what, std::string hint) {
  return fail(ErrorCode::bad_input, fmt::format("{} {}", util::quoted(path), what), path, std::move(hint));
}

std::unexpected<Error> refuse_kind(fs::FileKind kind, const std::filesystem::path& path) {
  if (kind == fs::FileKind::directory) {
    return refuse(path, "is a folder, not an ONNX file",
                  "name the .onnx file inside it; a bundle has a genai_config.json");
  }
  return refuse(path, "is not a regular file (a pipe, a socket or a device)", "copy the model into a file first");
}

std::unexpected<Error> refuse_open(fs::FileSystem& fs, const std::filesystem::path& path, const Error& cause) {
  if (fs::is_not_found(cause)) {
    return fail(ErrorCode::not_found, fmt::format("model {} does not exist", util::quoted(path)), path,
                "check the path");
  }
  // Some kinds (a socket) refuse to be opened at all.
  const Result<fs::FileStat> stat = fs.stat(path);
  if (stat && stat->kind != fs::FileKind::regular) return refuse_kind(stat->kind, path);
  return refuse(path, fmt::format("cannot be read: {}", cause.message),
                cause.code == ErrorCode::io ? "check the permissions of the file and its folders" : "check the path");
}

std::unexpected<Error> refuse_flaw(const WireReader& reader, const ModelWalk& walk, const std::filesystem::path& path) {
  if (!walk.complaint().empty()) return refuse(path, "is damaged: " + walk.complaint(), kFetchAgain);
  // In the outermost message, before anything of a model was seen: some other kind of file.
  if (reader.flaw_depth() == 0 && !walk.saw_ir_version()) {
    return refuse(path, "is not an ONNX model",
                  "name a .onnx file; one in a text or other format must be converted first");
  }
  switch (reader.flaw()) {
    case Flaw::truncated:
      return refuse(path, "is truncated: it ends in the middle of the model", kFetchAgain);
    case Flaw::too_deep:
      return refuse(path, fmt::format("is nested more than {} messages deep", WireReader::kMaxDepth),
                    "ONNX Runtime would refuse it too; simplify its subgraphs");
    case Flaw::long_text:
      return refuse(path, "is damaged: it has a name or metadata entry of more than a megabyte", kFetchAgain);
    case Flaw::much_text:
      return refuse(
          path,
          fmt::format("has names and metadata of more than {} in all", util::format_bytes(WireReader::kTextBudget)),
          "shorten its metadata or its names");
    case Flaw::none:
    case Flaw::malformed:
      break;
  }
  return refuse(path, "is damaged: its protobuf encoding is broken", kFetchAgain);
}

Result<void> check_size(std::uint64_t size, const std::filesystem::path& path) {
  if (size == 0) return refuse(path, "is empty (0 bytes)", kFetchAgain);
  if (size <= kProtobufLimit) return {};
  return refuse(path, fmt::format("has {}: an ONNX file ends at 2 GiB", util::format_bytes(size)),
                "save the model with its weights as external data");
}

Result<ModelFacts> walk_stream(google::protobuf::io::ZeroCopyInputStream& stream, std::uint64_t size,
                               const std::filesystem::path& path) {
  WireReader reader(stream, static_cast<int>(size));
  ModelWalk walk(reader);
  if (!walk.run()) return refuse_flaw(reader, walk, path);
  if (!walk.saw_ir_version()) return refuse(path, "is not an ONNX model: it has no ir_version", "name a .onnx file");
  if (!walk.saw_graph()) return refuse(path, "is not an ONNX model, or is cut off: it has no graph", kFetchAgain);
  if (!walk.saw_opset()) {
    return refuse(path, "is not an ONNX model, or is cut off: it imports no operator set", kFetchAgain);
  }
  return walk.take_facts();
}

}  // namespace

Result<ModelFacts> read_model(fs::FileSystem& fs, const std::filesystem::path& path) {
  Result<fs::File> file = fs.open(path, fs::OpenMode::read);
  if (!file) return refuse_open(fs, path, file.error());
  PRECAST_TRY_ASSIGN(const fs::FileStat stat, fs.stat(*file));
  if (stat.kind != fs::FileKind::regular) return refuse_kind(stat.kind, path);
  PRECAST_TRY(check_size(stat.size, path));
  FileStream stream(fs, *file, stat.size);
  Result<ModelFacts> facts = walk_stream(stream, stat.size, path);
  // What the walk made of a sudden end does not matter.
  if (const std::optional<Error>& error = stream.error()) return std::unexpected(*error);
  return facts;
}

Result<ModelFacts> parse_model(std::string_view bytes, std::string_view name) {
  const std::filesystem::path path(name);
  PRECAST_TRY(check_size(bytes.size(), path));
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  return walk_stream(stream, bytes.size(), path);
}

std::optional<std::string> compatibility_info(const ModelFacts& facts, const std::string& ep) {
  const auto info = facts.metadata.find("ep_compatibility_info." + ep);
  if (info == facts.metadata.end()) return std::nullopt;
  return info->second;
}

}  // namespace precast::model
