// The files of a store as plain data, and their text (JSON, one object, "schema": 1). Parsers are strict: wrong types,
// unknown schema, bad hex, names that are not relative and plain: ErrorCode::corrupt, never an exception.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "precast/error.hpp"

namespace precast::store {

struct Artifact {
  std::string path;  // relative to the generation's folder, UTF-8, no ".."; a plain name, or of a bundle a path
  std::uint64_t size = 0;
  std::string sha256;
  friend bool operator==(const Artifact&, const Artifact&) = default;
};

// Which generation is current for a key. The manifest inside the generation holds the same, so that `verify` can check
// a generation without its marker.
struct Marker {
  std::string key;
  std::string identity;             // canonical JSON; its SHA-256 is the key
  std::string generation;           // uuid
  std::vector<Artifact> artifacts;  // model.onnx or bundle/genai_config.json first
  std::string compatibility;        // "ep_compatibility_info.<EP>" of the compiled model; empty = none
  double compile_seconds = 0;
  std::string created;  // RFC 3339 UTC
  std::string precast_version;
  // For people and retention, not part of the identity:
  std::string model;  // resolved path of the source at compile time (bytes that are not UTF-8 escaped)
  std::string ep;
  std::string device;  // cpu, gpu, npu
  std::string source_sha256;
  friend bool operator==(const Marker&, const Marker&) = default;
};

[[nodiscard]] std::string serialize(const Marker& marker);
[[nodiscard]] Result<Marker> parse_marker(std::string_view text);  // checks that identity hashes to key

// Of a marker or manifest: written by a precast that knows more. Not ours to judge, and its generation not to delete.
[[nodiscard]] bool has_other_schema(std::string_view text);

// A remembered failure.
struct FailedRecord {
  std::string key{};
  std::string kind{};  // "compile_failed", "timed_out", "crashed", "nothing_to_compile", "refused"
  std::string reason{};
  std::string log_tail{};
  std::string time{};  // RFC 3339 UTC, of the last one
  std::uint32_t count = 1;
  std::optional<std::uint64_t> deadline_ms{};  // of a timeout
  friend bool operator==(const FailedRecord&, const FailedRecord&) = default;
};
[[nodiscard]] std::string serialize(const FailedRecord& record);
[[nodiscard]] Result<FailedRecord> parse_failed_record(std::string_view text);

// What one publication put beside (and under) an output's name.
struct Publication {
  std::string time{};           // RFC 3339 UTC
  std::string source_sha256{};  // of the generation's model.onnx
  std::string model_sha256{};   // of the output: the same model with other references
  std::vector<Artifact> files;  // binaries, aliases and sidecars, in the output's folder
  friend bool operator==(const Publication&, const Publication&) = default;
};
// Of one output: what precast put there, or was about to. Nothing else in that folder is precast's to remove.
struct PublishRecord {
  std::string output{};                   // its path when it was last published, for people
  std::string folder{};                   // SHA-256 of the folder's device and inode
  std::vector<Publication> publications;  // newest first
  friend bool operator==(const PublishRecord&, const PublishRecord&) = default;
};
[[nodiscard]] std::string serialize(const PublishRecord& record);
[[nodiscard]] Result<PublishRecord> parse_publish_record(std::string_view text);

// UTF-8, 1 to 255 bytes, no separator or NUL, not "." or "..": it stays in a folder whatever it is joined with.
[[nodiscard]] bool is_plain_name(std::string_view name);

// One line of the statistics: lossy, appended without fsync.
struct Event {
  std::string kind{};  // "hit", "miss", "compile", "failure", "use"
  std::string time{};  // RFC 3339 UTC
  std::string key{};
  std::string generation{};
  std::string source_sha256{};
  std::string ep{};
  std::string family{};  // hash of (resolved model path, EP, device class)
  double seconds = 0;    // of a compile
};
[[nodiscard]] std::string serialize_line(const Event& event);  // with '\n'
[[nodiscard]] std::optional<Event> parse_event(std::string_view line);

}  // namespace precast::store
