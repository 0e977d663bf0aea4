// Configs that nobody would write: always a Bundle or an Error that says something, never a crash.
#include "genai/config_json.hpp"
#include "support.hpp"

namespace precast::genai::testing {
namespace {

std::string whole_config() {
  return pipeline(
      R"([{"QNN": {"backend_path": "x", "n": 1, "device_filtering_options": {"hardware_device_type": "npu"}}}])",
      R"([{"OpenVINO": {"device_type": "NPU"}}, {"cpu": {}}])");
}

// Reads, routes and patches: whatever was accepted must go all the way.
void survive(const BundleFolder& folder, const std::string& config) {
  folder.write(config);
  const auto bundle = folder.read();
  if (!bundle) {
    EXPECT_FALSE(bundle.error().message.empty());
    return;
  }
  for (const char* ep : {"", "cpu", "openvino", "cuda"}) {
    const auto route = route_bundle(*bundle, {.ep = ep, .forbid_cpu_fallback = true});
    ASSERT_TRUE(route);
    const auto patched = patched_config(*bundle, *route, {});
    ASSERT_TRUE(patched) << patched.error().message;
    if (patched->has_value()) {
      EXPECT_TRUE(parse_config("x", **patched));
    }
  }
}

TEST(HostileConfig, EveryPrefixIsAnError) {
  const BundleFolder folder("");
  const std::string config = whole_config();
  ASSERT_NO_FATAL_FAILURE(survive(folder, config));
  for (std::size_t length = 0; length < config.size(); ++length) {
    folder.write(std::string_view(config).substr(0, length));
    EXPECT_FALSE(folder.read()) << length;
  }
}

void replace_each(const BundleFolder& folder, const Json& root, Json& node) {
  static const std::vector<Json> others = {nullptr,
                                           3,
                                           -1,
                                           1e300,
                                           true,
                                           "",
                                           "text",
                                           Json::array(),
                                           Json::object(),
                                           Json::array({1, "a"}),
                                           Json({{"a", {{"b", 1}}}})};
  for (Json& child : node) {
    const Json kept = child;
    for (const Json& other : others) {
      child = other;
      survive(folder, root.dump());
    }
    child = kept;
    if (child.is_structured()) replace_each(folder, root, child);
  }
}

TEST(HostileConfig, AnyValueMayHaveAnyType) {
  const BundleFolder folder("");
  Json root = Json::parse(whole_config());
  replace_each(folder, root, root);
}

TEST(HostileConfig, DeepNestingIsRefused) {
  for (const char* open : {"[", "{\"a\":", "{\"model\":["}) {
    std::string config;
    for (int i = 0; i < 100'000; ++i) config += open;
    const auto bundle = BundleFolder(config).read();
    ASSERT_FALSE(bundle);
    EXPECT_THAT(bundle.error().message, ::testing::HasSubstr("nesting"));
  }
}

TEST(HostileConfig, HugeObjectsAndFilesAreRefused) {
  std::string config = "{";
  for (int i = 0; i < 100'000; ++i) config += fmt::format("\"{}\":1,", i);
  EXPECT_FALSE(BundleFolder(config + "\"z\":1}").read());
  EXPECT_FALSE(BundleFolder(std::string(17U << 20U, ' ')).read());
}

TEST(HostileConfig, NotesDoNotGrowWithTheConfig) {
  std::string list = "[1";
  for (int i = 0; i < 100'000; ++i) list += ",1";
  EXPECT_LE(bundle_of(flat(list + "]")).notes.size(), 101U);
}

TEST(HostileConfig, NamesMayHoldAnything) {
  const BundleFolder folder("");
  for (const std::string name : {"a\\u0000b", "", "\xFF\xFE", "\\ud800", "../x", "\\n\\u001b[31m", "\x01"}) {
    survive(folder, R"({"model": {"type": ")" + name + R"(", "decoder": {"pipeline": [{")" + name +
                        R"(": {"filename": "model.onnx", "session_options": {")" + name +
                        R"(": "1", "provider_options": [{")" + name + R"(": {")" + name + R"(": "1"}}]}}}]}}})");
    survive(folder, R"({"model": {"decoder": {"filename": ")" + name + "\"}}}");
  }
}

}  // namespace
}  // namespace precast::genai::testing
