// What a model is asked, and how: the options that generate and chat share.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "precast/error.hpp"
#include "precast/generation.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace precast::cli {

struct GenerationOptions {
  GenerationConfig config;
  std::int64_t seed = -1;  // -1 = not given
};
void add_generation_options(CLI::App& command, GenerationOptions& options);
// Sampling options imply sampling.
[[nodiscard]] GenerationConfig make_generation_config(const CLI::App& command, const GenerationOptions& options);

// bad_input naming the option: a system message or stop text that is not UTF-8, or what genai::check_config refuses.
[[nodiscard]] Result<void> check_texts(const GenerationConfig& config, const std::string& system);

struct PromptOptions {
  std::string prompt;
  std::string prompt_file;
  std::string system;
  bool no_apply_template = false;
};
void add_prompt_options(CLI::App& command, PromptOptions& options);
// not_found, bad_input (not UTF-8, empty) naming the file or option.
[[nodiscard]] Result<std::string> read_prompt(const PromptOptions& options, const std::string& otherwise = {});
[[nodiscard]] Prompt make_prompt(const PromptOptions& options, const std::string& text);

[[nodiscard]] nlohmann::json to_json(const GenerationTiming& timing);
// "12 tokens in 0.8 s, first after 120 ms, then 18.2 tokens/s"
[[nodiscard]] std::string statistics(const Generation& generation, const GenerationTiming& timing);

}  // namespace precast::cli
