#include "ort/inference.hpp"

#include <algorithm>
#include <cstring>

#include "model/dtype.hpp"
#include "model/model_facts.hpp"
#include "ort/runtime.hpp"
#include "tensor/element_type.hpp"
#include "util/text.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::ort {

namespace {

// ORT's numbers of element types are TensorProto.DataType's.
std::string dtype_of(ONNXTensorElementDataType type) {
  return std::string(model::dtype_name(static_cast<std::int32_t>(type)));
}

TensorInfo describe(std::string name, const Ort::TypeInfo& type) {
  TensorInfo info;
  info.name = std::move(name);
  if (type.GetONNXType() != ONNX_TYPE_TENSOR) return info;
  const auto tensor = type.GetTensorTypeAndShapeInfo();
  info.dtype = dtype_of(tensor.GetElementType());
  info.shape = tensor.GetShape();
  for (const char* symbol : tensor.GetSymbolicDimensions()) info.dimensions.emplace_back(symbol);
  return info;
}

std::vector<std::string> names_of(const std::vector<TensorInfo>& infos) {
  std::vector<std::string> names(infos.size());
  std::ranges::transform(infos, names.begin(), &TensorInfo::name);
  return names;
}

// `name(i)` and `type(i)` of each of `count` inputs or outputs.
template <typename Name, typename Type>
std::vector<TensorInfo> describe_all(std::size_t count, Name name, Type type) {
  std::vector<TensorInfo> infos;
  infos.reserve(count);
  for (std::size_t i = 0; i < count; ++i) infos.push_back(describe(name(i).get(), type(i)));
  return infos;
}

bool fits(const std::vector<std::int64_t>& wanted, const std::vector<std::int64_t>& given) {
  return std::ranges::equal(wanted, given, [](std::int64_t w, std::int64_t g) { return w < 0 || w == g; });
}

Result<void> check_one(const TensorInfo& wanted, const Ort::Value& given) {
  if (wanted.dtype.empty()) return {};  // a sequence, map or optional: ORT says itself what is wrong
  const std::string input = "input '" + util::escape_to_line(wanted.name) + "'";
  if (static_cast<const OrtValue*>(given) == nullptr || !given.IsTensor()) {
    return fail(ErrorCode::bad_input, input + " is not given a tensor", {}, "it wants " + wanted.dtype);
  }
  const auto info = given.GetTensorTypeAndShapeInfo();
  if (const std::string dtype = dtype_of(info.GetElementType()); dtype != wanted.dtype) {
    return fail(ErrorCode::bad_input, input + " is " + dtype + ", the model wants " + wanted.dtype, {},
                "convert it before the run");
  }
  // What ORT gives as a scalar may also be an input of which the model says nothing: ORT knows which.
  if (!wanted.shape.empty() && !fits(wanted.shape, info.GetShape())) {
    return fail(ErrorCode::bad_input,
                input + " has the shape " + tensor::shape_text(info.GetShape()) + ", the model wants " +
                    tensor::shape_text(wanted.shape),
                {}, "a '?' takes any size");
  }
  return {};
}

}  // namespace

std::vector<TensorInfo> inputs_of(const Ort::Session& session) {
  const Ort::AllocatorWithDefaultOptions allocator;
  return describe_all(
      session.GetInputCount(), [&](std::size_t i) { return session.GetInputNameAllocated(i, allocator); },
      [&](std::size_t i) { return session.GetInputTypeInfo(i); });
}

std::vector<TensorInfo> outputs_of(const Ort::Session& session) {
  const Ort::AllocatorWithDefaultOptions allocator;
  return describe_all(
      session.GetOutputCount(), [&](std::size_t i) { return session.GetOutputNameAllocated(i, allocator); },
      [&](std::size_t i) { return session.GetOutputTypeInfo(i); });
}

Result<void> check_inputs(const std::vector<TensorInfo>& wanted, const Values& given) {
  const std::string takes = "the model takes " + util::listed_quoted(names_of(wanted));
  std::vector<std::string> missing;
  for (const TensorInfo& info : wanted) {
    if (!given.contains(info.name)) missing.push_back(info.name);
  }
  std::vector<std::string> unknown;
  for (const auto& [name, value] : given) {
    if (std::ranges::find(wanted, name, &TensorInfo::name) == wanted.end()) unknown.push_back(name);
  }
  if (given.empty() && !wanted.empty()) return fail(ErrorCode::bad_input, "no inputs are given", {}, takes);
  if (!unknown.empty()) {
    return fail(ErrorCode::bad_input, "the model has no input " + util::listed_quoted(unknown), {}, takes);
  }
  if (!missing.empty())
    return fail(ErrorCode::bad_input, "no value for input " + util::listed_quoted(missing), {}, takes);
  for (const TensorInfo& info : wanted) PRECAST_TRY(check_one(info, given.find(info.name)->second));
  return {};
}

Result<Inference> infer(Ort::Session& session, const std::vector<TensorInfo>& inputs,
                        const std::vector<TensorInfo>& outputs, const Values& given, std::string_view doing) {
  try {
    PRECAST_TRY(check_inputs(inputs, given));
    std::vector<const char*> input_names;
    std::vector<const OrtValue*> input_values;
    for (const auto& [name, value] : given) {
      input_names.push_back(name.c_str());
      input_values.push_back(value);
    }
    std::vector<const char*> output_names(outputs.size());
    std::ranges::transform(outputs, output_names.begin(), [](const TensorInfo& info) { return info.name.c_str(); });
    std::vector<OrtValue*> raw(outputs.size(), nullptr);
    Ort::RunOptions options;
    options.SetRunLogSeverityLevel(ORT_LOGGING_LEVEL_WARNING);  // a session that counts its nodes logs everything
    Inference done;
    const util::Stopwatch watch;
    OrtStatus* const status =
        Ort::GetApi().Run(session, options, input_names.data(), input_values.data(), input_values.size(),
                          output_names.data(), output_names.size(), raw.data());
    done.ms = watch.elapsed_ms();
    for (std::size_t i = 0; i < raw.size(); ++i) done.outputs.emplace(outputs[i].name, Ort::Value(raw[i]));
    Ort::ThrowOnError(status);
    return done;
  } catch (const Ort::Exception& exception) {
    return std::unexpected(to_error(exception, doing, ErrorCode::compile_failed));
  }
}

Result<Ort::Value> to_value(tensor::Tensor& given) {
  const auto type = static_cast<ONNXTensorElementDataType>(given.element_type);
  try {
    if (given.element_type == tensor::kTypeString) {
      const Ort::AllocatorWithDefaultOptions allocator;
      Ort::Value value = Ort::Value::CreateTensor(allocator, given.shape.data(), given.shape.size(), type);
      std::vector<const char*> texts(given.strings.size());
      std::ranges::transform(given.strings, texts.begin(), &std::string::c_str);
      value.FillStringTensor(texts.data(), texts.size());
      return value;
    }
    const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
    return Ort::Value::CreateTensor(memory, given.bytes.data(), given.bytes.size(), given.shape.data(),
                                    given.shape.size(), type);
  } catch (const Ort::Exception& exception) {
    return std::unexpected(to_error(exception, "ONNX Runtime refuses a tensor", ErrorCode::bad_input));
  }
}

Result<Values> to_values(tensor::Tensors& tensors) {
  Values values;
  for (auto& [name, given] : tensors) {
    PRECAST_TRY_ASSIGN(auto value, to_value(given));
    values.emplace(name, std::move(value));
  }
  return values;
}

Result<tensor::Tensor> to_tensor(const Ort::Value& value) {
  try {
    if (static_cast<const OrtValue*>(value) == nullptr || !value.IsTensor()) {
      return fail(ErrorCode::unsupported, "it is not a tensor", {}, "a sequence, map or optional is not supported");
    }
    const auto info = value.GetTensorTypeAndShapeInfo();
    tensor::Tensor result;
    result.element_type = static_cast<std::int32_t>(info.GetElementType());
    result.shape = info.GetShape();
    const std::uint64_t count = info.GetElementCount();
    if (result.element_type == tensor::kTypeString) {
      result.strings.reserve(count);
      for (std::uint64_t i = 0; i < count; ++i) result.strings.push_back(value.GetStringTensorElement(i));
      return result;
    }
    const auto bytes = tensor::byte_count(result.element_type, count);
    if (!bytes) return fail(ErrorCode::unsupported, "its element type is not supported");
    result.bytes.resize(*bytes);
    if (*bytes > 0) std::memcpy(result.bytes.data(), value.GetTensorRawData(), *bytes);
    return result;
  } catch (const Ort::Exception& exception) {
    return std::unexpected(to_error(exception, "a tensor cannot be read", ErrorCode::internal));
  }
}

Result<TensorRun> run_tensors(Ort::Session& session, tensor::Tensors& inputs, std::string_view doing) {
  try {
    const auto outputs = outputs_of(session);
    PRECAST_TRY_ASSIGN(const auto values, to_values(inputs));
    PRECAST_TRY_ASSIGN(auto done, infer(session, inputs_of(session), outputs, values, doing));
    TensorRun run;
    run.run_ms = done.ms;
    run.outputs.resize(outputs.size());
    for (const auto& [name, value] : done.outputs) {
      Output& output =
          run.outputs[static_cast<std::size_t>(std::ranges::find(outputs, name, &TensorInfo::name) - outputs.begin())];
      output.name = name;
      auto tensor = to_tensor(value);
      if (!tensor && tensor.error().code != ErrorCode::unsupported) return std::unexpected(tensor.error());
      if (tensor) output.tensor = std::move(*tensor);
    }
    return run;
  } catch (const Ort::Exception& exception) {
    return std::unexpected(to_error(exception, doing, ErrorCode::internal));
  }
}

std::vector<tensor::InputSpec> input_specs(const std::vector<TensorInfo>& inputs, const model::IndexLimits& limits) {
  std::vector<tensor::InputSpec> specs;
  specs.reserve(inputs.size());
  for (const TensorInfo& info : inputs) {
    const auto limit = limits.find(info.name);
    specs.push_back({info.name, model::element_type_of(info.dtype), info.shape, info.dimensions,
                     limit == limits.end() ? std::nullopt : std::optional(limit->second)});
  }
  return specs;
}

}  // namespace precast::ort
