// One request to a loaded model: prompt in, tokens and text out, and what each step took.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "genai/bundle.hpp"
#include "genai/native.hpp"
#include "precast/generation.hpp"
#include "util/cancel.hpp"

namespace precast::genai {

using precast::TimedGeneration;

// What is loaded of a bundle.
struct LoadedModel {
  const Native& native;
  const OgaModel& model;
  const OgaTokenizer& tokenizer;
  const Bundle& bundle;
  std::int64_t context_length = 0;
  const std::string& chat_template;  // of chat_template.jinja; empty: the tokenizer's own
  const util::CancelToken* cancel = nullptr;
};

// A pipeline that computes prompts in windows of a fixed size, which it fills up with pad_token_id.
[[nodiscard]] bool is_windowed_pipeline(const Bundle& bundle);

// bad_input naming the field.
[[nodiscard]] Result<void> check_config(const GenerationConfig& config);
// genai takes texts that end with a NUL, and what is no UTF-8 would be replaced without a word: bad_input naming
// `what`.
[[nodiscard]] Result<void> check_text(std::string_view text, const std::string& what);

// Errors: bad_input (no prompt, one that is longer than the context, with both numbers; a token that is none), else
// compile_failed with genai's words. Where the template cannot be applied the hint is to give a formatted prompt.
[[nodiscard]] Result<std::string> apply_template(const LoadedModel& loaded, const std::vector<ChatMessage>& messages,
                                                 bool add_generation_prompt);

// How long prompt and answer may get together: for a decoder-pipeline the whole context, whose size its caches have.
[[nodiscard]] std::uint64_t max_length_of(const std::string& model_type, std::uint64_t prompt_tokens,
                                          std::uint64_t max_new_tokens, std::uint64_t context_length);

// A new native generator each time, so nothing is reused between requests. `on_text` may be empty; then nothing is
// decoded while tokens come, unless a stop text must be found.
struct GenerationRequest {
  Prompt prompt;
  GenerationConfig config;
  TextCallback on_text;
  MonotonicClock clock;
};
[[nodiscard]] Result<TimedGeneration> generate(const LoadedModel& loaded, const GenerationRequest& request);

}  // namespace precast::genai
