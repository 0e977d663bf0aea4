// The real EPs in the test's own process: opening a model by an EP and running it on seeded inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "ort/session_call.hpp"

namespace precast::testing {

struct RealEp {
  std::string name;                            // alias
  std::map<std::string, std::string> options;  // --ep-options
  std::map<std::string, std::string> session_options;
};

[[nodiscard]] RealEp openvino();
// The HTP compiler and simulator for a Snapdragon that is not here.
[[nodiscard]] RealEp qnn();

// The arguments of precast that ask for it.
[[nodiscard]] std::vector<std::string> arguments_for(const RealEp& ep);

// Tensor bytes of every output, by name, of one run on inputs seeded by their names. CPU fallback of whole models is
// forbidden for `compiled` ones by opening with disable_model_compile. `batch`: the size of a symbolic first dimension.
using Outputs = std::map<std::string, std::vector<std::byte>>;
[[nodiscard]] Outputs run_model(const RealEp& ep, const std::filesystem::path& model, bool compiled,
                                std::int64_t batch = 1);

// Largest absolute difference of two float outputs of one name; infinity when shapes or names differ.
[[nodiscard]] double largest_difference(const Outputs& a, const Outputs& b);
[[nodiscard]] double largest_value(const Outputs& a);

}  // namespace precast::testing
