#include "host.hpp"

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string_view>
#include <thread>
#include <unordered_map>

#include <dlfcn.h>

#include "onnxruntime_cxx_api.h"

namespace precast::fake_ep::test {
namespace {

constexpr const char* kName = "fake";

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

bool is_mapped(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(library) != std::string::npos) return true;
  }
  return false;
}

// Values with a pattern, small enough that float sums are nearly exact.
std::vector<float> input_values(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(static_cast<int>(i * 7 % 11) - 5) / 4;
  return values;
}

std::string run_session(Ort::Session& session) {
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
  std::vector<std::vector<float>> buffers;
  std::vector<Ort::Value> inputs;
  std::vector<const char*> input_names;
  std::vector<const char*> output_names;
  const auto names = session.GetInputNames();
  const auto results = session.GetOutputNames();
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto shape = session.GetInputTypeInfo(i).GetTensorTypeAndShapeInfo().GetShape();
    std::size_t count = 1;
    for (auto& extent : shape) {
      if (extent < 0) extent = 2;
      count *= static_cast<std::size_t>(extent);
    }
    auto& buffer = buffers.emplace_back(input_values(count));
    inputs.push_back(Ort::Value::CreateTensor<float>(memory, buffer.data(), count, shape.data(), shape.size()));
    input_names.push_back(names[i].c_str());
  }
  output_names.reserve(results.size());
  for (const auto& name : results) output_names.push_back(name.c_str());
  const auto values = session.Run(Ort::RunOptions{}, input_names.data(), inputs.data(), inputs.size(),
                                  output_names.data(), output_names.size());
  std::ostringstream line;
  line.precision(9);
  line << "output";
  for (const auto& value : values) {
    const auto count = value.GetTensorTypeAndShapeInfo().GetElementCount();
    for (std::size_t i = 0; i < count; ++i) line << ' ' << value.GetTensorData<float>()[i];
  }
  return line.str() + '\n';
}

class Host {
 public:
  Host() : env_(ORT_LOGGING_LEVEL_WARNING, "fake_ep_test") {
    env_.RegisterExecutionProviderLibrary(kName, FAKE_EP_LIBRARY);
  }

  void step(const std::string& text) {
    const auto equals = text.find('=');
    const std::string what = text.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
    if (what == "option") return set_option(value);
    if (what == "fallback") return static_cast<void>(fallback_ = true);
    if (what == "no_compile") return static_cast<void>(no_compile_ = true);
    if (what == "compile") return compile(value);
    if (what == "run") return run(value, options(true));
    if (what == "cpu") return run(value, options(false));
    if (what == "devices") return print_devices();
    if (what == "verdict") return print_verdict(value);
    if (what == "threads") return run_threads(value);
    if (what == "unregister") return unregister();
    throw std::invalid_argument("no step " + text);
  }

 private:
  std::vector<Ort::ConstEpDevice> devices() const {
    std::vector<Ort::ConstEpDevice> own;
    for (const auto& device : env_.GetEpDevices()) {
      if (std::string_view(device.EpName()) == kName) own.push_back(device);
    }
    return own;
  }

  Ort::SessionOptions options(bool on_fake_ep) {
    Ort::SessionOptions options;
    if (!on_fake_ep) return options;
    options.AppendExecutionProvider_V2(env_, {devices().at(0)}, options_);
    if (!fallback_) options.AddConfigEntry("session.disable_cpu_ep_fallback", "1");
    if (no_compile_) options.AddConfigEntry("session.disable_model_compile", "1");
    return options;
  }

  void set_option(const std::string& value) {
    const auto equals = value.find('=');
    options_[value.substr(0, equals)] = value.substr(equals + 1);
  }

  void compile(const std::string& value) {
    const auto parts = split(value, ',');
    Ort::ModelCompilationOptions compilation(env_, options(true));
    compilation.SetInputModelPath(parts.at(0).c_str());
    compilation.SetOutputModelPath(parts.at(1).c_str());
    compilation.SetEpContextEmbedMode(parts.at(2) == "embedded");
    compilation.SetFlags(OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED |
                         OrtCompileApiFlags_ERROR_IF_OUTPUT_FILE_EXISTS);
    Ort::ThrowOnError(Ort::CompileModel(env_, compilation));
    std::cout << "compiled" << '\n';
  }

  void run(const std::string& model, const Ort::SessionOptions& session_options) {
    Ort::Session session(env_, model.c_str(), session_options);
    std::cout << run_session(session);
  }

  void print_devices() const {
    for (const auto& device : devices()) {
      std::cout << "device " << device.EpName() << ' ' << device.EpVendor();
      for (const auto& [key, value] : device.EpMetadata().GetKeyValuePairs()) std::cout << ' ' << key << '=' << value;
      std::cout << '\n';
    }
  }

  void print_verdict(const std::string& compatibility) {
    std::cout << "verdict "
              << static_cast<int>(Ort::GetModelCompatibilityForEpDevices(devices(), compatibility.c_str())) << '\n';
  }

  void run_threads(const std::string& value) {
    const auto parts = split(value, ',');
    std::vector<std::jthread> threads;
    for (int i = std::stoi(parts.at(0)); i > 0; --i) {
      threads.emplace_back([this, model = parts.at(1)] { run(model, options(true)); });
    }
  }

  void unregister() {
    env_.UnregisterExecutionProviderLibrary(kName);
    std::cout << (is_mapped(FAKE_EP_LIBRARY) ? "mapped" : "unmapped") << '\n';
  }

  Ort::Env env_;
  std::unordered_map<std::string, std::string> options_;
  bool fallback_ = false;
  bool no_compile_ = false;
};

}  // namespace

int host_main(const std::vector<std::string>& steps) {
  void* library = ::dlopen(FAKE_EP_ORT, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::cerr << ::dlerror() << '\n';
    return 1;
  }
  using GetApiBase = const OrtApiBase* (*)();
  const auto get_api_base = reinterpret_cast<GetApiBase>(::dlsym(library, "OrtGetApiBase"));
  Ort::InitApi(get_api_base()->GetApi(ORT_API_VERSION));
  try {
    Host host;
    for (const std::string& step : steps) {
      host.step(step);
      std::cout << std::flush;  // a later step may end the process
    }
    return 0;
  } catch (const Ort::Exception& error) {
    std::cerr << "error " << error.GetOrtErrorCode() << ' ' << error.what() << '\n';
    return 100 + error.GetOrtErrorCode();
  }
}

}  // namespace precast::fake_ep::test
