// Requests to a loaded bundle, one after the other, and the report of what they took.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/genai_report.hpp"
#include "genai/session.hpp"
#include "util/cancel.hpp"

namespace precast::bench {

struct GenaiRunOptions {
  std::uint64_t iterations = 10;  // at least 1
  std::uint64_t warmup = 2;
  GenerationConfig config;
  Prompt prompt;
};

// Called before each request and after the last, never while one runs: what comes, and what was measured last.
struct RunProgress {
  RequestKind kind = RequestKind::warmup;
  std::uint64_t index = 0;  // from 0 within its kind
  std::uint64_t of = 0;
  const RequestTiming* last = nullptr;
};
using RunObserver = std::function<void(const RunProgress&)>;

struct GenaiRun {
  std::vector<RequestTiming> requests;  // those that were measured whole
  std::vector<std::string> warnings;
  bool cancelled = false;
};

// The first error ends it. Cancelled, it gives what was measured.
[[nodiscard]] Result<GenaiRun> run_requests(genai::Session& session, const GenaiRunOptions& options,
                                            const util::CancelToken& cancel, const RunObserver& observer = {},
                                            const MonotonicClock& clock = {});

// Token ids of exactly that length, the same each time: a made-up text's, without those that mean something special to
// the bundle. bad_input: longer than the context allows.
[[nodiscard]] Result<std::vector<std::int32_t>> made_up_prompt(genai::Session& session, std::uint64_t tokens);

// What is known of the load: timings, stages, route, key. The rest of the report is the caller's.
void fill_from_session(GenaiReport& report, const genai::Session& session);

[[nodiscard]] RequestTiming to_request_timing(const genai::TimedGeneration& done, RequestKind kind,
                                              std::uint64_t index);

}  // namespace precast::bench
