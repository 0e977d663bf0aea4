#include "cli/globals.hpp"

#include <cstdlib>

#include <CLI/CLI.hpp>

namespace precast::cli {

void add_global_options(CLI::App& app, GlobalOptions& options) {
  const std::string group = "Global options";
  app.add_option("--cache-dir", options.cache_dir, "The store's folder (default: $XDG_CACHE_HOME/precast)")
      ->envname("PRECAST_CACHE_DIR")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--ort-library", options.ort_library, "The ONNX Runtime library to load")
      ->envname("PRECAST_ORT_LIBRARY")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--genai-library", options.genai_library, "The onnxruntime-genai library to load")
      ->envname("PRECAST_GENAI_LIBRARY")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--ep-library", options.ep_libraries, "An EP plugin library under a name; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME=FILE")
      ->group(group);
  app.add_option("--ep-extra-file", options.ep_extra_files, "A further file that belongs to the EP's identity")
      ->allow_extra_args(false)
      ->type_name("FILE")
      ->group(group);
  app.add_flag("--json", options.json, "One JSON object on stdout, and nothing else there")->group(group);
  app.add_flag("-q,--quiet", options.quiet, "Only warnings and errors on stderr")->group(group);
  app.add_flag("-v,--verbose", options.verbosity, "Say more; may be repeated")->group(group);
  app.add_flag("--no-color", options.no_color, "No colours (also: NO_COLOR)")->group(group);
  app.add_flag("--strict", options.strict, "A cache that cannot work, or a source model as the answer, is an error")
      ->envname("PRECAST_STRICT")
      ->group(group);
  app.add_flag("--strict-options", options.strict_options, "Run-time-only EP options are part of the identity too")
      ->group(group);
  app.add_option("--verify", options.verify,
                 "auto: trust the kernel's time stamps; always: hash everything, every time")
      ->check(CLI::IsMember({"auto", "always"}))
      ->envname("PRECAST_VERIFY")
      ->capture_default_str()
      ->group(group);
  app.add_flag("--allow-network-store", options.allow_network_store, "Accept a store on a network or FUSE file system")
      ->group(group);
  app.add_flag("--allow-telemetry", options.allow_telemetry, "Do not set ORT_DISABLE_TELEMETRY")->group(group);
  app.add_option("--keep", options.keep,
                 "Generations kept per model, EP and device class; those used in the last day stay anyway")
      ->check(CLI::Range(1U, 1000U))
      ->envname("PRECAST_KEEP")
      ->capture_default_str()
      ->group(group);
  app.add_option("--retry-failed-after", options.retry_failed_after, "How long a failed compile is remembered")
      ->envname("PRECAST_RETRY_FAILED_AFTER")
      ->type_name("TIME")
      ->capture_default_str()
      ->group(group);
}

EnvironmentOptions::EnvironmentOptions(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string name = option->get_envname();
    const char* const value = name.empty() ? nullptr : std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') continue;
    hidden_.push_back({option, name, value});
    ::unsetenv(name.c_str());
  }
}

EnvironmentOptions::~EnvironmentOptions() {
  for (const Hidden& one : hidden_) ::setenv(one.name.c_str(), one.value.c_str(), 1);
}

// The other seam to CLI11's exceptions.
Result<void> EnvironmentOptions::apply() {
  for (const Hidden& one : hidden_) {
    if (one.option->count() != 0) continue;
    try {
      one.option->add_result(one.value);
      one.option->run_callback();
    } catch (const CLI::Error&) {
      return fail(ErrorCode::bad_input, one.name + "='" + one.value + "' is not a value for " + one.option->get_name(),
                  {},
                  "correct the variable or unset it; precast --help shows what " + one.option->get_name() + " takes");
    }
  }
  return {};
}

Result<std::pair<std::string, std::string>> parse_pair(const std::string& text, const std::string& option) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return fail(ErrorCode::bad_input, option + " '" + text + "' is not of the form NAME=VALUE", {},
                "write " + option + " NAME=VALUE");
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

}  // namespace precast::cli
