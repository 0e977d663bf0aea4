// What `perf` of a model is to measure: one target, or those that are compared.
#pragma once

#include <vector>

#include "bench/ort_measure.hpp"
#include "cli/globals.hpp"
#include "cli/perf_options.hpp"

namespace precast::cli {

// bad_input naming the option: fewer than two targets to compare, an option for an EP that is not measured, a device
// that only bundles have, what make_request refuses.
[[nodiscard]] Result<std::vector<bench::OrtTarget>> make_targets(const PerfOptions& options,
                                                                 const GlobalOptions& globals);

}  // namespace precast::cli
