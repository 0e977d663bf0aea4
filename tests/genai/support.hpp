// Small bundles in a folder of their own. The models are no models: only their being there matters here.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fs/temporary_folder.hpp"
#include "genai/bundle.hpp"
#include "genai/route.hpp"

namespace precast::genai::testing {

using fs::testing::put;

class BundleFolder {
 public:
  explicit BundleFolder(std::string_view config) {
    for (const char* name : {"tokenizer.json", "model.onnx", "embeddings.onnx", "context.onnx", "iterator.onnx"}) {
      put(folder_ / name, "{}");
    }
    write(config);
  }
  void write(std::string_view config) const { put(folder_ / "genai_config.json", config); }
  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
  [[nodiscard]] Result<Bundle> read() const { return read_bundle(fs::FileSystem::posix(), path()); }

 private:
  fs::testing::TemporaryFolder folder_;
};

inline std::string flat(std::string_view providers) {
  return fmt::format(R"({{"model": {{"type": "llama", "context_length": 128, "eos_token_id": [2, 3], "decoder": {{
    "session_options": {{"log_id": "x", "provider_options": {}}}, "filename": "model.onnx"}}}}}})",
                     providers);
}

// embeddings has no session_options.
inline std::string pipeline(std::string_view context, std::string_view iterator) {
  return fmt::format(R"({{"model": {{"type": "decoder-pipeline", "context_length": 64, "eos_token_id": 2,
    "pad_token_id": 0, "decoder": {{"sliding_window": {{"window_size": 16, "alignment": "left"}}, "pipeline": [
    {{"embeddings": {{"filename": "embeddings.onnx"}}}},
    {{"context": {{"filename": "context.onnx", "run_on_token_gen": false, "session_options": {{"provider_options": {}}}}}}},
    {{"iterator": {{"filename": "iterator.onnx", "session_options": {{"provider_options": {}}}}}}}]}}}},
    "search": {{"top_p": 0.9}}}})",
                     context, iterator);
}

inline Bundle bundle_of(std::string_view config) {
  auto bundle = BundleFolder(config).read();
  EXPECT_TRUE(bundle) << bundle.error().message;
  return bundle ? *bundle : Bundle{};
}

inline Route route_of(const Bundle& bundle, const std::string& ep, const std::string& device = "") {
  auto route = route_bundle(bundle, {.ep = ep, .device = device});
  EXPECT_TRUE(route) << route.error().message;
  return route ? *route : Route{};
}

}  // namespace precast::genai::testing
