// The library as a program uses it: real ORT, the fake EP, the real worker.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "precast/session.hpp"
#include "support/models.hpp"
#include "support/program.hpp"

namespace precast::testing {

inline Runtime& runtime() {
  static Runtime* const instance = [] {
    ::setenv("ORT_DISABLE_TELEMETRY", "1", 1);
    RuntimeOptions options;
    options.ort_library = std::filesystem::path(PRECAST_DEPS_DIR) / "ort/lib/libonnxruntime.so.1";
    options.ep_libraries = {{"fake_ep", fake_ep_library()}};
    auto loaded = Runtime::load(options);
    if (!loaded) throw std::runtime_error(loaded.error().message);
    return new Runtime(*loaded);
  }();
  return *instance;
}

class Library : public ::testing::Test {
 protected:
  Library() {
    ::setenv("FAKE_EP_TRACE", trace().c_str(), 1);
    ::setenv("PRECAST_WORKER", (std::filesystem::path(PRECAST_BINARY_DIR) / "bin" / "precast-worker").c_str(), 1);
    ::setenv("TMPDIR", folder_.path().c_str(), 1);
    ::unsetenv("FAKE_EP_FAULT");
  }
  ~Library() override {
    for (const char* name : {"FAKE_EP_FAULT", "FAKE_EP_TRACE", "TMPDIR"}) ::unsetenv(name);
  }
  CompileCache cache() {
    CacheOptions options;
    options.root = folder_ / "store";
    auto opened = CompileCache::open(runtime(), options);
    EXPECT_TRUE(opened) << opened.error().message;
    return *opened;
  }
  std::filesystem::path model() {
    const auto path = make_model(folder_ / "model.onnx");
    std::this_thread::sleep_for(std::chrono::milliseconds(60));  // past the clock's granularity
    return path;
  }
  static CompileOptions on_fake_ep() {
    CompileOptions options;
    options.ep = "fake_ep";
    return options;
  }
  Session session(const CompileOptions& options = on_fake_ep()) { return {cache(), model(), options}; }
  // One value for the model's one input.
  Tensors inputs(const Session& session, std::vector<std::int64_t> shape = {1, 8}) {
    const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    Tensors tensors;
    EXPECT_EQ(session.inputs().size(), 1U);
    tensors.emplace(
        session.inputs().at(0).name,
        Ort::Value::CreateTensor<float>(memory, numbers_.data(), numbers_.size(), shape.data(), shape.size()));
    return tensors;
  }
  std::filesystem::path trace() const { return folder_ / "trace"; }
  std::size_t events(std::string_view event) const { return count_events(trace(), event); }

  Folder folder_;
  std::vector<float> numbers_ = {0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F, 0.7F, 0.8F};
};

inline std::vector<float> values_of(const Tensors& outputs) {
  const Ort::Value& value = outputs.begin()->second;
  const float* data = value.GetTensorData<float>();
  return {data, data + value.GetTensorTypeAndShapeInfo().GetElementCount()};
}

}  // namespace precast::testing
