#include "genai/generate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "genai/text_stream.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::genai {

namespace {

constexpr std::string_view kPipelineType = "decoder-pipeline";

std::chrono::nanoseconds steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

class Laps {
 public:
  explicit Laps(const MonotonicClock& clock) : clock_(clock ? clock : MonotonicClock(steady_now)), last_(clock_()) {}
  void restart() { last_ = clock_(); }
  double lap_ms() {
    const std::chrono::nanoseconds now = clock_();
    return std::chrono::duration<double, std::milli>(now - std::exchange(last_, now)).count();
  }

 private:
  MonotonicClock clock_;
  std::chrono::nanoseconds last_;
};

std::unexpected<Error> refuse(const char* field, const char* what) {
  return fail(ErrorCode::bad_input, fmt::format("{} {}", field, what));
}

// On a windowed pipeline the last window of a prompt is filled up with it.
std::vector<std::string> pad_warnings(const Bundle& bundle, const std::vector<std::int32_t>& prompt) {
  if (!is_windowed_pipeline(bundle) || !bundle.pad_token_id) return {};
  const auto pad = static_cast<std::int32_t>(*bundle.pad_token_id);
  if (std::ranges::find(prompt, pad) == prompt.end()) return {};
  return {fmt::format("the prompt has the token {}, which is the bundle's pad_token_id: what comes may be wrong", pad)};
}

// genai fills the last window of a prompt up, and counts what it put there.
std::uint64_t padded_length(const Bundle& bundle, std::uint64_t prompt_tokens) {
  if (!is_windowed_pipeline(bundle) || bundle.sliding_window->window_size <= 0) return prompt_tokens;
  const auto window = static_cast<std::uint64_t>(bundle.sliding_window->window_size);
  return (prompt_tokens + window - 1) / window * window;
}

class Generating {
 public:
  Generating(const LoadedModel& loaded, const GenerationRequest& request)
      : loaded_(loaded), request_(request), config_(request.config), laps_(request.clock), stops_(config_.stop) {}

  Result<TimedGeneration> run() {
    PRECAST_TRY(check_config(config_));
    PRECAST_TRY(take_prompt());
    PRECAST_TRY(check_length());
    done_.generation.prompt_tokens = prompt_.size();
    done_.generation.warnings = pad_warnings(loaded_.bundle, prompt_);
    PRECAST_TRY(start());
    PRECAST_TRY(decode_all());
    PRECAST_TRY(finish());
    return std::move(done_);
  }

 private:
  Result<void> take_prompt() {
    const Prompt& prompt = request_.prompt;
    const int given =
        (prompt.messages.empty() ? 0 : 1) + (prompt.text.empty() ? 0 : 1) + (prompt.token_ids.empty() ? 0 : 1);
    if (given != 1) {
      return fail(ErrorCode::bad_input, given == 0 ? "the prompt is empty" : "more than one kind of prompt is given",
                  {}, "give a text, messages or token ids");
    }
    if (!prompt.token_ids.empty()) {
      prompt_ = prompt.token_ids;
      return check_ids();
    }
    PRECAST_TRY(check_text(prompt.text, "the prompt"));
    std::string text = prompt.text;
    laps_.restart();
    if (!prompt.messages.empty()) {
      PRECAST_TRY_ASSIGN(text, apply_template(loaded_, prompt.messages, true));
      done_.timing.template_ms = laps_.lap_ms();
    }
    PRECAST_TRY_ASSIGN(prompt_, loaded_.native.encode(loaded_.tokenizer, text));
    done_.timing.tokenization_ms = laps_.lap_ms();
    if (prompt_.empty()) return fail(ErrorCode::bad_input, "the prompt has no token", {}, "give a longer prompt");
    return {};
  }

  // genai would look a negative id up all the same.
  [[nodiscard]] Result<void> check_ids() const {
    const auto bad = std::ranges::find_if(prompt_, [](std::int32_t id) { return id < 0; });
    if (bad == prompt_.end()) return {};
    return fail(ErrorCode::bad_input, fmt::format("{} is no token id", *bad));
  }

  [[nodiscard]] Result<void> check_length() const {
    const auto context = static_cast<std::uint64_t>(loaded_.context_length);
    if (padded_length(loaded_.bundle, prompt_.size()) < context) return {};
    return fail(
        ErrorCode::bad_input,
        fmt::format("the prompt has {} tokens, and the context {}{}: there is no room for an answer", prompt_.size(),
                    context, padded_length(loaded_.bundle, 1) > 1 ? " (whole windows are used up)" : ""),
        loaded_.bundle.config_path, "use a shorter prompt, or a bundle with a longer context");
  }

  Result<void> start() {
    Search search;
    search.config = config_;
    const auto context = static_cast<std::uint64_t>(loaded_.context_length);
    search.max_length = max_length_of(loaded_.bundle.model_type, prompt_.size(), config_.max_new_tokens, context);
    const std::uint64_t used = padded_length(loaded_.bundle, prompt_.size());
    limit_ = std::min<std::uint64_t>(config_.max_new_tokens, search.max_length - used);
    const std::uint64_t at_least =
        config_.ignore_eos ? limit_ : std::min<std::uint64_t>(config_.min_new_tokens, limit_);
    search.min_length = at_least == 0 ? 0 : used + at_least;
    if (decodes_meanwhile()) {
      PRECAST_TRY_ASSIGN(stream_, loaded_.native.create_token_stream(loaded_.tokenizer));
    }
    laps_.restart();
    PRECAST_TRY_ASSIGN(generator_, loaded_.native.create_generator(loaded_.model, search));
    done_.timing.generator_create_ms = laps_.lap_ms();
    PRECAST_TRY(loaded_.native.append_tokens(*generator_, prompt_));
    done_.timing.prefill_ms = laps_.lap_ms();
    return {};
  }

  [[nodiscard]] bool decodes_meanwhile() const { return request_.on_text || !config_.stop.empty(); }
  [[nodiscard]] bool cancelled() const { return loaded_.cancel != nullptr && loaded_.cancel->cancelled(); }
  [[nodiscard]] bool is_eos(std::int32_t id) const {
    return std::ranges::find(loaded_.bundle.eos_token_ids, id) != loaded_.bundle.eos_token_ids.end();
  }

  Result<void> decode_all() {
    auto& ids = done_.generation.token_ids;
    FinishReason& reason = done_.generation.finish_reason;
    ids.reserve(limit_);
    done_.timing.decode_token_ms.reserve(limit_);
    reason = FinishReason::length;
    while (ids.size() < limit_) {
      if (cancelled()) {
        reason = FinishReason::cancelled;
        return {};
      }
      laps_.restart();
      PRECAST_TRY(loaded_.native.generate_next_token(*generator_));
      const double ms = laps_.lap_ms();
      if (ids.empty()) {
        done_.timing.first_token_ms = ms;
      } else {
        done_.timing.decode_token_ms.push_back(ms);
      }
      PRECAST_TRY_ASSIGN(const std::int32_t id, loaded_.native.last_token(*generator_));
      ids.push_back(id);
      if (is_eos(id) && !config_.ignore_eos) {
        reason = FinishReason::eos;
        return {};
      }
      PRECAST_TRY_ASSIGN(const bool go_on, show(id));
      if (!go_on) {
        reason = stops_.found() ? FinishReason::stop : FinishReason::cancelled;
        return {};
      }
      if (loaded_.native.is_done(*generator_)) {
        // Without eos_token_id in the configuration genai may know better than it says.
        if (loaded_.bundle.eos_token_ids.empty() && ids.size() < limit_) reason = FinishReason::eos;
        return {};
      }
    }
    return {};
  }

  Result<bool> show(std::int32_t id) {
    if (!decodes_meanwhile()) return true;
    PRECAST_TRY_ASSIGN(const std::string bytes, loaded_.native.stream_decode(*stream_, id));
    return give(stops_.push(characters_.push(bytes))) && !stops_.found();
  }

  bool give(const std::string& text) {
    done_.generation.text += text;
    refused_ = !text.empty() && request_.on_text && !request_.on_text(text);
    return !refused_;
  }

  Result<void> finish() {
    const auto& ids = done_.generation.token_ids;
    if (ids.empty() && done_.generation.finish_reason != FinishReason::cancelled) {
      return fail(ErrorCode::compile_failed, "onnxruntime-genai generated no token");
    }
    laps_.restart();
    const std::vector<std::int32_t> sequence = loaded_.native.sequence(*generator_);
    done_.timing.sequence_fetch_ms = laps_.lap_ms();
    if (decodes_meanwhile()) {
      if (!stops_.found() && !refused_) (void)give(stops_.push(characters_.finish()) + stops_.finish());
      return {};
    }
    if (ids.empty()) return {};
    laps_.restart();
    PRECAST_TRY_ASSIGN(const std::string bytes, loaded_.native.decode(loaded_.tokenizer, ids));
    done_.timing.detokenization_ms = laps_.lap_ms();
    done_.generation.text = characters_.push(bytes) + characters_.finish();
    return {};
  }

  const LoadedModel& loaded_;
  const GenerationRequest& request_;
  const GenerationConfig& config_;
  Laps laps_;
  StopTexts stops_;
  Utf8Stream characters_;
  std::vector<std::int32_t> prompt_;
  std::uint64_t limit_ = 0;
  bool refused_ = false;  // the callback wants no more
  GeneratorHandle generator_;
  TokenStreamHandle stream_;
  TimedGeneration done_;
};

}  // namespace

bool is_windowed_pipeline(const Bundle& bundle) {
  return bundle.model_type == kPipelineType && bundle.sliding_window;
}

Result<void> check_text(std::string_view text, const std::string& what) {
  if (!util::is_utf8(text)) return fail(ErrorCode::bad_input, what + " is not UTF-8", {}, "convert it: iconv -t UTF-8");
  if (text.find('\0') == std::string_view::npos) return {};
  return fail(ErrorCode::bad_input, what + " has a NUL inside", {}, "give text without it");
}

Result<void> check_config(const GenerationConfig& config) {
  const auto positive = [](double value) { return std::isfinite(value) && value > 0; };
  for (const std::string& stop : config.stop) {
    if (stop.empty()) return refuse("a stop text", "is empty");
    PRECAST_TRY(check_text(stop, "a stop text"));
  }
  constexpr std::uint32_t kMost = std::numeric_limits<std::int32_t>::max();  // genai's own numbers are 32-bit
  if (config.seed.value_or(0) > kMost) return refuse("seed", "must be at most 2147483647");
  if (config.top_k > kMost) return refuse("top_k", "must be at most 2147483647");
  if (config.max_new_tokens == 0) return refuse("max_new_tokens", "must be at least 1");
  if (config.min_new_tokens > config.max_new_tokens) return refuse("min_new_tokens", "is more than max_new_tokens");
  if (!positive(config.temperature)) return refuse("temperature", "must be more than 0");
  if (!positive(config.top_p) || config.top_p > 1) return refuse("top_p", "must be more than 0 and at most 1");
  if (!positive(config.repetition_penalty)) return refuse("repetition_penalty", "must be more than 0");
  return {};
}

std::uint64_t max_length_of(const std::string& model_type, std::uint64_t prompt_tokens, std::uint64_t max_new_tokens,
                            std::uint64_t context_length) {
  if (model_type == kPipelineType) return context_length;
  return std::min(prompt_tokens + max_new_tokens, context_length);
}

Result<std::string> apply_template(const LoadedModel& loaded, const std::vector<ChatMessage>& messages,
                                   bool add_generation_prompt) {
  for (const ChatMessage& message : messages) {
    PRECAST_TRY(check_text(message.role, "a message's role"));
    PRECAST_TRY(check_text(message.content, "a message"));
  }
  nlohmann::json json = nlohmann::json::array();
  for (const ChatMessage& message : messages) json.push_back({{"role", message.role}, {"content", message.content}});
  const std::string text = json.dump();
  auto applied = loaded.native.apply_chat_template(loaded.tokenizer, loaded.chat_template, text, add_generation_prompt);
  if (!applied) {
    applied.error().hint = "give a prompt that is formatted already (--no-apply-template)";
    applied.error().path = loaded.bundle.folder;
  }
  return applied;
}

Result<TimedGeneration> generate(const LoadedModel& loaded, const GenerationRequest& request) {
  return Generating(loaded, request).run();
}

}  // namespace precast::genai
