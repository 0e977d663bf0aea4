#include "store/records.hpp"

#include <functional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "store/support.hpp"
#include "util/sha256.hpp"

namespace precast::store {
namespace {

using Json = nlohmann::json;
using testing::marker_for;

Marker full_marker() {
  Marker marker = marker_for("full");
  marker.generation = "01234567-89ab-4cde-8f01-23456789abcd";
  marker.artifacts = {{"model.onnx", 12, util::sha256_hex("a")}, {"npu ü.bin", 0, util::sha256_hex("")}};
  marker.created = "2026-11-29T16:38:35Z";
  return marker;
}

FailedRecord full_failure() {
  return {.key = marker_for("full").key,
          .kind = "timed_out",
          .reason = "took longer than 30 min",
          .log_tail = "last line\n",
          .time = "2026-11-29T16:38:35Z",
          .count = 2,
          .deadline_ms = 1'800'000};
}

TEST(Marker, ComesBackAsItWas) {
  const Marker marker = full_marker();
  const auto parsed = parse_marker(serialize(marker));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(*parsed, marker);
}

TEST(Marker, IsRefusedWhenCutAnywhere) {
  const std::string text = serialize(full_marker());
  for (std::size_t length = 0; length < text.size(); ++length) {
    const auto parsed = parse_marker(std::string_view(text).substr(0, length));
    ASSERT_FALSE(parsed) << length;
    EXPECT_EQ(parsed.error().code, ErrorCode::corrupt);
  }
}

TEST(Marker, IsRefusedWithAnyByteChanged) {
  const std::string text = serialize(full_marker());
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string other = text;
    other[at] = static_cast<char>(other[at] ^ 0x10);
    const auto parsed = parse_marker(other);
    // Free text may say something else; its bytes are then compared with the manifest's.
    if (parsed) {
      EXPECT_NE(serialize(*parsed), text) << at;
    }
  }
}

TEST(Marker, IsRefusedWhenAFieldIsMissingOrOfAnotherType) {
  const Json good = Json::parse(serialize(full_marker()));
  for (const auto& [name, value] : good.items()) {
    Json missing = good;
    missing.erase(name);
    EXPECT_FALSE(parse_marker(missing.dump(1) + "\n")) << name;
    for (const Json& other : {Json(nullptr), Json(true), Json(-1), Json(Json::array()), Json(Json::object())}) {
      Json wrong = good;
      wrong[name] = other;
      EXPECT_FALSE(parse_marker(wrong.dump(1) + "\n")) << name << " = " << other;
    }
  }
}

struct Change {
  const char* what;
  std::function<void(Json&)> make;
};

TEST(Marker, IsRefusedWhenAFieldSaysWhatItMayNot) {
  const std::vector<Change> changes = {
      {"schema", [](Json& j) { j["schema"] = 2; }},
      {"key in upper case", [](Json& j) { j["key"] = std::string(64, 'A'); }},
      {"key of another identity", [](Json& j) { j["key"] = std::string(64, 'a'); }},
      {"another identity", [](Json& j) { j["identity"] = "{}"; }},
      {"generation that climbs", [](Json& j) { j["generation"] = "../../../../../../../../../../../etc"; }},
      {"no artifacts", [](Json& j) { j["artifacts"] = Json::array(); }},
      {"artifacts as object", [](Json& j) { j["artifacts"] = Json::object(); }},
      {"first is not the model", [](Json& j) { j["artifacts"][0]["path"] = "x.onnx"; }},
      {"climbing name", [](Json& j) { j["artifacts"][1]["path"] = "../x"; }},
      {"two dots", [](Json& j) { j["artifacts"][1]["path"] = ".."; }},
      {"absolute name", [](Json& j) { j["artifacts"][1]["path"] = "/etc/passwd"; }},
      {"empty name", [](Json& j) { j["artifacts"][1]["path"] = ""; }},
      {"name with NUL", [](Json& j) { j["artifacts"][1]["path"] = std::string("a\0b", 3); }},
      {"name of a folder", [](Json& j) { j["artifacts"][1]["path"] = "a/b"; }},
      {"name of the manifest", [](Json& j) { j["artifacts"][1]["path"] = "manifest.1.json"; }},
      {"name twice", [](Json& j) { j["artifacts"][1] = j["artifacts"][0]; }},
      {"negative size", [](Json& j) { j["artifacts"][0]["size"] = -1; }},
      {"size with a fraction", [](Json& j) { j["artifacts"][0]["size"] = 1.5; }},
      {"short digest", [](Json& j) { j["artifacts"][0]["sha256"] = "abc"; }},
      {"artifact as text", [](Json& j) { j["artifacts"][0] = "model.onnx"; }},
      {"negative time", [](Json& j) { j["compile_seconds"] = -0.5; }},
      {"not a time", [](Json& j) { j["created"] = "yesterday"; }},
      {"device", [](Json& j) { j["device"] = "tpu"; }},
      {"source digest", [](Json& j) { j["source_sha256"] = ""; }},
      {"a field more", [](Json& j) { j["surprise"] = 1; }},
  };
  for (const Change& change : changes) {
    Json json = Json::parse(serialize(full_marker()));
    change.make(json);
    const auto parsed = parse_marker(json.dump(1) + "\n");
    ASSERT_FALSE(parsed) << change.what;
    EXPECT_EQ(parsed.error().code, ErrorCode::corrupt) << change.what;
    EXPECT_FALSE(parsed.error().message.empty()) << change.what;
  }
}

TEST(Marker, IsRefusedWithAFieldTwiceOrInAnotherForm) {
  const std::string text = serialize(full_marker());
  std::string twice = text;
  twice.insert(1, "\"ep\": \"Other\",");
  EXPECT_FALSE(parse_marker(twice));
  EXPECT_FALSE(parse_marker(Json::parse(text).dump()));
  EXPECT_FALSE(parse_marker(text + "\n"));
}

TEST(Marker, AnythingElseIsRefusedWithoutAnException) {
  for (const std::string_view text : {"", "[]", "null", "3", "\"marker\"", "{}", "{", "\xff\xfe", "[[[[[[[["}) {
    EXPECT_FALSE(parse_marker(text)) << text;
  }
  EXPECT_FALSE(parse_marker(std::string(1'000'000, '[')));
  EXPECT_FALSE(parse_marker(std::string(100'000, '\0')));
}

TEST(Marker, KnowsTheWorkOfAnotherSchema) {
  EXPECT_TRUE(has_other_schema(R"({"schema": 2, "whatever": []})"));
  EXPECT_FALSE(has_other_schema(serialize(full_marker())));
  EXPECT_FALSE(has_other_schema(R"({"schema": "2"})"));
  EXPECT_FALSE(has_other_schema("garbage"));
}

TEST(Marker, PathsThatAreNotUtf8StayReadable) {
  Marker marker = full_marker();
  marker.model = "/models/caf\xe9.onnx";
  const auto parsed = parse_marker(serialize(marker));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->model, "/models/caf\\xe9.onnx");
}

TEST(FailedRecord, ComesBackAsItWas) {
  FailedRecord record = full_failure();
  EXPECT_EQ(parse_failed_record(serialize(record)).value(), record);
  record.deadline_ms.reset();
  EXPECT_EQ(parse_failed_record(serialize(record)).value(), record);
}

TEST(FailedRecord, IsRefusedWhenCutOrWrong) {
  const std::string text = serialize(full_failure());
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(parse_failed_record(std::string_view(text).substr(0, length))) << length;
  }
  const Json good = Json::parse(text);
  for (const auto& [name, value] : good.items()) {
    for (const Json& other : {Json(nullptr), Json(-1), Json(1.5), Json(Json::array()), Json("zz")}) {
      Json wrong = good;
      wrong[name] = other;
      const bool free_text = name == "reason" || name == "log_tail";
      if (!(free_text && other.is_string())) {
        EXPECT_FALSE(parse_failed_record(wrong.dump(1) + "\n")) << name << other;
      }
    }
  }
  Json never = good;
  never["count"] = 0;
  EXPECT_FALSE(parse_failed_record(never.dump(1) + "\n"));
}

TEST(FailedRecord, LogsThatAreNotUtf8StayReadable) {
  FailedRecord record = full_failure();
  record.log_tail = "progress\r50%\xff\n";
  EXPECT_EQ(parse_failed_record(serialize(record)).value().log_tail, "progress\\x0d50%\\xff\n");
}

TEST(Event, ComesBackAsItWas) {
  const Event event{.kind = "compile",
                    .time = "2026-11-29T16:38:35Z",
                    .key = "k",
                    .generation = "g",
                    .source_sha256 = "s",
                    .ep = "E",
                    .family = "f",
                    .seconds = 2.25};
  const std::string line = serialize_line(event);
  EXPECT_EQ(line.back(), '\n');
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto parsed = parse_event(line);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->kind, "compile");
  EXPECT_EQ(parsed->generation, "g");
  EXPECT_EQ(parsed->seconds, 2.25);
}

TEST(Event, HalfALineIsNone) {
  const std::string line = serialize_line({.kind = "hit", .time = "2026-11-29T16:38:35Z"});
  for (std::size_t length = 0; length + 1 < line.size(); ++length) EXPECT_FALSE(parse_event(line.substr(0, length)));
  EXPECT_FALSE(parse_event(serialize_line({.kind = "hit", .time = "now"})));
  EXPECT_FALSE(parse_event("[1]"));
}

PublishRecord full_publish_record() {
  const std::string digest = util::sha256_hex("x");
  return {.output = "/out/net_npu.onnx",
          .folder = digest,
          .publications = {{.time = "2026-11-29T16:38:35Z",
                            .source_sha256 = digest,
                            .model_sha256 = util::sha256_hex("y"),
                            .files = {{"net_npu." + digest + ".bin", 7, digest}, {"net_npu.bin", 7, digest}}},
                           {.time = "2026-11-28T16:38:35Z", .source_sha256 = digest, .model_sha256 = digest}}};
}

TEST(PublishRecord, ComesBackAsItWas) {
  const auto back = parse_publish_record(serialize(full_publish_record()));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, full_publish_record());
  EXPECT_TRUE(parse_publish_record(serialize(PublishRecord{.folder = util::sha256_hex("f")})));
}

TEST(PublishRecord, IsRefusedWhenCutOrWrong) {
  const std::string text = serialize(full_publish_record());
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(parse_publish_record(text.substr(0, size))) << size;
  }
  const std::vector<std::pair<std::string, std::string>> changes = {
      {R"("schema": 1)", R"("schema": 2)"},
      {R"("path": "net_npu.bin")", R"("path": "../net_npu.bin")"},
      {R"("path": "net_npu.bin")", R"("path": "a/net_npu.bin")"},
      {R"("size": 7)", R"("size": -7)"},
      {"2026-11-28T16:38:35Z", "yesterday"},
      {R"("folder": ")", R"("folder": "0)"},
      {R"("publications": [)", R"("publications": [1,)"},
      {R"("output")", R"("more": 1, "output")"}};
  for (const auto& [from, to] : changes) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    const auto result = parse_publish_record(changed);
    ASSERT_FALSE(result) << to;
    EXPECT_EQ(result.error().code, ErrorCode::corrupt);
  }
}

}  // namespace
}  // namespace precast::store
