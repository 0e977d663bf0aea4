#include "compile/compare_with_source.hpp"

#include "ort/inference.hpp"
#include "tensor/compare.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::compile {

namespace {

constexpr std::uint64_t kSeed = 1;

Result<tensor::Tensors> outputs_of(Ort::Session& session, tensor::Tensors& inputs, const std::string& doing) {
  PRECAST_TRY_ASSIGN(auto run, ort::run_tensors(session, inputs, doing));
  tensor::Tensors outputs;
  for (ort::Output& output : run.outputs) {
    if (!output.tensor) return fail(ErrorCode::unsupported, util::quoted(output.name) + " is not a tensor");
    outputs.emplace(output.name, std::move(*output.tensor));
  }
  return outputs;
}

Result<std::string> compare(ort::Catalog& catalog, Ort::Session& compiled, const ort::SessionSettings& settings,
                            const std::filesystem::path& source) {
  PRECAST_TRY_ASSIGN(const auto limits, model::read_index_limits(fs::FileSystem::posix(), source));
  PRECAST_TRY_ASSIGN(auto inputs,
                     tensor::generate_inputs(ort::input_specs(ort::inputs_of(compiled), limits), {.seed = kSeed}));
  PRECAST_TRY_ASSIGN(
      auto reference,
      ort::open_session(catalog, ort::cpu_target(), {.free_dimensions = settings.free_dimensions}, {.model = source}));
  PRECAST_TRY_ASSIGN(const auto wanted, outputs_of(reference.session, inputs, "the source does not run on the CPU"));
  PRECAST_TRY_ASSIGN(const auto computed, outputs_of(compiled, inputs, "the compiled model does not run"));
  for (const auto& [name, tensor] : wanted) {
    const auto output = computed.find(name);
    if (output == computed.end()) return "the output " + util::quoted(name) + " is missing";
    if (const std::string why = tensor::compare(output->second, tensor).why(); !why.empty()) {
      return "output " + util::quoted(name) + ": " + why;
    }
  }
  return std::string();
}

}  // namespace

Result<std::string> compare_with_source(ort::Catalog& catalog, Ort::Session& compiled,
                                        const ort::SessionSettings& settings, const std::filesystem::path& source) {
  try {
    return compare(catalog, compiled, settings, source);
  } catch (const Ort::Exception& exception) {
    return std::unexpected(ort::to_error(exception, "the inputs and outputs cannot be read", ErrorCode::internal));
  }
}

}  // namespace precast::compile
