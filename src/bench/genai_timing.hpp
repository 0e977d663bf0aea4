// What one request to a generator took, and the rates that follow from it.
//
//   const RequestMetrics metrics = metrics_of(timing);
//   if (metrics.model_ttft_ms) ...
//
// Milliseconds of one monotonic clock. A number that does not exist is nullopt (a rate over no time, TPOT of a single
// token), never 0 or infinity.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "precast/generation.hpp"

namespace precast::bench {

enum class RequestKind : std::uint8_t { warmup, timed };
[[nodiscard]] std::string_view to_string(RequestKind kind);

// As measured.
struct RequestTiming {
  RequestKind kind = RequestKind::timed;
  std::uint64_t index = 0;  // from 0 within its kind
  std::uint64_t prompt_tokens = 0;
  std::uint64_t generated_tokens = 0;  // those that came, an ending token too: 1 + decode_token_ms.size(), or 0
  FinishReason finish_reason = FinishReason::length;

  std::optional<double> template_ms;      // nullopt: no template was applied
  std::optional<double> tokenization_ms;  // nullopt: the prompt was given as ids
  double generator_create_ms = 0;
  double prefill_ms = 0;                 // the prompt's tokens appended
  std::optional<double> first_token_ms;  // nullopt: none came
  std::vector<double> decode_token_ms;   // every later one
  double sequence_fetch_ms = 0;
  double detokenization_ms = 0;
};

struct RequestMetrics {
  std::optional<double> model_ttft_ms;    // prefill + first token
  std::optional<double> request_ttft_ms;  // template + tokenization + generator creation + model TTFT
  double response_eval_ms = 0;            // first token + later ones
  double model_compute_ms = 0;            // prefill + response evaluation
  double request_ms = 0;                  // everything: template to detokenization
  std::optional<double> prefill_tokens_per_second;
  std::optional<double> steady_state_decode_tokens_per_second;  // later tokens over their sum
  std::optional<double> response_eval_tokens_per_second;        // generated tokens over response evaluation
  std::optional<double> steady_state_tpot_ms;                   // mean of the later tokens
};

[[nodiscard]] RequestMetrics metrics_of(const RequestTiming& timing);

}  // namespace precast::bench
