// `perf` of each runtime: one of them is the command's body.
#pragma once

#include "cli/command.hpp"
#include "cli/perf_options.hpp"
#include "cli/perf_report.hpp"

namespace precast::cli {

// `output` was checked. Each says what went wrong; the exit code comes back.
[[nodiscard]] int perf_bundle(Context& context, const PerfOptions& options, PerfOutput& output);
[[nodiscard]] int perf_model(Context& context, const PerfOptions& options, PerfOutput& output);

}  // namespace precast::cli
