// The config as genai gets it: what a route changes is changed, and nothing else.
#include "genai/config_json.hpp"
#include "support.hpp"

namespace precast::genai::testing {
namespace {

Json document_of(const Result<std::optional<std::string>>& patched) {
  EXPECT_TRUE(patched && patched->has_value());
  return patched && *patched ? Json::parse(**patched) : Json();
}

Json stage_of(const Json& document, std::size_t index) {
  return document["model"]["decoder"]["pipeline"][index].front();
}

TEST(PatchedConfig, NothingChangedMeansNone) {
  const Bundle bundle = bundle_of(pipeline(R"([{"QNN": {"a": "1"}}])", "[]"));
  EXPECT_FALSE(*patched_config(bundle, route_of(bundle, ""), {}));
  EXPECT_FALSE(*patched_config(bundle, route_of(bundle, "qnn"), {}));
}

TEST(PatchedConfig, ProvidersAreReplacedInPlaceAndTheBundleStays) {
  const Bundle bundle = bundle_of(pipeline(R"([{"QNN": {"a": "1"}}])", "[]"));
  const std::string before = bundle.config_text;
  const auto patched = patched_config(bundle, route_of(bundle, "openvino"), {});
  Json wanted = Json::parse(before);
  wanted["model"]["decoder"]["pipeline"][1]["context"]["session_options"]["provider_options"] =
      Json::parse(R"([{"OpenVINO": {"device_type": "CPU"}}])");
  EXPECT_EQ(document_of(patched), wanted);  // the order of the keys too
  EXPECT_EQ(bundle.config_text, before);
  EXPECT_EQ(*patched, *patched_config(bundle, route_of(bundle, "openvino"), {}));
}

TEST(PatchedConfig, ValuesBecomeStringsButForGenaisOwnKeys) {
  const Bundle bundle = bundle_of(R"({"model": {"decoder": {"filename": "model.onnx", "session_options": {
    "intra_op_num_threads": 2, "enable_mem_pattern": false, "session.x": 1, "log_id": 4,
    "provider_options": [{"QNN": {"b": true, "a": 2, "c": [], "device_filtering_options": {"hardware_device_type": "NPU"}}}]
    }}}})");
  const Json options =
      document_of(patched_config(bundle, route_of(bundle, ""), {}))["model"]["decoder"]["session_options"];
  EXPECT_EQ(options, Json::parse(R"({"intra_op_num_threads": 2, "enable_mem_pattern": false, "session.x": "1",
    "provider_options": [{"QNN": {"b": "1", "a": "2", "device_filtering_options": {"hardware_device_type": "NPU"}}}]})"));
}

TEST(PatchedConfig, ReplacedFilesDoNotCompileAgain) {
  const Bundle bundle = bundle_of(pipeline(R"([{"QNN": {"a": "1"}}])", "[]"));
  const std::vector<StageFile> files = {{.stage = "context", .file = "stages/context.onnx"},
                                        {.stage = "embeddings", .file = "e.onnx", .disable_model_compile = false}};
  const Json document = document_of(patched_config(bundle, route_of(bundle, ""), files));
  EXPECT_EQ(stage_of(document, 1)["filename"], "stages/context.onnx");
  EXPECT_EQ(stage_of(document, 1)["session_options"]["session.disable_model_compile"], "1");
  EXPECT_EQ(stage_of(document, 0), Json::parse(R"({"filename": "e.onnx"})"));
  EXPECT_EQ(stage_of(document, 2), stage_of(Json::parse(bundle.config_text), 2));
  const std::vector<StageFile> unknown = {{.stage = "nobody", .file = "x"}};
  EXPECT_FALSE(patched_config(bundle, route_of(bundle, ""), unknown));
}

TEST(PatchedConfig, ForbiddenFallbackIsWritten) {
  const Bundle bundle = bundle_of(flat(R"([{"QNN": {}}])"));
  const auto route = route_bundle(bundle, {.forbid_cpu_fallback = true});
  const Json document = document_of(patched_config(bundle, *route, {}));
  EXPECT_EQ(document["model"]["decoder"]["session_options"]["session.disable_cpu_ep_fallback"], "1");
}

TEST(PatchedConfig, WhatGenaiCannotReadIsWrittenAnew) {
  const Bundle marked = bundle_of("\xEF\xBB\xBF" + flat("[]"));
  EXPECT_TRUE((*patched_config(marked, route_of(marked, ""), {}))->starts_with('{'));
  const Bundle escaped = bundle_of(R"({"model": {"type": "\u00e9", "decoder": {"filename": "model.onnx"}}})");
  EXPECT_THAT(**patched_config(escaped, route_of(escaped, ""), {}), ::testing::HasSubstr("\xC3\xA9"));
}

TEST(PatchedConfig, AStageThatUsedTheDecodersOptionsGetsItsOwn) {
  const Bundle bundle = bundle_of(R"({"model": {"decoder": {"session_options": {"log_id": "x",
    "provider_options": [{"QNN": {"a": "1"}}]}, "pipeline": [{"a": {"filename": "model.onnx"}}]}}})");
  const Json document = document_of(patched_config(bundle, route_of(bundle, "cpu"), {}));
  EXPECT_EQ(stage_of(document, 0)["session_options"], Json::parse(R"({"log_id": "x", "provider_options": []})"));
  EXPECT_EQ(document["model"]["decoder"]["session_options"]["provider_options"], Json::array());
}

}  // namespace
}  // namespace precast::genai::testing
