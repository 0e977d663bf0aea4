#include "cli/perf_options.hpp"

#include <CLI/CLI.hpp>

#include "util/text.hpp"

namespace precast::cli {

namespace {

constexpr const char* kModels = "Of single models, not of bundles";
constexpr const char* kIgnored[] = {"--shape-config", "--dim",        "--value-range",     "--ep-options",
                                    "--batch-size",   "--duration",   "--session-options", "--seed",
                                    "--concurrency",  "--compare-ep", "--compare-devices", "--op-tracing",
                                    "--check"};
constexpr const char* kIgnoredFlags[] = {"--op-tracing", "--check"};

bool is_flag(std::string_view name) {
  return std::ranges::find(kIgnoredFlags, name) != std::end(kIgnoredFlags);
}

}  // namespace

void add_perf_options(CLI::App& command, PerfOptions& options) {
  add_bundle_options(command, options.bundle);
  CLI::Option* const bundle = command.get_option("BUNDLE");
  bundle->required(false);
  command.add_option("-m,--model", options.bundle.bundle, "The same as BUNDLE")->type_name("DIR")->excludes(bundle);
  command.add_option("--runtime", options.runtime, "auto, ort or genai (also: winml, winml-genai)")
      ->check(CLI::IsMember({"auto", "ort", "genai", "winml", "winml-genai"}, CLI::ignore_case))
      ->capture_default_str();
  const auto count = CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000});
  command.add_option("--iterations", options.iterations, "Requests that count")->check(count)->capture_default_str();
  command.add_option("--warmup", options.warmup, "Requests before them that do not")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1'000'000}))
      ->capture_default_str();
  command.add_option("--max-new-tokens", options.max_new_tokens, "At most so many tokens a request")
      ->check(CLI::Range(std::uint32_t{1}, std::uint32_t{1} << 30U))
      ->capture_default_str();
  command.add_flag("--ignore-eos", options.ignore_eos, "And never fewer");
  add_prompt_options(command, options.prompt);
  command.add_option("--prompt-tokens", options.prompt_tokens, "A made-up prompt of exactly so many tokens")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 24U))
      ->excludes("--prompt", "--prompt-file", "--system");
  command
      .add_option("-o,--output", options.output,
                  "The report's file, in the format of -f, else of its ending, else JSON (default: a new JSON file)")
      ->type_name("FILE");
  command.add_flag("--overwrite", options.overwrite, "Replace it if it is there");
  command.add_option("-f,--format", options.format, "Of the report on stdout (default: text) and in -o's file")
      ->check(CLI::IsMember({"text", "json", "md", "csv"}, CLI::ignore_case));
  command.add_flag("--memory,!--no-memory", options.memory, "Memory at the start, when loaded, at the end (default)");
  command.add_flag("--monitor,!--no-monitor", options.monitor, "Watch processors and accelerators (default)");
  command.add_option("--input-data", options.input_data, "")->group(kModels);
  for (const char* name : kIgnored) {
    if (is_flag(name)) {
      command.add_flag(name)->group(kModels);
    } else {
      command.add_option(name, options.unused)->allow_extra_args(false)->group(kModels);
    }
  }
}

std::vector<std::string> ignored_options(const CLI::App& command) {
  std::vector<std::string> given;
  for (const char* name : kIgnored) {
    if (command.count(name) > 0) given.emplace_back(name);
  }
  return given;
}

Result<PerfRuntime> runtime_of(const PerfOptions& options) {
  const std::string& path = options.bundle.bundle;
  if (path.empty()) {
    return fail(ErrorCode::bad_input, "there is nothing to measure", {}, "name a bundle: precast perf BUNDLE");
  }
  std::error_code ignored;  // what cannot be looked at is not there
  const bool folder = std::filesystem::is_directory(path, ignored);
  const bool config = std::filesystem::path(path).filename() == genai::kConfigName ||
                      std::filesystem::exists(std::filesystem::path(path) / genai::kConfigName, ignored);
  const std::string runtime = util::ascii_lower(options.runtime);
  if (runtime == "ort" || runtime == "winml") return PerfRuntime::ort;
  if (runtime == "auto" && !folder && !config) return PerfRuntime::ort;
  if (!config) {
    return fail(ErrorCode::bad_input,
                util::quoted(path) + (folder ? " has no genai_config.json: it is no bundle" : " is no bundle"), path,
                "give a folder with genai_config.json");
  }
  if (!options.input_data.empty()) {
    return fail(ErrorCode::bad_input, "--input-data is for models: a bundle gets a prompt", options.input_data,
                "give --prompt, --prompt-file or --prompt-tokens");
  }
  return PerfRuntime::genai;
}

Result<bench::ReportFormat> file_format(const PerfOptions& options) {
  if (options.output.empty()) return bench::ReportFormat::json;
  if (!options.format.empty()) return bench::parse_report_format(util::ascii_lower(options.format));
  const std::string ending = util::ascii_lower(std::filesystem::path(options.output).extension().native());
  if (ending == ".md") return bench::ReportFormat::md;
  if (ending == ".csv") return bench::ReportFormat::csv;
  if (ending == ".txt") return bench::ReportFormat::text;
  return bench::ReportFormat::json;
}

}  // namespace precast::cli
