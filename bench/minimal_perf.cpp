// What `precast perf` is measured against: the least that a C++ program can do with ORT alone to time a model.
//
//   precast-bench-minimal-perf ORT EP LIBRARY MODEL FOLDER WARMUP RUNS INPUT TYPE DIMS [INPUT TYPE DIMS...]
//
// LIBRARY is "-" for ORT's own CPU EP; TYPE is float or int64, DIMS 1x128; the values of INPUT are the end of
// FOLDER/INPUT.npy. Opens MODEL with the session options that ORT has by default, binds inputs and outputs once, runs
// it once, WARMUP times and RUNS times. Prints one line of JSON with milliseconds and ends with _exit as precast does.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <onnxruntime_cxx_api.h>

#include "ort_alone.hpp"

namespace {

using precast::bench::Clock;
using precast::bench::load_ort;
using precast::bench::ms_since;
using precast::bench::register_ep;

Ort::SessionOptions options_for(Ort::Env& env, const char* ep, const char* library) {
  Ort::SessionOptions options;
  if (std::strcmp(library, "-") == 0) return options;
  register_ep(env, ep, library);
  for (const Ort::ConstEpDevice& device : env.GetEpDevices()) {
    if (std::strcmp(ep, device.EpName()) != 0) continue;
    options.AppendExecutionProvider_V2(env, {device}, Ort::KeyValuePairs());
    return options;
  }
  throw std::runtime_error(std::string("no device of ") + ep);
}

struct Input {
  Input(const std::string& folder, const char* input, const char* type, const char* dims) : name(input) {
    is_float = std::strcmp(type, "float") == 0;
    std::size_t count = 1;
    for (const char* at = dims; *at != '\0';) {
      char* end = nullptr;
      shape.push_back(std::strtoll(at, &end, 10));
      count *= static_cast<std::size_t>(shape.back());
      at = *end == 'x' ? end + 1 : end;
    }
    bytes.resize(count * (is_float ? sizeof(float) : sizeof(std::int64_t)));
    std::ifstream file(folder + "/" + name + ".npy", std::ios::binary);
    file.seekg(-static_cast<std::streamoff>(bytes.size()), std::ios::end);
    if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) throw std::runtime_error("no " + name);
  }
  [[nodiscard]] Ort::Value value() {
    return Ort::Value::CreateTensor(
        Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault), bytes.data(), bytes.size(), shape.data(),
        shape.size(), is_float ? ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT : ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64);
  }

  std::string name;
  bool is_float = false;
  std::vector<std::int64_t> shape;
  std::vector<char> bytes;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

int run(int argc, char** argv) {
  load_ort(argv[1]);
  Ort::Env env(ORT_LOGGING_LEVEL_ERROR, "minimal");
  const Ort::SessionOptions options = options_for(env, argv[2], argv[3]);
  std::vector<Input> inputs;
  for (int i = 8; i + 2 < argc; i += 3) inputs.emplace_back(argv[5], argv[i], argv[i + 1], argv[i + 2]);
  const auto start = Clock::now();
  auto* const session = new Ort::Session(env, argv[4], options);  // stays open until _exit
  const double open = ms_since(start);
  Ort::IoBinding binding(*session);
  for (Input& input : inputs) binding.BindInput(input.name.c_str(), input.value());
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  for (const std::string& output : session->GetOutputNames()) binding.BindOutput(output.c_str(), memory);

  const int warmup = 1 + std::atoi(argv[6]);
  const int runs = std::atoi(argv[7]);
  const Ort::RunOptions run_options;
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(runs));
  for (int i = -warmup; i < runs; ++i) {
    const auto begin = Clock::now();
    session->Run(run_options, binding);
    const auto end = Clock::now();
    if (i >= 0) times.push_back(std::chrono::duration<double, std::milli>(end - begin).count());
  }
  std::fprintf(stderr, "{\"open_ms\":%.3f,\"min_ms\":%.6f,\"p50_ms\":%.6f,\"n\":%zu}\n", open, std::ranges::min(times),
               median(times), times.size());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  precast::bench::end_with([=] {
    if (argc < 11) throw std::runtime_error("see the head of bench/minimal_perf.cpp for the arguments");
    return run(argc, argv);
  });
}
