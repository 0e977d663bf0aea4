// The options of `perf`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/report_file.hpp"
#include "cli/bundle_options.hpp"
#include "cli/compile_options.hpp"
#include "cli/generation_options.hpp"
#include "cli/input_options.hpp"

namespace precast::cli {

struct PerfOptions {
  BundleOptions bundle;  // what bundles and models share, and what bundles have alone; bundle.bundle is either's path
  CompileOptions model;  // what models have alone (add_model_options)
  InputOptions input;
  std::string runtime = "auto";
  std::optional<std::uint64_t> iterations;  // not given: by the runtime
  std::optional<std::uint64_t> warmup;
  std::uint32_t max_new_tokens = 128;
  bool ignore_eos = false;
  PromptOptions prompt;
  std::uint64_t prompt_tokens = 0;  // 0 = a text
  std::string duration;
  std::uint64_t concurrency = 1;
  std::vector<std::string> compare_eps;
  std::vector<std::string> compare_devices;
  bool io_binding = true;
  bool raw = true;
  bool check = false;
  bool op_tracing = false;
  std::uint64_t top_k = 5;
  std::string output;
  std::string html;
  std::string format;  // empty: text on stdout
  bool overwrite = false;
  bool memory = true;
  bool monitor = true;
  // What was given on the command line.
  bool ep_given = false;
  bool device_given = false;
  bool compile_timeout_given = false;
  std::vector<std::string> not_for_bundles;  // and means nothing to a bundle
  std::vector<std::string> not_for_models;   // and means nothing to a model
};

void add_perf_options(CLI::App& command, PerfOptions& options);
// Once the command line is parsed: the members that say what was given.
void note_given(const CLI::App& command, PerfOptions& options);

enum class PerfRuntime : std::uint8_t { ort, genai };
// auto: a folder that holds genai_config.json means genai. bad_input: --input-data or a plain .onnx for genai, a folder
// without the configuration, a folder for ort.
[[nodiscard]] Result<PerfRuntime> runtime_of(const PerfOptions& options);

}  // namespace precast::cli
