#include "bench/model_run.hpp"

#include <algorithm>

#include "bench/tensor_files.hpp"
#include "model/dtype.hpp"
#include "ort/inference.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::bench {

namespace {

Result<tensor::Tensors> read_inputs(const std::filesystem::path& path, const std::vector<TensorInfo>& inputs) {
  std::vector<std::string> names(inputs.size());
  std::ranges::transform(inputs, names.begin(), &TensorInfo::name);
  PRECAST_TRY_ASSIGN(auto stored, read_tensors(path, names));
  tensor::Tensors tensors;
  for (auto& [name, one] : stored) {
    const auto info = std::ranges::find(inputs, name, &TensorInfo::name);
    if (info == inputs.end()) {
      return fail(ErrorCode::bad_input,
                  "the model has no input " + util::quoted(name) + ", which is in " + util::quoted(path), path,
                  "it takes " + util::listed_quoted(names));
    }
    PRECAST_TRY_ASSIGN(auto tensor, as_type(std::move(one), model::element_type_of(info->dtype), name));
    tensors.emplace(name, std::move(tensor));
  }
  for (const std::string& name : names) {
    if (tensors.contains(name)) continue;
    return fail(ErrorCode::bad_input, util::quoted(path) + " has nothing for the input " + util::quoted(name), path,
                "its names must be those of the inputs");
  }
  return tensors;
}

}  // namespace

Result<tensor::Tensors> make_inputs(const InputSource& from, const std::vector<TensorInfo>& inputs,
                                    const std::filesystem::path& source) {
  if (!from.data.empty()) return read_inputs(from.data, inputs);
  model::IndexLimits limits;
  if (!source.empty()) {
    PRECAST_TRY_ASSIGN(limits, model::read_index_limits(fs::FileSystem::posix(), source));
  }
  return tensor::generate_inputs(ort::input_specs(inputs, limits), from.wanted);
}

Result<std::vector<TensorInfo>> inputs_of(const Ort::Session& session) {
  try {
    return ort::inputs_of(session);
  } catch (const Ort::Exception& exception) {
    return std::unexpected(ort::to_error(exception, "the model's inputs cannot be read", ErrorCode::internal));
  }
}

Result<std::vector<CheckedOutput>> check_against_cpu(ort::Catalog& catalog, const std::filesystem::path& source,
                                                     const ort::SessionSettings& settings, tensor::Tensors& inputs,
                                                     const ort::TensorRun& run) {
  PRECAST_TRY_ASSIGN(
      auto reference,
      ort::open_session(catalog, ort::cpu_target(), {.free_dimensions = settings.free_dimensions}, {.model = source}));
  PRECAST_TRY_ASSIGN(const auto wanted,
                     ort::run_tensors(reference.session, inputs, "ORT's CPU EP does not run " + util::quoted(source)));
  std::vector<CheckedOutput> checked;
  for (const ort::Output& output : wanted.outputs) {
    if (!output.tensor) continue;
    const auto computed = std::ranges::find(run.outputs, output.name, &ort::Output::name);
    tensor::Difference difference;
    if (computed == run.outputs.end() || !computed->tensor) {
      difference.mismatch = "it is missing";
    } else {
      difference = tensor::compare(*computed->tensor, *output.tensor);
    }
    checked.push_back({output.name, std::move(difference)});
  }
  return checked;
}

std::string sha256_of(const tensor::Tensor& tensor) {
  util::Sha256 hash;
  hash.update(tensor.bytes);
  for (const std::string& text : tensor.strings) hash.update(std::as_bytes(std::span(text.c_str(), text.size() + 1)));
  return hash.finish_hex();
}

}  // namespace precast::bench
