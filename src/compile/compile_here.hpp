// Compiling in this process, without a worker: for callers who ask for it, or whose session options cannot cross to a
// child. An EP that crashes takes the process along; neither deadline nor cancellation ends its call.
#pragma once

#include "compile/compile_job.hpp"

namespace precast::compile {

// As run_job, with the checks, the validation and the outcomes of that.
[[nodiscard]] JobResult compile_here(const Job& job, Timings& timings);
// As opens_alone.
[[nodiscard]] Result<bool> opens_here(const Job& job, const std::filesystem::path& compiled);
// As validate_compiled.
[[nodiscard]] Validation validate_here(const Job& job, const std::filesystem::path& compiled);

}  // namespace precast::compile
