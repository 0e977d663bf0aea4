#include "bench/model_run.hpp"

#include <algorithm>

#include "bench/tensor_files.hpp"
#include "identity/links.hpp"
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

Result<std::vector<TensorInfo>> outputs_of(const Ort::Session& session) {
  try {
    return ort::outputs_of(session);
  } catch (const Ort::Exception& exception) {
    return std::unexpected(ort::to_error(exception, "the model's outputs cannot be read", ErrorCode::internal));
  }
}

std::filesystem::path source_of(const compile::Resolution& resolution, const compile::Request& request) {
  if (resolution.outcome == compile::Outcome::precompiled) return {};
  return identity::logical_absolute(request.model);
}

std::string effective_ep(const session::PreparedSession& session) {
  const ort::FoundEp& ep = session.resolution().target.ep.found;
  const auto& nodes = session.provider_nodes();
  return nodes.empty() || nodes.contains(ep.name) ? ep.name : ort::cpu_target().ep.found.name;
}

Result<void> check_placement(const session::PreparedSession& session, const compile::Request& request) {
  const ort::FoundEp& ep = session.resolution().target.ep.found;
  const std::string asked = util::ascii_lower(request.target.ep);
  const bool ep_named = !asked.empty() && asked != "auto";
  const bool device_named = request.target.device.value_or(ort::DeviceClass::cpu) != ort::DeviceClass::cpu;
  if ((!ep_named && !device_named) || ep.library.empty() || effective_ep(session) == ep.name) return {};
  const std::string logged = session.complaint().empty() ? "" : " (logged: " + session.complaint() + ")";
  return fail(
      ErrorCode::ep_unavailable,
      ep.name + " got no node of " + util::quoted(request.model) + ": all of it would run on the CPU EP" + logged,
      request.model,
      std::string(ep_named ? "leave --ep out, or use --ep cpu" : "leave --device out") +
          "; has the model open sizes that the EP wants fixed? give --free-dimension NAME=N");
}

std::string sha256_of(const tensor::Tensor& tensor) {
  util::Sha256 hash;
  hash.update(tensor.bytes);
  for (const std::string& text : tensor.strings) hash.update(std::as_bytes(std::span(text.c_str(), text.size() + 1)));
  return hash.finish_hex();
}

}  // namespace precast::bench
