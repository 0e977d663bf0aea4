#include "cli/generation_options.hpp"

#include <charconv>
#include <cmath>
#include <limits>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "fs/file_system.hpp"
#include "genai/generate.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::cli {

namespace {

constexpr std::uint64_t kLongestPrompt = std::uint64_t{16} << 20U;
constexpr const char* kSampling = "Sampling (any of them but --repetition-penalty means --do-sample)";

// More than zero; not infinite, and a number.
bool is_positive(const std::string& text, double at_most = std::numeric_limits<double>::max()) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end && number > 0 && number <= at_most;
}

std::string above_zero(const std::string& value) {
  return is_positive(value) ? "" : "it must be a number above 0, not " + util::quoted(value);
}

std::string share(const std::string& value) {
  return is_positive(value, 1) ? "" : "it must be a number above 0 and at most 1, not " + util::quoted(value);
}

nlohmann::json rounded(const std::optional<double>& ms) {
  if (!ms || !std::isfinite(*ms)) return nullptr;
  return std::round(*ms * 1000) / 1000;
}

}  // namespace

void add_generation_options(CLI::App& command, GenerationOptions& options) {
  GenerationConfig& config = options.config;
  const auto limit = CLI::Range(std::uint32_t{1}, std::uint32_t{1} << 30U);
  command.add_option("--max-new-tokens", config.max_new_tokens, "At most so many tokens")
      ->check(limit)
      ->capture_default_str();
  command.add_option("--min-new-tokens", config.min_new_tokens, "The answer does not end before");
  command.add_flag("--ignore-eos", config.ignore_eos, "Nor before --max-new-tokens");
  command.add_option("--stop", config.stop, "A text that ends the answer; may be repeated")
      ->allow_extra_args(false)
      ->type_name("TEXT");
  command.add_flag("--do-sample", config.do_sample, "Draw tokens instead of taking the likeliest")->group(kSampling);
  command.add_option("--temperature", config.temperature, "More than 0; the less, the likelier the tokens")
      ->check(above_zero)
      ->capture_default_str()
      ->group(kSampling);
  command.add_option("--top-p", config.top_p, "More than 0 and at most 1: tokens until they are so likely together")
      ->check(share)
      ->capture_default_str()
      ->group(kSampling);
  command.add_option("--top-k", config.top_k, "0: all tokens")->capture_default_str()->group(kSampling);
  command.add_option("--seed", options.seed, "The same seed draws the same tokens")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{0x7FFFFFFF}))
      ->group(kSampling);
  command.add_option("--repetition-penalty", config.repetition_penalty, "More than 0; above 1 avoids what was said")
      ->check(above_zero)
      ->capture_default_str()
      ->group(kSampling);
}

GenerationConfig make_generation_config(const CLI::App& command, const GenerationOptions& options) {
  GenerationConfig config = options.config;
  for (const char* name : {"--temperature", "--top-p", "--top-k", "--seed"}) {
    if (command.count(name) > 0) config.do_sample = true;
  }
  if (options.seed >= 0) config.seed = static_cast<std::uint32_t>(options.seed);
  return config;
}

Result<void> check_texts(const GenerationConfig& config, const std::string& system) {
  PRECAST_TRY(genai::check_text(system, "--system"));
  for (const std::string& stop : config.stop) PRECAST_TRY(genai::check_text(stop, "--stop"));
  return genai::check_config(config);
}

void add_prompt_options(CLI::App& command, PromptOptions& options) {
  auto* prompt = command.add_option("-p,--prompt", options.prompt, "What is asked")->type_name("TEXT");
  command.add_option("--prompt-file", options.prompt_file, "A UTF-8 file with it")->type_name("FILE")->excludes(prompt);
  command.add_option("--system", options.system, "A system message before it")->type_name("TEXT");
  command.add_flag("--no-apply-template", options.no_apply_template, "The prompt is formatted already")
      ->excludes("--system");
}

Result<std::string> read_prompt(const PromptOptions& options, const std::string& otherwise) {
  std::string text = options.prompt.empty() ? otherwise : options.prompt;
  if (!options.prompt_file.empty()) {
    auto read = fs::read_small_file(fs::FileSystem::posix(), options.prompt_file, kLongestPrompt);
    if (!read) {
      return fail(read.error().code, "--prompt-file: " + read.error().message, options.prompt_file,
                  "name a UTF-8 text file");
    }
    text = *std::move(read);
  }
  const std::string from =
      options.prompt_file.empty() ? "--prompt" : "--prompt-file " + util::quoted(options.prompt_file);
  if (auto checked = genai::check_text(text, from); !checked) {
    checked.error().path = options.prompt_file;
    return std::unexpected(std::move(checked).error());
  }
  if (text.empty()) {
    return fail(ErrorCode::bad_input, "there is no prompt", options.prompt_file, "give -p TEXT or --prompt-file FILE");
  }
  return text;
}

Prompt make_prompt(const PromptOptions& options, const std::string& text) {
  Prompt prompt;
  if (options.no_apply_template) {
    prompt.text = text;
    return prompt;
  }
  if (!options.system.empty()) prompt.messages.push_back({"system", options.system});
  prompt.messages.push_back({"user", text});
  return prompt;
}

nlohmann::json to_json(const GenerationTiming& timing) {
  nlohmann::json later = nlohmann::json::array();
  for (const double ms : timing.decode_token_ms) later.push_back(rounded(ms));
  return {{"template", rounded(timing.template_ms)},
          {"tokenization", rounded(timing.tokenization_ms)},
          {"generator_create", rounded(timing.generator_create_ms)},
          {"prefill", rounded(timing.prefill_ms)},
          {"first_token", rounded(timing.first_token_ms)},
          {"decode_tokens", later},
          {"sequence_fetch", rounded(timing.sequence_fetch_ms)},
          {"detokenization", rounded(timing.detokenization_ms)}};
}

std::string statistics(const Generation& generation, const GenerationTiming& timing) {
  std::string text =
      fmt::format("{} tokens after a prompt of {} ({}), the first after {:.1f} ms", generation.token_ids.size(),
                  generation.prompt_tokens, to_string(generation.finish_reason), timing.ttft_ms());
  if (const auto rate = timing.decode_tokens_per_second()) text += fmt::format(", then {:.2f} tokens/s", *rate);
  return text;
}

}  // namespace precast::cli
