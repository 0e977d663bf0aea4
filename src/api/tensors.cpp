#include "api/tensors.hpp"

#include <algorithm>

#include "model/model_facts.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::api {

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

std::string quoted_list(const std::vector<std::string>& names) {
  std::vector<std::string> quoted(names.size());
  std::ranges::transform(names, quoted.begin(), util::quoted);
  return util::listed(quoted, quoted.size());
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

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) {
    if (text.size() > 1) text += ", ";
    text += size < 0 ? "?" : std::to_string(size);
  }
  return text + "]";
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
  if (!fits(wanted.shape, info.GetShape())) {
    return fail(
        ErrorCode::bad_input,
        input + " has the shape " + shape_text(info.GetShape()) + ", the model wants " + shape_text(wanted.shape), {},
        "a '?' takes any size");
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

Result<void> check_inputs(const std::vector<TensorInfo>& wanted, const Tensors& given) {
  const std::string takes = "the model takes " + quoted_list(names_of(wanted));
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
    return fail(ErrorCode::bad_input, "the model has no input " + quoted_list(unknown), {}, takes);
  }
  if (!missing.empty()) return fail(ErrorCode::bad_input, "no value for input " + quoted_list(missing), {}, takes);
  for (const TensorInfo& info : wanted) PRECAST_TRY(check_one(info, given.find(info.name)->second));
  return {};
}

}  // namespace precast::api
