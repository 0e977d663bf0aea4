#include "bench/genai_timing.hpp"

#include <numeric>

namespace precast::bench {
namespace {

std::optional<double> per_second(std::uint64_t tokens, double milliseconds) {
  if (milliseconds <= 0) return std::nullopt;
  return static_cast<double>(tokens) * 1000 / milliseconds;
}

}  // namespace

std::string_view to_string(RequestKind kind) {
  return kind == RequestKind::warmup ? "warmup" : "timed";
}

RequestMetrics metrics_of(const RequestTiming& timing) {
  const double later_ms = std::accumulate(timing.decode_token_ms.begin(), timing.decode_token_ms.end(), 0.0);
  const double before_ms =
      timing.template_ms.value_or(0) + timing.tokenization_ms.value_or(0) + timing.generator_create_ms;
  RequestMetrics metrics;
  metrics.response_eval_ms = timing.first_token_ms.value_or(0) + later_ms;
  metrics.model_compute_ms = timing.prefill_ms + metrics.response_eval_ms;
  metrics.request_ms = before_ms + metrics.model_compute_ms + timing.sequence_fetch_ms + timing.detokenization_ms;
  if (timing.first_token_ms) {
    metrics.model_ttft_ms = timing.prefill_ms + *timing.first_token_ms;
    metrics.request_ttft_ms = before_ms + *metrics.model_ttft_ms;
    metrics.response_eval_tokens_per_second = per_second(timing.generated_tokens, metrics.response_eval_ms);
  }
  if (timing.prompt_tokens > 0) {
    metrics.prefill_tokens_per_second = per_second(timing.prompt_tokens, timing.prefill_ms);
  }
  if (!timing.decode_token_ms.empty()) {
    const std::uint64_t later = timing.decode_token_ms.size();
    metrics.steady_state_decode_tokens_per_second = per_second(later, later_ms);
    metrics.steady_state_tpot_ms = later_ms / static_cast<double>(later);
  }
  return metrics;
}

}  // namespace precast::bench
