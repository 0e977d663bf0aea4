#include "cli/compile_options.hpp"

#include <charconv>

#include <CLI/CLI.hpp>

#include "identity/links.hpp"
#include "util/text.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::cli {

void add_model_options(CLI::App& command, CompileOptions& options) {
  command.add_option("--ep-options", options.ep_options, "Option for the EP; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  command.add_option("--session-options", options.session_options, "ORT session configuration entry; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  command.add_option("--ep-option-file", options.ep_option_files, "This EP option names a file whose bytes matter")
      ->allow_extra_args(false)
      ->type_name("KEY");
  command.add_option("--worker-env", options.worker_env, "A variable that the compiling process gets and that matters")
      ->allow_extra_args(false)
      ->type_name("NAME");
  command
      .add_option("--free-dimension", options.free_dimensions,
                  "Fix the size of a symbolic dimension for the compile (QNN wants fixed shapes); may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME=N");
  command.add_flag("--validate", options.validate,
                   "Run it once beside the source on the CPU; what computes something else is not used");
  command
      .add_option("--optimization-level", options.optimization_level,
                  "ORT graph optimization before the compile: disable (default), basic, extended, all")
      ->type_name("LEVEL");
}

void add_compile_options(CLI::App& command, CompileOptions& options) {
  command
      .add_option("--ep", options.ep,
                  "Execution provider: " + ort::known_ep_aliases() + "; NAME@SOURCE pins the source")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("-d,--device", options.device, "Device class")
      ->check(CLI::IsMember({"auto", "cpu", "gpu", "npu"}, CLI::ignore_case))
      ->capture_default_str();
  add_model_options(command, options);
  command.add_flag("--embed", options.embed, "Context binary inside the model file instead of beside it");
  command.add_option("--compile-timeout", options.compile_timeout, "End the compile after this time")
      ->type_name("TIME")
      ->capture_default_str();
  command
      .add_option("--lock-timeout", options.lock_timeout,
                  "Wait at most this long for another's compile (default: until it ends)")
      ->type_name("TIME");
  auto* rebuild = command.add_flag("--rebuild", options.rebuild, "Compile again and replace the stored entry");
  command.add_flag("--no-cache", options.no_cache, "Neither read nor write the store")->excludes(rebuild);
  command.add_flag("--retry-failed", options.retry_failed, "Try again although an earlier compile failed");
}

namespace {

Result<std::map<std::string, std::string>> parse_map(const std::vector<std::string>& pairs, const std::string& option) {
  std::map<std::string, std::string> map;
  for (const std::string& text : pairs) {
    PRECAST_TRY_ASSIGN(auto pair, parse_pair(text, option));
    map[pair.first] = std::move(pair.second);
  }
  return map;
}

Result<std::map<std::string, std::int64_t>> parse_sizes(const std::vector<std::string>& pairs,
                                                        const std::string& option) {
  PRECAST_TRY_ASSIGN(const auto texts, parse_map(pairs, option));
  std::map<std::string, std::int64_t> sizes;
  for (const auto& [name, text] : texts) {
    std::int64_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || end != text.data() + text.size() || size <= 0) {
      return fail(ErrorCode::bad_input, option + " " + util::quoted(name + "=" + text) + " is no size", {},
                  "write NAME=N with a positive N");
    }
    sizes[name] = size;
  }
  return sizes;
}

Result<std::chrono::milliseconds> parse_time(const std::string& text, const std::string& option) {
  auto time = util::parse_duration(text);
  if (time) return time;
  return fail(ErrorCode::bad_input, option + " '" + text + "' is not a time", {},
              "write for example 90, 90s, 5m or 1h");
}

}  // namespace

Result<compile::Request> make_request(const CompileOptions& options, const GlobalOptions& globals) {
  compile::Request request;
  request.target.ep = options.ep;
  request.target.device = ort::parse_device_class(options.device);
  PRECAST_TRY_ASSIGN(request.target.provider_options, parse_map(options.ep_options, "--ep-options"));
  PRECAST_TRY_ASSIGN(request.session.config_entries, parse_map(options.session_options, "--session-options"));
  PRECAST_TRY_ASSIGN(request.session.free_dimensions, parse_sizes(options.free_dimensions, "--free-dimension"));
  if (!options.optimization_level.empty()) {
    PRECAST_TRY_ASSIGN(request.session.optimization_level, ort::parse_optimization_level(options.optimization_level));
  }
  request.embed = options.embed;
  request.validate = options.validate;
  request.strict_options = globals.strict_options;
  request.extra_file_options = options.ep_option_files;
  for (const std::string& file : globals.ep_extra_files) {
    const auto path = identity::logical_absolute(file);
    std::error_code ignored;  // whatever it is, the file is not there
    if (!std::filesystem::is_regular_file(path, ignored)) {
      return fail(ErrorCode::not_found, "--ep-extra-file '" + util::escape_invalid_utf8(file) + "' is not a file", path,
                  "name a file that belongs to the EP");
    }
    request.extra_files.push_back(path);
  }
  for (const std::string& name : options.worker_env) {
    if (!name.empty() && name.find('=') == std::string::npos) continue;
    return fail(ErrorCode::bad_input, "--worker-env '" + name + "' is not the name of a variable", {},
                "set the variable in precast's own environment and name it with --worker-env NAME");
  }
  request.worker_environment = options.worker_env;
  request.rebuild = options.rebuild;
  request.no_cache = options.no_cache;
  request.retry_failed = options.retry_failed;
  PRECAST_TRY_ASSIGN(request.compile_timeout, parse_time(options.compile_timeout, "--compile-timeout"));
  if (!options.lock_timeout.empty()) {
    PRECAST_TRY_ASSIGN(request.lock_timeout, parse_time(options.lock_timeout, "--lock-timeout"));
  }
  PRECAST_TRY_ASSIGN(const auto after, parse_time(globals.retry_failed_after, "--retry-failed-after"));
  request.retry_failed_after = std::chrono::duration_cast<std::chrono::seconds>(after);
  return request;
}

}  // namespace precast::cli
