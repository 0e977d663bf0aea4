// The options of `perf`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/report_file.hpp"
#include "cli/bundle_options.hpp"
#include "cli/generation_options.hpp"

namespace precast::cli {

struct PerfOptions {
  BundleOptions bundle;
  std::string runtime = "auto";
  std::uint64_t iterations = 10;
  std::uint64_t warmup = 2;
  std::uint32_t max_new_tokens = 128;
  bool ignore_eos = false;
  PromptOptions prompt;
  std::uint64_t prompt_tokens = 0;  // 0 = a text
  std::string output;
  std::string format;  // empty: text on stdout
  bool overwrite = false;
  bool memory = true;
  bool monitor = true;
  std::string input_data;
  std::vector<std::string> unused;   // values of the options below
  std::vector<std::string> ignored;  // that were given, and mean nothing to a bundle
};

void add_perf_options(CLI::App& command, PerfOptions& options);
[[nodiscard]] std::vector<std::string> ignored_options(const CLI::App& command);

enum class PerfRuntime : std::uint8_t { ort, genai };
// auto: a folder that holds genai_config.json means genai. bad_input: --input-data or a plain .onnx for genai, a folder
// without the configuration, a runtime that there is not.
[[nodiscard]] Result<PerfRuntime> runtime_of(const PerfOptions& options);
// Of the report's file: -f, else the name's ending, else JSON.
[[nodiscard]] Result<bench::ReportFormat> file_format(const PerfOptions& options);

}  // namespace precast::cli
