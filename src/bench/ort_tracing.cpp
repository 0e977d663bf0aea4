#include "bench/ort_tracing.hpp"

#include "bench/sampler.hpp"
#include "compile/work_folder.hpp"
#include "fs/file_system.hpp"
#include "ort/bound_run.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::bench {

namespace {

constexpr std::uint64_t kSkippedRuns = 2;
constexpr std::uint64_t kRuns = 10;
constexpr double kMostMs = 10'000;  // no further run is begun after that

// The number of runs.
Result<std::uint64_t> run_some(Ort::Session& session, tensor::Tensors& inputs, const util::CancelToken& cancel) {
  PRECAST_TRY_ASSIGN(auto run, ort::BoundRun::make(session, inputs, true, "a run with profiling failed"));
  const MonotonicClock system;
  const Sampler sampler(system);
  const util::Stopwatch watch;
  std::uint64_t runs = 0;
  for (; runs < kSkippedRuns + kRuns && (runs <= kSkippedRuns || watch.elapsed_ms() < kMostMs); ++runs) {
    if (cancel.cancelled()) return fail(ErrorCode::cancelled, "interrupted while operators were traced");
    PRECAST_TRY(sampler.sample(run));
  }
  return runs;
}

Result<std::shared_ptr<Ort::SessionOptions>> with_profiling(const ort::SessionSettings& settings,
                                                            const std::filesystem::path& prefix) {
  try {
    auto options =
        std::make_shared<Ort::SessionOptions>(settings.base ? settings.base->Clone() : Ort::SessionOptions());
    options->EnableProfiling(prefix.c_str());
    return options;
  } catch (const Ort::Exception& exception) {
    return std::unexpected(ort::to_error(exception, "ONNX Runtime does not profile", ErrorCode::internal));
  }
}

Result<std::filesystem::path> end_profiling(Ort::Session& session) {
  try {
    const Ort::AllocatorWithDefaultOptions allocator;
    return std::filesystem::path(session.EndProfilingAllocated(allocator).get());
  } catch (const Ort::Exception& exception) {
    return std::unexpected(ort::to_error(exception, "ONNX Runtime wrote no profile", ErrorCode::io));
  }
}

}  // namespace

Result<OpTrace> trace_operators(ort::Catalog& catalog, session::PreparedSession& session,
                                const ort::SessionSettings& settings, tensor::Tensors& inputs,
                                const util::CancelToken& cancel) {
  PRECAST_TRY_ASSIGN(const auto folder, compile::WorkFolder::temporary(fs::FileSystem::posix()));
  ort::SessionSettings profiled = settings;
  PRECAST_TRY_ASSIGN(profiled.base, with_profiling(settings, folder.work_folder() / "profile"));
  PRECAST_TRY(session.reopen(catalog, profiled));
  PRECAST_TRY_ASSIGN(const std::uint64_t runs, run_some(session.native(), inputs, cancel));
  PRECAST_TRY_ASSIGN(const auto profile, end_profiling(session.native()));
  return read_op_trace(profile, std::min(kSkippedRuns, runs - 1));
}

}  // namespace precast::bench
