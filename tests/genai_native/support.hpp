// The real onnxruntime-genai in a test's own process, on the tiny bundles of .deps.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fs/temporary_folder.hpp"
#include "genai/session.hpp"

namespace precast::genai::testing {

using fs::testing::contents;
using fs::testing::put;

inline const std::filesystem::path kDeps = PRECAST_DEPS_DIR;
inline const std::filesystem::path kOrt = kDeps / "ort/lib/libonnxruntime.so.1";
inline const std::filesystem::path kGenai = kDeps / "genai/onnxruntime_genai_core/bin/libonnxruntime-genai.so";

inline std::shared_ptr<ort::Runtime> load_ort() {
  ::setenv("ORT_DISABLE_TELEMETRY", "1", 1);
  ort::RuntimeOptions options;
  options.library = kOrt;
  auto runtime = ort::Runtime::load(options);
  if (!runtime) throw std::runtime_error(runtime.error().message);
  return *runtime;
}

inline ort::Catalog& catalog() {
  // Lives as long as ORT's environment does.
  static auto* const instance =
      new ort::Catalog(load_ort(), {{"CPUExecutionProvider", "built_in", {}, ort::find_ep("cpu")}});
  return *instance;
}

class GenaiTest : public ::testing::Test {
 protected:
  // A copy of a bundle of .deps, with its configuration changed.
  std::filesystem::path copy_of(const std::string& name, const nlohmann::json& patch = nlohmann::json::object()) {
    const std::filesystem::path bundle = folder_ / ("bundle" + std::to_string(++copies_));
    std::filesystem::copy(kDeps / "bundles" / name, bundle);
    nlohmann::json config = nlohmann::json::parse(contents(bundle / kConfigName));
    config.merge_patch(patch);
    put(bundle / kConfigName, config.dump(1));
    return bundle;
  }
  LoadOptions options(const std::filesystem::path& bundle) {
    LoadOptions made;
    made.bundle = bundle;
    made.library.library = kGenai;
    return made;
  }
  Session session(const std::filesystem::path& bundle) { return Session(resolver_, options(bundle)); }
  Session tiny() { return session(kDeps / "bundles/tiny"); }
  Session flat() { return session(kDeps / "bundles/tiny-decoder"); }

  static TimedGeneration must_generate(Session& session, const GenerationRequest& request) {
    auto done = session.generate(request);
    EXPECT_TRUE(done) << done.error().message;
    return done ? *std::move(done) : TimedGeneration{};
  }
  static GenerationRequest request(const std::string& text, std::uint32_t tokens) {
    GenerationRequest made;
    made.prompt.text = text;
    made.config.max_new_tokens = tokens;
    return made;
  }

  fs::testing::TemporaryFolder folder_;
  int copies_ = 0;
  util::CancelToken cancel_;
  compile::Resolver resolver_{compile::Services{.file_system = fs::FileSystem::posix(),
                                                .catalog = [] { return Result<ort::Catalog*>(&catalog()); },
                                                .store = nullptr,
                                                .store_problem = "none in this test",
                                                .worker = {},
                                                .cancel = &cancel_,
                                                .allow_telemetry = false}};
};

// Each reading is one more millisecond later than the one before: the n-th lap takes n milliseconds.
inline MonotonicClock growing_clock() {
  return [readings = 0, now = std::chrono::milliseconds(0)]() mutable -> std::chrono::nanoseconds {
    return now += std::chrono::milliseconds(++readings);
  };
}

}  // namespace precast::genai::testing
