#include "integration/real_eps.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>

#include <gtest/gtest.h>

namespace precast::testing {

namespace {

ort::Catalog& catalog() {
  static ort::Catalog* const instance = [] {
    ::setenv("ORT_DISABLE_TELEMETRY", "1", 1);
    ort::RuntimeOptions options;
    options.library = std::filesystem::path(PRECAST_DEPS_DIR) / "ort/lib/libonnxruntime.so.1";
    options.assume_cpu_vendor = "intel";
    auto runtime = ort::Runtime::load(options);
    if (!runtime) throw std::runtime_error(runtime.error().message);
    ort::DiscoveryOptions discovery;
    discovery.executable_directory = std::filesystem::path(PRECAST_SOURCE_DIR) / "build" / "bin";
    auto found = ort::discover_eps(fs::FileSystem::posix(), discovery);
    if (!found) throw std::runtime_error(found.error().message);
    return new ort::Catalog(*runtime, *found);  // lives as long as ORT's environment does
  }();
  return *instance;
}

std::vector<std::int64_t> concrete(std::vector<std::int64_t> shape, std::int64_t batch) {
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] <= 0) shape[i] = i == 0 ? batch : 16;
  }
  return shape;
}

Ort::Value make_input(const std::string& name, const Ort::ConstTensorTypeAndShapeInfo& info, std::int64_t batch) {
  const Ort::AllocatorWithDefaultOptions allocator;
  const auto shape = concrete(info.GetShape(), batch);
  Ort::Value value = Ort::Value::CreateTensor(allocator, shape.data(), shape.size(), info.GetElementType());
  const std::size_t count = value.GetTensorTypeAndShapeInfo().GetElementCount();
  std::mt19937 random(static_cast<std::mt19937::result_type>(std::hash<std::string>{}(name)));
  if (info.GetElementType() == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
    std::uniform_real_distribution<float> uniform(0.0F, 1.0F);
    for (std::size_t i = 0; i < count; ++i) value.GetTensorMutableData<float>()[i] = uniform(random);
  } else {
    EXPECT_EQ(info.GetElementType(), ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64) << name;
    for (std::size_t i = 0; i < count; ++i) {
      std::int64_t id = 1;
      if (name.find("type") != std::string::npos) id = 0;
      if (name.find("ids") != std::string::npos && id == 1) id = static_cast<std::int64_t>(1000 + random() % 2000);
      value.GetTensorMutableData<std::int64_t>()[i] = id;
    }
  }
  return value;
}

Outputs run_session(Ort::Session& session, std::int64_t batch) {
  const Ort::AllocatorWithDefaultOptions allocator;
  std::vector<std::string> names;
  std::vector<Ort::Value> inputs;
  for (std::size_t i = 0; i < session.GetInputCount(); ++i) {
    names.emplace_back(session.GetInputNameAllocated(i, allocator).get());
    inputs.push_back(make_input(names.back(), session.GetInputTypeInfo(i).GetTensorTypeAndShapeInfo(), batch));
  }
  std::vector<std::string> output_names;
  output_names.reserve(session.GetOutputCount());
  for (std::size_t i = 0; i < session.GetOutputCount(); ++i) {
    output_names.emplace_back(session.GetOutputNameAllocated(i, allocator).get());
  }
  std::vector<const char*> in;
  std::vector<const char*> out;
  in.reserve(names.size());
  out.reserve(output_names.size());
  for (const std::string& name : names) in.push_back(name.c_str());
  for (const std::string& name : output_names) out.push_back(name.c_str());
  const auto values = session.Run(Ort::RunOptions{}, in.data(), inputs.data(), inputs.size(), out.data(), out.size());
  Outputs outputs;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t bytes = values[i].GetTensorTypeAndShapeInfo().GetElementCount() * sizeof(float);
    EXPECT_EQ(values[i].GetTensorTypeAndShapeInfo().GetElementType(), ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
    const auto* const data = static_cast<const std::byte*>(values[i].GetTensorRawData());
    outputs[output_names[i]].assign(data, data + bytes);
  }
  return outputs;
}

std::vector<float> floats(const std::vector<std::byte>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace

// OpenVINO computes in bf16 on CPUs with AMX unless told otherwise; the source session and the compiled one would still
// agree, but the same numbers on every machine make failures easier to read.
RealEp openvino() {
  return {"openvino", {{"load_config", R"({"CPU":{"INFERENCE_PRECISION_HINT":"f32"}})"}}, {}};
}

RealEp qnn() {
  return {"qnn",
          {{"soc_model", "60"},
           {"htp_arch", "73"},
           {"enable_htp_fp16_precision", "1"},
           {"htp_graph_finalization_optimization_mode", "0"}},
          {}};
}

std::vector<std::string> arguments_for(const RealEp& ep) {
  std::vector<std::string> arguments{"--ep", ep.name};
  for (const auto& [key, value] : ep.options) {
    arguments.insert(arguments.end(), {"--ep-options", key + "=" + value});
  }
  for (const auto& [key, value] : ep.session_options) {
    arguments.insert(arguments.end(), {"--session-options", key + "=" + value});
  }
  return arguments;
}

Outputs run_model(const RealEp& ep, const std::filesystem::path& model, bool compiled, std::int64_t batch) {
  auto target = catalog().choose(fs::FileSystem::posix(), {ep.name, {}, ep.options}, {});
  if (!target) {
    ADD_FAILURE() << target.error().message;
    return {};
  }
  ort::SessionSettings settings{.config_entries = ep.session_options};
  // As the compile saw it: ORT's own optimisations before the EP would change what int8 models compute.
  if (!compiled) settings.optimization_level = 0;
  auto opened = ort::open_session(catalog(), *target, settings, {.model = model, .compiled = compiled});
  if (!opened) {
    ADD_FAILURE() << opened.error().message;
    return {};
  }
  return run_session(opened->session, batch);
}

double largest_difference(const Outputs& a, const Outputs& b) {
  double largest = 0;
  if (a.size() != b.size() || a.empty()) return std::numeric_limits<double>::infinity();
  for (const auto& [name, bytes] : a) {
    const auto other = b.find(name);
    if (other == b.end() || other->second.size() != bytes.size()) return std::numeric_limits<double>::infinity();
    const auto x = floats(bytes);
    const auto y = floats(other->second);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double difference = std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
      // A NaN on one side only would compare as "not larger".
      if (std::isnan(x[i]) != std::isnan(y[i])) return std::numeric_limits<double>::infinity();
      if (difference > largest) largest = difference;
    }
  }
  return largest;
}

double largest_value(const Outputs& outputs) {
  double largest = 0;
  for (const auto& [name, bytes] : outputs) {
    for (const float value : floats(bytes)) largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  return largest;
}

}  // namespace precast::testing
