#include "compile/embedding.hpp"

#include <limits>

#include "util/text.hpp"

namespace precast::compile {

namespace {

constexpr std::uint64_t kMostBytes = std::numeric_limits<std::int32_t>::max();

std::uint64_t kept_bytes(const model::StoredWeights& weights, bool narrows_floats) {
  const std::string_view dtype = model::dtype_name(weights.element_type);
  const bool narrowed = narrows_floats && (dtype == "float32" || dtype == "float64");
  return narrowed ? weights.elements * 2 : model::bytes_of(weights);
}

}  // namespace

Result<void> check_embeddable(const model::ModelFacts& facts, const ort::Target& target,
                              const std::filesystem::path& model) {
  const bool narrows = target.ep.found.spec != nullptr && target.ep.found.spec->narrows_floats;
  std::uint64_t bytes = 0;
  for (const model::StoredWeights& weights : facts.stored_weights) bytes += kept_bytes(weights, narrows);
  if (bytes <= kMostBytes) return {};
  return fail(ErrorCode::bad_input,
              util::quoted(model) + " has weights of " + util::format_bytes(bytes) + " for " + target.ep.found.name +
                  ": with its context inside, the compiled model would be larger than 2 GiB",
              model, "leave out --embed");
}

}  // namespace precast::compile
