// What is asked of a language model and what it gives: plain data, for precast::GenaiSession.
//
//   precast::GenerationConfig config;
//   config.max_new_tokens = 64;
//   config.stop = {"\n\n"};
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace precast {

// The defaults are greedy decoding. Options of sampling count only with do_sample.
struct GenerationConfig {
  std::uint32_t max_new_tokens = 128;  // at least 1
  std::uint32_t min_new_tokens = 0;    // the model cannot end its answer before
  bool ignore_eos = false;             // nor before max_new_tokens
  bool do_sample = false;
  double temperature = 1;         // > 0
  double top_p = 1;               // (0, 1]
  std::uint32_t top_k = 0;        // 0 = all tokens
  double repetition_penalty = 1;  // > 0
  std::optional<std::uint32_t> seed;
  std::vector<std::string> stop;  // texts that end the answer and are not part of it
};

struct ChatMessage {
  std::string role;  // "system", "user", "assistant"
  std::string content;
};

// "eos": the model ended it; "length": max_new_tokens, or the context is full; "stop": one of the stop texts;
// "cancelled": the callback, or whoever holds the cache's stop token.
enum class FinishReason : std::uint8_t { eos, length, stop, cancelled };
[[nodiscard]] constexpr std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::eos:
      return "eos";
    case FinishReason::length:
      return "length";
    case FinishReason::stop:
      return "stop";
    case FinishReason::cancelled:
      break;
  }
  return "cancelled";
}

struct Generation {
  std::string text;                     // without stop texts and special tokens; always UTF-8
  std::vector<std::int32_t> token_ids;  // what was generated, an ending token too
  std::uint64_t prompt_tokens = 0;
  FinishReason finish_reason = FinishReason::length;
  std::vector<std::string> warnings;  // why the tokens may be wrong
};

// Exactly one of them is given.
struct Prompt {
  std::vector<ChatMessage> messages;    // made text by the bundle's chat template, for an answer to follow
  std::string text;                     // as it is
  std::vector<std::int32_t> token_ids;  // as they are
};

// Milliseconds of one monotonic clock. What was not done has no time.
struct GenerationTiming {
  std::optional<double> template_ms;      // the chat template applied
  std::optional<double> tokenization_ms;  // the prompt made tokens
  double generator_create_ms = 0;
  double prefill_ms = 0;                // the prompt's tokens computed
  double first_token_ms = 0;            // the first one chosen (and whatever of the prompt had to wait for it)
  std::vector<double> decode_token_ms;  // each later one
  double sequence_fetch_ms = 0;         // all tokens read back
  double detokenization_ms = 0;         // made text

  [[nodiscard]] double ttft_ms() const { return prefill_ms + first_token_ms; }
  [[nodiscard]] double decode_ms() const {
    return std::accumulate(decode_token_ms.begin(), decode_token_ms.end(), 0.0);
  }
  // Time per output token after the first; none with a single token.
  [[nodiscard]] std::optional<double> tpot_ms() const {
    if (decode_token_ms.empty()) return std::nullopt;
    return decode_ms() / static_cast<double>(decode_token_ms.size());
  }
  [[nodiscard]] std::optional<double> decode_tokens_per_second() const {
    const auto tpot = tpot_ms();
    if (!tpot || *tpot <= 0) return std::nullopt;
    return 1000 / *tpot;
  }
};

struct TimedGeneration {
  Generation generation;
  GenerationTiming timing;
};

// Gets the text as it comes, in whole UTF-8 characters; false ends the generation.
using TextCallback = std::function<bool(std::string_view text)>;
// A monotonic clock's reading; empty = std::chrono::steady_clock.
using MonotonicClock = std::function<std::chrono::nanoseconds()>;

}  // namespace precast
