// What precast needs to know of an ONNX file, read without loading a tensor: the protobuf wire format is walked with
// CodedInputStream and payloads are skipped (field numbers: onnx.proto, IR version 3 and later).
//
// Errors name the file. Not ONNX, truncated, empty, a folder, a FIFO, unreadable: bad_input or not_found, each with its
// own message. Hostile input (deep nesting, huge lengths, truncated varints) is an error, never a crash; nesting is
// limited to 100 levels. Free-threaded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fs/file_system.hpp"
#include "precast/error.hpp"

namespace precast::model {

// One external-data reference, as written in a TensorProto (main graph, subgraphs, functions, sparse tensors,
// attributes).
struct ExternalTensor {
  std::string tensor;    // its name, for messages
  std::string location;  // as written
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

// One location, with the furthest byte that any tensor wants of it.
struct ExternalFile {
  std::string location;
  std::string first_tensor;  // for messages
  // Max over tensors of offset + length; a length that is not given follows from shape and type where they tell.
  std::uint64_t bytes_needed = 0;
};

// A com.microsoft:EPContext node.
struct EpContextNode {
  std::string source;     // the EP that wrote it
  bool embedded = false;  // embed_mode == 1: the bytes stand in the node
  std::string reference;  // ep_cache_context when not embedded: a relative file name
  std::uint64_t inline_bytes = 0;
  bool main = true;  // main_context != 0 (default 1)
  std::string sdk;   // ep_sdk_version
  std::string partition_name;
};

struct ValueInfo {
  std::string name;
  std::int32_t element_type = 0;   // TensorProto.DataType; 0 when not a tensor or not given
  std::vector<std::string> shape;  // "1", "batch", "?" per dimension
  bool has_shape = false;
};

// Tensors stored in the model or beside it (initialisers and constants, subgraphs too) of one type.
struct StoredWeights {
  std::int32_t element_type = 0;
  std::uint64_t tensors = 0;
  std::uint64_t elements = 0;
};

struct ModelFacts {
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t> opsets;  // domain ("" is ai.onnx) -> version
  std::string producer;
  std::uint64_t node_count = 0;  // of the main graph
  std::map<std::string, std::string> metadata;
  std::vector<ValueInfo> inputs;  // minus initialisers
  std::vector<ValueInfo> outputs;
  std::vector<ExternalFile> external_files;     // one per location, sorted by location
  std::vector<EpContextNode> ep_context_nodes;  // anywhere in the model
  std::vector<StoredWeights> stored_weights;    // one per type
  std::string weight_precision;                 // "fp32", "w8a8", "w4", ...; empty without weights (weight_use.hpp)
};

// Reads through the seam, in blocks; payloads are skipped by offset, so a 2 GB inline model costs a few reads.
[[nodiscard]] Result<ModelFacts> read_model(fs::FileSystem& fs, const std::filesystem::path& path);
// The same for bytes in memory; `name` stands for the file in messages.
[[nodiscard]] Result<ModelFacts> parse_model(std::string_view bytes, std::string_view name);

// What the compiled model says that it needs of that EP: its metadata entry "ep_compatibility_info.<EP>".
[[nodiscard]] std::optional<std::string> compatibility_info(const ModelFacts& facts, const std::string& ep);

// External locations must be relative, UTF-8, without NUL, without a drive prefix, and stay inside the model's folder:
// else bad_input naming tensor and location.
[[nodiscard]] Result<void> check_external_locations(const ModelFacts& facts, const std::filesystem::path& model);
// Location against the folder of the *logical* model path (before links).
[[nodiscard]] std::filesystem::path resolve_location(const std::filesystem::path& model, const std::string& location);

// What a type's elements take, packed; 0 where that is not known (strings).
[[nodiscard]] std::uint64_t bytes_of(const StoredWeights& weights);

// A compact, versioned text form to be remembered under the model's digest; parse_facts refuses other versions.
[[nodiscard]] std::string serialize_facts(const ModelFacts& facts);
[[nodiscard]] Result<ModelFacts> parse_facts(std::string_view text);

// "float32", "int64", "bfloat16", ... as NumPy names them (ml_dtypes' names where NumPy has none); "unknown" else.
[[nodiscard]] std::string_view dtype_name(std::int32_t element_type);

}  // namespace precast::model
