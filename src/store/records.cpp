#include "store/records.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "store/json_fields.hpp"
#include "store/layout.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::store {
namespace {

using Json = nlohmann::json;

constexpr int kSchema = 1;
constexpr std::size_t kLongestName = 255;

double finite_or_zero(double value) {
  return std::isfinite(value) ? value : 0;
}

bool is_reserved_name(std::string_view name) {
  return name == kManifestName || name == kLogName;
}

bool is_bundle_path(std::string_view path) {
  if (!path.starts_with(std::string(kBundleFolder) + "/")) return false;
  return std::ranges::all_of(util::split(path, '/'), is_plain_name);
}

bool is_time(std::string_view text) {
  return util::parse_rfc3339(text).has_value();
}

Result<Json> parse_object(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return fail(ErrorCode::corrupt, "it is not JSON");
  JsonFields fields(json);
  const std::uint64_t schema = fields.whole_number("schema");
  if (fields.good() && schema != kSchema) fields.require(false, fmt::format("schema {} is not known here", schema));
  if (!fields.good()) return fail(ErrorCode::corrupt, fields.problem());
  return json;
}

// A record is only ever written by serialize(), so anything but its exact bytes (a field more, a field twice, another
// order) was written by somebody else.
template <typename Record>
Result<Record> only_as_written(Record record, std::string_view text) {
  if (serialize(record) == text) return record;
  return fail(ErrorCode::corrupt, "it is not as precast writes it");
}

Json to_json(const Artifact& artifact) {
  return {{"path", artifact.path}, {"size", artifact.size}, {"sha256", artifact.sha256}};
}

enum class Place : std::uint8_t { plain_name, in_bundle };

Artifact read_artifact(const Json& json, Place place, JsonFields& whole) {
  JsonFields fields(json);
  Artifact artifact;
  artifact.path = fields.text("path");
  artifact.size = fields.whole_number("size");
  artifact.sha256 = fields.text("sha256");
  const bool good = place == Place::in_bundle ? is_bundle_path(artifact.path)
                                              : is_plain_name(artifact.path) && !is_reserved_name(artifact.path);
  fields.require(good, "'path' is not a plain relative file name");
  fields.require_field(util::is_hex(artifact.sha256, 64), "sha256", "is not 64 hex digits");
  whole.require(fields.good(), "an artifact: " + fields.problem());
  return artifact;
}

Json to_json(const std::vector<Artifact>& artifacts) {
  Json array = Json::array();
  for (const Artifact& artifact : artifacts) array.push_back(to_json(artifact));
  return array;
}

std::vector<Artifact> read_files(JsonFields& fields, std::string_view name, Place place) {
  std::vector<Artifact> artifacts;
  const Json& array = fields.field(name);
  fields.require_field(array.is_array(), name, "is not an array");
  if (!array.is_array()) return artifacts;
  std::set<std::string> names;
  for (const Json& one : array) {
    artifacts.push_back(read_artifact(one, place, fields));
    fields.require_field(names.insert(artifacts.back().path).second, name, "names a file twice");
  }
  return artifacts;
}

std::vector<Artifact> read_artifacts(JsonFields& fields) {
  const Json& array = fields.field("artifacts");
  const Json first = array.is_array() && !array.empty() && array.front().is_object() && array.front().contains("path")
                         ? array.front()["path"]
                         : Json();
  const bool bundle = first == kBundleConfig;
  fields.require_field(bundle || first == kModelName, "artifacts", "does not start with " + std::string(kModelName));
  return read_files(fields, "artifacts", bundle ? Place::in_bundle : Place::plain_name);
}

void check(const Marker& marker, JsonFields& fields) {
  constexpr std::array<std::string_view, 3> kDevices = {"cpu", "gpu", "npu"};
  fields.require_field(util::is_hex(marker.key, 64), "key", "is not 64 hex digits");
  fields.require_field(util::sha256_hex(marker.identity) == marker.key, "identity", "has another SHA-256 than the key");
  fields.require_field(util::is_uuid(marker.generation), "generation", "is not a UUID");
  fields.require_field(std::isfinite(marker.compile_seconds) && marker.compile_seconds >= 0, "compile_seconds",
                       "is not a duration");
  fields.require_field(is_time(marker.created), "created", "is not a time");
  fields.require_field(std::ranges::find(kDevices, marker.device) != kDevices.end(), "device",
                       "is not cpu, gpu or npu");
  fields.require_field(util::is_hex(marker.source_sha256, 64), "source_sha256", "is not 64 hex digits");
}

Json to_json(const Publication& publication) {
  return {{"time", publication.time},
          {"source_sha256", publication.source_sha256},
          {"model_sha256", publication.model_sha256},
          {"files", to_json(publication.files)}};
}

Publication read_publication(const Json& json, JsonFields& whole) {
  JsonFields fields(json);
  Publication publication;
  publication.time = fields.text("time");
  publication.source_sha256 = fields.text("source_sha256");
  publication.model_sha256 = fields.text("model_sha256");
  publication.files = read_files(fields, "files", Place::plain_name);
  fields.require_field(is_time(publication.time), "time", "is not a time");
  fields.require_field(util::is_hex(publication.source_sha256, 64), "source_sha256", "is not 64 hex digits");
  fields.require_field(util::is_hex(publication.model_sha256, 64), "model_sha256", "is not 64 hex digits");
  whole.require(fields.good(), "a publication: " + fields.problem());
  return publication;
}

bool is_failure_kind(std::string_view kind) {
  constexpr std::array<std::string_view, 5> kKinds = {"compile_failed", "timed_out", "crashed", "nothing_to_compile",
                                                      "refused"};
  return std::ranges::find(kKinds, kind) != kKinds.end();
}

}  // namespace

bool is_plain_name(std::string_view name) {
  if (name.empty() || name.size() > kLongestName || name == "." || name == "..") return false;
  return util::is_utf8(name) && name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

std::string serialize(const Marker& marker) {
  const Json json = {{"schema", kSchema},
                     {"key", marker.key},
                     {"identity", marker.identity},
                     {"generation", marker.generation},
                     {"artifacts", to_json(marker.artifacts)},
                     {"compatibility", marker.compatibility},
                     {"compile_seconds", finite_or_zero(marker.compile_seconds)},
                     {"created", marker.created},
                     {"precast_version", marker.precast_version},
                     {"model", util::escape_invalid_utf8(marker.model)},
                     {"ep", marker.ep},
                     {"device", marker.device},
                     {"source_sha256", marker.source_sha256}};
  return dump_json(json, 1) + '\n';
}

Result<Marker> parse_marker(std::string_view text) {
  PRECAST_TRY_ASSIGN(const Json json, parse_object(text));
  JsonFields fields(json);
  Marker marker;
  marker.key = fields.text("key");
  marker.identity = fields.text("identity");
  marker.generation = fields.text("generation");
  marker.artifacts = read_artifacts(fields);
  marker.compatibility = fields.text("compatibility");
  marker.compile_seconds = fields.number("compile_seconds");
  marker.created = fields.text("created");
  marker.precast_version = fields.text("precast_version");
  marker.model = fields.text("model");
  marker.ep = fields.text("ep");
  marker.device = fields.text("device");
  marker.source_sha256 = fields.text("source_sha256");
  if (fields.good()) check(marker, fields);
  if (!fields.good()) return fail(ErrorCode::corrupt, fields.problem());
  return only_as_written(std::move(marker), text);
}

bool has_other_schema(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  JsonFields fields(json);
  const std::uint64_t schema = fields.whole_number("schema");
  return fields.good() && schema != kSchema;
}

std::string serialize(const FailedRecord& record) {
  Json json = {{"schema", kSchema},
               {"key", record.key},
               {"kind", record.kind},
               {"reason", util::escape_invalid_utf8(record.reason)},
               {"log_tail", util::escape_invalid_utf8(record.log_tail)},
               {"time", record.time},
               {"count", record.count}};
  if (record.deadline_ms) json["deadline_ms"] = *record.deadline_ms;
  return dump_json(json, 1) + '\n';
}

Result<FailedRecord> parse_failed_record(std::string_view text) {
  PRECAST_TRY_ASSIGN(const Json json, parse_object(text));
  JsonFields fields(json);
  FailedRecord record;
  record.key = fields.text("key");
  record.kind = fields.text("kind");
  record.reason = fields.text("reason");
  record.log_tail = fields.text("log_tail");
  record.time = fields.text("time");
  const std::uint64_t count = fields.whole_number("count");
  record.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX));
  if (fields.has("deadline_ms")) record.deadline_ms = fields.whole_number("deadline_ms");
  fields.require_field(util::is_hex(record.key, 64), "key", "is not 64 hex digits");
  fields.require_field(is_failure_kind(record.kind), "kind", "is not a kind of failure");
  fields.require_field(is_time(record.time), "time", "is not a time");
  fields.require_field(count >= 1, "count", "is less than 1");
  if (!fields.good()) return fail(ErrorCode::corrupt, fields.problem());
  return only_as_written(std::move(record), text);
}

std::string serialize(const PublishRecord& record) {
  Json publications = Json::array();
  for (const Publication& publication : record.publications) publications.push_back(to_json(publication));
  const Json json = {{"schema", kSchema},
                     {"output", util::escape_invalid_utf8(record.output)},
                     {"folder", record.folder},
                     {"publications", std::move(publications)}};
  return dump_json(json, 1) + '\n';
}

Result<PublishRecord> parse_publish_record(std::string_view text) {
  PRECAST_TRY_ASSIGN(const Json json, parse_object(text));
  JsonFields fields(json);
  PublishRecord record;
  record.output = fields.text("output");
  record.folder = fields.text("folder");
  fields.require_field(util::is_hex(record.folder, 64), "folder", "is not 64 hex digits");
  const Json& array = fields.field("publications");
  fields.require_field(array.is_array(), "publications", "is not an array");
  if (!fields.good()) return fail(ErrorCode::corrupt, fields.problem());
  for (const Json& one : array) record.publications.push_back(read_publication(one, fields));
  if (!fields.good()) return fail(ErrorCode::corrupt, fields.problem());
  return only_as_written(std::move(record), text);
}

std::string serialize_line(const Event& event) {
  const Json json = {{"kind", event.kind},
                     {"time", event.time},
                     {"key", event.key},
                     {"generation", event.generation},
                     {"source_sha256", event.source_sha256},
                     {"ep", event.ep},
                     {"family", event.family},
                     {"seconds", finite_or_zero(event.seconds)}};
  return dump_json(json) + '\n';
}

std::optional<Event> parse_event(std::string_view line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  JsonFields fields(json);
  Event event;
  event.kind = fields.text("kind");
  event.time = fields.text("time");
  event.key = fields.text("key");
  event.generation = fields.text("generation");
  event.source_sha256 = fields.text("source_sha256");
  event.ep = fields.text("ep");
  event.family = fields.text("family");
  event.seconds = fields.number("seconds");
  fields.require_field(!event.kind.empty(), "kind", "is empty");
  fields.require_field(is_time(event.time), "time", "is not a time");
  if (!fields.good()) return std::nullopt;
  return event;
}

}  // namespace precast::store
