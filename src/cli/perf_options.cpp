#include "cli/perf_options.hpp"

#include <CLI/CLI.hpp>

#include "cli/bundle_path.hpp"
#include "util/text.hpp"

namespace precast::cli {

namespace {

constexpr const char* kModels = "Of single models, not of bundles";
constexpr const char* kBundles = "Of bundles, not of single models";
constexpr const char* kModelOptions[] = {"--shape-config",
                                         "--dim",
                                         "--value-range",
                                         "--batch-size",
                                         "--seed",
                                         "--ep-options",
                                         "--session-options",
                                         "--ep-option-file",
                                         "--worker-env",
                                         "--free-dimension",
                                         "--validate",
                                         "--optimization-level",
                                         "--duration",
                                         "--concurrency",
                                         "--compare-ep",
                                         "--compare-devices",
                                         "--io-binding",
                                         "--raw",
                                         "--check",
                                         "--op-tracing",
                                         "--top-k"};
constexpr const char* kBundleOptions[] = {"--max-new-tokens", "--ignore-eos",     "--prompt",
                                          "--prompt-file",    "--system",         "--no-apply-template",
                                          "--prompt-tokens",  "--context-length", "--jobs"};
constexpr std::uint64_t kMostIterations = 1'000'000;
constexpr std::uint64_t kMostCallers = 1024;

void add_run_options(CLI::App& command, PerfOptions& options) {
  command.add_option("--runtime", options.runtime, "auto, ort or genai (also: winml, winml-genai)")
      ->check(CLI::IsMember({"auto", "ort", "genai", "winml", "winml-genai"}, CLI::ignore_case))
      ->capture_default_str();
  command.add_option("--iterations", options.iterations, "Runs that count (default: 100; of a bundle 10 requests)")
      ->check(CLI::Range(std::uint64_t{1}, kMostIterations));
  command
      .add_option("--warmup", options.warmup,
                  "Runs before them that do not (default: 10, of each caller; of a bundle 2 requests)")
      ->check(CLI::Range(std::uint64_t{0}, kMostIterations));
}

void add_report_options(CLI::App& command, PerfOptions& options) {
  command
      .add_option("-o,--output", options.output,
                  "The report's file, in the format of -f, else of its ending, else JSON (default: a new JSON file)")
      ->type_name("FILE");
  command.add_option("--html", options.html, "The report as a page with charts, too: one file that needs no network")
      ->type_name("FILE");
  command.add_flag("--overwrite", options.overwrite, "Replace these files if they are there");
  command.add_option("-f,--format", options.format, "Of the report on stdout (default: text) and in -o's file")
      ->check(CLI::IsMember({"text", "json", "md", "csv"}, CLI::ignore_case));
  command.add_flag("--memory,!--no-memory", options.memory,
                   "Memory at the start, when loaded, at the end, and the peaks between (default)");
  command.add_flag("--monitor,!--no-monitor", options.monitor, "Watch processors and accelerators (default)");
}

void add_model_run_options(CLI::App& command, PerfOptions& options) {
  add_input_options(command, options.input);
  add_model_options(command, options.model);
  for (const char* name : {"--validate", "--optimization-level", "--worker-env"}) {
    command.get_option(name)->needs("--compile");
  }
  command
      .add_option("--duration", options.duration,
                  "Run for so long instead of a number of times; with --iterations whichever ends first")
      ->type_name("TIME");
  auto* concurrency =
      command.add_option("--concurrency", options.concurrency, "Callers that run it at the same time, on one session")
          ->check(CLI::Range(std::uint64_t{1}, kMostCallers))
          ->capture_default_str();
  auto* eps = command
                  .add_option("--compare-ep", options.compare_eps,
                              "Measure these EPs round by round beside each other (and --ep's, first of all)")
                  ->delimiter(',')
                  ->allow_extra_args(false)
                  ->type_name("NAME,NAME")
                  ->excludes(concurrency);
  command
      .add_option("--compare-devices", options.compare_devices,
                  "Measure these device classes of --ep beside each other (and --device's, first of all)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"cpu", "gpu", "npu"}, CLI::ignore_case))
      ->type_name("CLASS,CLASS")
      ->excludes(concurrency)
      ->excludes(eps);
  command.add_flag("--io-binding,!--no-io-binding", options.io_binding,
                   "Inputs and outputs bound once (default); without, each run call copies them");
  command.add_flag("--raw,!--no-raw", options.raw, "Every sample in the JSON report (default)");
  command.add_flag("--check", options.check,
                   "Compare every output with ORT's CPU EP on the source, and with output_0.pb, ... beside the "
                   "inputs; exit 1 if it differs");
  auto* tracing = command.add_flag("--op-tracing", options.op_tracing,
                                   "Then run it a few times with ORT's profiling on: the operators that take longest");
  command.add_option("--top-k", options.top_k, "So many of them")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000}))
      ->needs(tracing)
      ->capture_default_str();
}

void add_request_options(CLI::App& command, PerfOptions& options) {
  command.add_option("--max-new-tokens", options.max_new_tokens, "At most so many tokens a request")
      ->check(CLI::Range(std::uint32_t{1}, std::uint32_t{1} << 30U))
      ->capture_default_str();
  command.add_flag("--ignore-eos", options.ignore_eos, "And never fewer");
  add_prompt_options(command, options.prompt);
  command.add_option("--prompt-tokens", options.prompt_tokens, "A made-up prompt of exactly so many tokens")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 24U))
      ->excludes("--prompt", "--prompt-file", "--system");
}

template <std::size_t N>
std::vector<std::string> given_of(const CLI::App& command, const char* const (&names)[N]) {
  std::vector<std::string> given;
  for (const char* const name : names) {
    if (command.count(name) > 0) given.emplace_back(name);
  }
  return given;
}

}  // namespace

void add_perf_options(CLI::App& command, PerfOptions& options) {
  CLI::Option* const path =
      command.add_option("MODEL", options.bundle.bundle, "ONNX model, or a folder with genai_config.json")
          ->type_name("FILE|DIR");
  command.add_option("-m,--model", options.bundle.bundle, "The same")->type_name("FILE|DIR")->excludes(path);
  add_bundle_load_options(command, options.bundle);
  command.get_option("--ep")->description("Execution provider: " + ort::known_ep_aliases() +
                                          "; NAME@SOURCE pins the source (default: the best that is here; of a bundle "
                                          "the one that its stages name)");
  command.get_option("--device")->description("Device class (default: auto; of a bundle config, its own routing)");
  command.get_option("--device")->default_str("");
  command.get_option("--compile")
      ->description("Compile it, or a bundle's stages that name an EP, through the cache (default: open it as it is)");
  command.get_option("--compile-timeout")
      ->description("End a compile after this time (default: 30m; of a bundle's stage 300s)");
  command.get_option("--compile-timeout")->default_str("");
  command.get_option("--embed")->description("Context binaries inside the compiled models instead of beside them");
  command.get_option("--rebuild")->description("Compile again");
  add_run_options(command, options);
  add_request_options(command, options);
  add_model_run_options(command, options);
  add_report_options(command, options);
  for (const char* const name : kModelOptions) command.get_option(name)->group(kModels);
  command.get_option("--input-data")->group(kModels);
  for (const char* const name : kBundleOptions) command.get_option(name)->group(kBundles);
}

void note_given(const CLI::App& command, PerfOptions& options) {
  options.ep_given = command.count("--ep") > 0;
  options.device_given = command.count("--device") > 0;
  options.compile_timeout_given = command.count("--compile-timeout") > 0;
  options.not_for_bundles = given_of(command, kModelOptions);
  options.not_for_models = given_of(command, kBundleOptions);
}

Result<PerfRuntime> runtime_of(const PerfOptions& options) {
  const std::string& path = options.bundle.bundle;
  if (path.empty()) {
    return fail(ErrorCode::bad_input, "there is nothing to measure", {},
                "name a model or a bundle: precast perf model.onnx");
  }
  std::error_code ignored;  // what cannot be looked at is not there
  const bool folder = std::filesystem::is_directory(path, ignored);
  const bool bundle = is_bundle(path);
  const std::string runtime = util::ascii_lower(options.runtime);
  if (runtime == "ort" || runtime == "winml") {
    if (!folder) return PerfRuntime::ort;
    return fail(ErrorCode::bad_input, util::quoted(path) + " is a folder, not a model", path,
                bundle ? "leave --runtime out, or name one of its .onnx files" : "name an .onnx file");
  }
  if (runtime == "auto" && !folder && !bundle) return PerfRuntime::ort;
  if (!bundle) {
    return fail(ErrorCode::bad_input,
                util::quoted(path) + (folder ? " has no genai_config.json: it is no bundle" : " is no bundle"), path,
                "give a folder with genai_config.json, or an .onnx file");
  }
  if (!options.input.data.empty()) {
    return fail(ErrorCode::bad_input, "--input-data is for models: a bundle gets a prompt", options.input.data,
                "give --prompt, --prompt-file or --prompt-tokens");
  }
  return PerfRuntime::genai;
}

}  // namespace precast::cli
