#include "bench/genai_timing.hpp"

#include <gtest/gtest.h>

namespace precast::bench {
namespace {

RequestTiming four_tokens() {
  return {.prompt_tokens = 12,
          .generated_tokens = 4,
          .template_ms = 0.5,
          .tokenization_ms = 1.5,
          .generator_create_ms = 2,
          .prefill_ms = 24,
          .first_token_ms = 6,
          .decode_token_ms = {4, 5, 6},
          .sequence_fetch_ms = 0.25,
          .detokenization_ms = 0.75};
}

TEST(GenaiTiming, FollowsTheFormulas) {
  const RequestMetrics metrics = metrics_of(four_tokens());
  EXPECT_DOUBLE_EQ(metrics.model_ttft_ms.value(), 30);    // 24 + 6
  EXPECT_DOUBLE_EQ(metrics.request_ttft_ms.value(), 34);  // 0.5 + 1.5 + 2 + 30
  EXPECT_DOUBLE_EQ(metrics.response_eval_ms, 21);         // 6 + 15
  EXPECT_DOUBLE_EQ(metrics.model_compute_ms, 45);         // 24 + 21
  EXPECT_DOUBLE_EQ(metrics.request_ms, 50);               // 4 + 45 + 1
  EXPECT_DOUBLE_EQ(metrics.prefill_tokens_per_second.value(), 500);
  EXPECT_DOUBLE_EQ(metrics.steady_state_decode_tokens_per_second.value(), 200);
  EXPECT_DOUBLE_EQ(metrics.response_eval_tokens_per_second.value(), 4000.0 / 21);
  EXPECT_DOUBLE_EQ(metrics.steady_state_tpot_ms.value(), 5);
}

TEST(GenaiTiming, OneTokenHasNoSteadyState) {
  RequestTiming timing = four_tokens();
  timing.decode_token_ms.clear();
  timing.generated_tokens = 1;
  const RequestMetrics metrics = metrics_of(timing);
  EXPECT_EQ(metrics.steady_state_tpot_ms, std::nullopt);
  EXPECT_EQ(metrics.steady_state_decode_tokens_per_second, std::nullopt);
  EXPECT_DOUBLE_EQ(metrics.response_eval_tokens_per_second.value(), 1000.0 / 6);
  EXPECT_DOUBLE_EQ(metrics.model_ttft_ms.value(), 30);
}

TEST(GenaiTiming, CountsWhatCameWhenTheModelEndsEarly) {
  // The third token of up to 128 ended the answer.
  RequestTiming timing = four_tokens();
  timing.decode_token_ms = {4, 8};
  timing.generated_tokens = 3;
  timing.finish_reason = FinishReason::eos;
  const RequestMetrics metrics = metrics_of(timing);
  EXPECT_DOUBLE_EQ(metrics.steady_state_tpot_ms.value(), 6);
  EXPECT_DOUBLE_EQ(metrics.steady_state_decode_tokens_per_second.value(), 2000.0 / 12);
  EXPECT_DOUBLE_EQ(metrics.response_eval_tokens_per_second.value(), 3000.0 / 18);
}

TEST(GenaiTiming, NoTokenAtAllHasNoFirstOne) {
  RequestTiming timing = four_tokens();
  timing.first_token_ms.reset();
  timing.decode_token_ms.clear();
  timing.generated_tokens = 0;
  const RequestMetrics metrics = metrics_of(timing);
  EXPECT_EQ(metrics.model_ttft_ms, std::nullopt);
  EXPECT_EQ(metrics.request_ttft_ms, std::nullopt);
  EXPECT_EQ(metrics.response_eval_tokens_per_second, std::nullopt);
  EXPECT_DOUBLE_EQ(metrics.response_eval_ms, 0);
  EXPECT_DOUBLE_EQ(metrics.model_compute_ms, 24);
}

TEST(GenaiTiming, NoTimeGivesNoRate) {
  const RequestMetrics metrics =
      metrics_of({.prompt_tokens = 8, .generated_tokens = 2, .first_token_ms = 0, .decode_token_ms = {0}});
  EXPECT_EQ(metrics.prefill_tokens_per_second, std::nullopt);
  EXPECT_EQ(metrics.steady_state_decode_tokens_per_second, std::nullopt);
  EXPECT_EQ(metrics.response_eval_tokens_per_second, std::nullopt);
  EXPECT_EQ(metrics.steady_state_tpot_ms, 0);
}

TEST(GenaiTiming, APromptOfIdsWantsNeitherTemplateNorTokenizer) {
  RequestTiming timing = four_tokens();
  timing.template_ms.reset();
  timing.tokenization_ms.reset();
  EXPECT_DOUBLE_EQ(metrics_of(timing).request_ttft_ms.value(), 32);
  EXPECT_DOUBLE_EQ(metrics_of(timing).request_ms, 48);
}

}  // namespace
}  // namespace precast::bench
