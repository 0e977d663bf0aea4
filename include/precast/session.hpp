// An ORT session on a model that the compile cache prepared.
//
//   const auto complain = [](const precast::Error& error) {
//     std::cerr << error.message << '\n' << error.hint << '\n';
//     return 1;
//   };
//   auto runtime = precast::Runtime::load();
//   if (!runtime) return complain(runtime.error());
//   auto cache = precast::CompileCache::open(*runtime);
//   if (!cache) return complain(cache.error());
//   precast::CompileOptions options;
//   options.ep = "openvino";
//   precast::Session session(*cache, "model.onnx", options);
//   if (auto opened = session.open(); !opened) return complain(opened.error());
//
//   std::vector<float> pixels(1 * 3 * 224 * 224);
//   const std::array<std::int64_t, 4> shape{1, 3, 224, 224};
//   const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
//   precast::Tensors inputs;
//   inputs.emplace("pixels", Ort::Value::CreateTensor<float>(memory, pixels.data(), pixels.size(), shape.data(), 4));
//   auto outputs = session.run(inputs);
//   if (!outputs) return complain(outputs.error());
//   std::cout << outputs->at("scores").GetTensorData<float>()[0] << '\n';
//
// The session holds the lease of its generation from open() to reset() or destruction. A stored model that ORT refuses
// is made anew once if it is at fault, else ORT's error is reported; what cannot be compiled runs as the source model,
// and on ORT's CPU EP where its own crashed or hung on it or does not open it, unless session.disable_cpu_ep_fallback
// is "1" (running_path(), outcome(), reason() and ep() say so).
//
// One thread at a time, but for run(), which any number of threads may call between open() and reset().
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <onnxruntime_cxx_api.h>

#include "precast/compile_cache.hpp"
#include "precast/tensor_info.hpp"

namespace precast {

using Tensors = std::map<std::string, Ort::Value, std::less<>>;  // by name

// Options of a perf window: the same generation, opened with other run-time options.
struct PerfOptions {
  std::map<std::string, std::string> session_options;  // added to the session's own
  std::uint32_t warmup = 1;                            // first runs that do not count
};

struct PerfStatistics {
  std::vector<double> run_ms;  // of each run() inside the window, warm-ups left out, in order
};

class PRECAST_API Session {
 public:
  // Nothing happens yet. The options are copied; the caller's are never changed.
  Session(CompileCache cache, std::filesystem::path model, CompileOptions options);
  // With session options of the caller's own, to which those of `options` are added (CompileCache::resolve says what
  // that means for the cache). They are copied.
  Session(CompileCache cache, std::filesystem::path model, CompileOptions options,
          const Ort::SessionOptions& session_options);
  // The bytes must outlive the session. running_path() is empty while the source runs.
  Session(CompileCache cache, ModelBytes model, CompileOptions options);
  Session(CompileCache cache, ModelBytes model, CompileOptions options, const Ort::SessionOptions& session_options);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // Resolves and opens; opening what is open does nothing. After an error every call gives that error until reset().
  [[nodiscard]] Result<void> open();
  [[nodiscard]] bool is_open() const;
  // Closes the native session and gives the lease back; a private generation is deleted. open() starts anew.
  void reset();

  // In the model's order; empty while not open. Valid until reset() or destruction.
  [[nodiscard]] const std::vector<TensorInfo>& inputs() const;
  [[nodiscard]] const std::vector<TensorInfo>& outputs() const;

  // One inference, opening first if that was not done. All outputs by name. bad_input, naming them: no inputs, inputs
  // that are missing or that the model does not have, another dtype or shape than the model wants.
  [[nodiscard]] Result<Tensors> run(const Tensors& inputs);

  // What runs: the compiled model or the source; empty while not open.
  [[nodiscard]] std::filesystem::path running_path() const;
  [[nodiscard]] std::optional<Outcome> outcome() const;
  [[nodiscard]] std::string reason() const;
  // EP and device class that the session is bound to; empty while not open.
  [[nodiscard]] std::string ep() const;
  [[nodiscard]] std::string device() const;

  // With CompileOptions::count_nodes: how many nodes of the graph each EP got, by ORT's name of it (of a compiled
  // model, one for each part that the EP compiled). From ORT's own words while it opened the model; empty: it said
  // nothing, or was not asked.
  [[nodiscard]] std::map<std::string, std::uint64_t> provider_nodes() const;

  // Opens the same generation again with further session options, calls `body`, and restores the session's own options
  // whatever happens. Two native sessions are never alive at once. A window inside a window is bad_input. The error is
  // body's, else that of opening or of restoring.
  [[nodiscard]] Result<PerfStatistics> perf_window(const PerfOptions& options,
                                                   const std::function<Result<void>(Session&)>& body);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace precast
