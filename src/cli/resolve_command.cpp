// precast resolve MODEL
#include <CLI/CLI.hpp>

#include "cli/become.hpp"
#include "cli/bundle_path.hpp"
#include "cli/command.hpp"
#include "cli/compile_options.hpp"
#include "cli/exit_code.hpp"
#include "cli/progress.hpp"
#include "cli/result_json.hpp"
#include "identity/links.hpp"
#include "session/prepared_session.hpp"
#include "util/text.hpp"

namespace precast::cli {

namespace {

struct Options {
  std::string model;
  CompileOptions compile;
  bool require_compiled = false;
  bool open = false;
  bool exec = false;
  std::vector<std::string> command;
};

int answer(Context& context, const compile::Resolution& resolution, CommandTimings timings) {
  timings.startup = context.runtime_load_ms();
  timings.total = context.elapsed_ms();
  if (!context.output.json) {
    context.output.machine(resolution.path.native() + "\n");
    return kDone;
  }
  nlohmann::json json = document("resolve");
  json.update(to_json(resolution, timings));
  context.output.machine_json(json);
  return kDone;
}

int refuse(Context& context, const compile::Resolution& resolution) {
  const Error error =
      resolution.error.value_or(Error{ErrorCode::compile_failed, resolution.reason, resolution.path, {}});
  if (context.output.json) {
    nlohmann::json json = document("resolve");
    json.update(to_json(resolution, {.startup = context.runtime_load_ms(), .total = context.elapsed_ms()}));
    json["error"] = to_json(error);
    context.output.machine_json(json);
  }
  context.output.error(error);
  return exit_code_of(resolution, context.options.strict);
}

// For --open. What becomes of a stored model that ORT refuses is said.
Result<session::PreparedSession> open_session(Context& context, compile::Resolver& resolver,
                                              const compile::Request& request, compile::Resolution resolution) {
  const std::string generation = resolution.generation;
  const std::string ep = resolution.target.ep.found.name;
  ProgressReporter progress(context.output, util::quoted(request.model));
  progress.update({.stage = compile::Stage::opening, .estimate_seconds = std::nullopt, .holder = std::nullopt});
  auto opened = session::PreparedSession::open(resolver, request, std::move(resolution), progress.observer());
  if (opened && opened->resolution().generation != generation) {
    const compile::Resolution& now = opened->resolution();
    context.output.warn(std::string(compile::to_string(now.outcome)) + ": " + now.reason +
                        (now.compiled_model() ? "" : "; the answer is the source model"));
  }
  if (opened && opened->resolution().target.ep.found.name != ep) context.output.warn(opened->resolution().reason);
  return opened;
}

// The compiled model that was opened is gone when this process ends: what loads afterwards is the source.
int answer_with_source(Context& context, session::PreparedSession& session, const compile::Request& request,
                       bool strict) {
  const compile::Resolution& opened = session.resolution();
  const std::filesystem::path source = identity::logical_absolute(request.model);
  compile::Resolution given = compile::source_instead(opened, source);
  if (strict) return refuse(context, given);
  context.output.warn("it compiled and opened, but is not kept: the answer is the source model (" + given.reason + ")");
  return answer(context, given, {.session_open = session.open_ms()});
}

int run_resolve(Context& context, const Options& options) {
  if (const auto model = require_model(options.model); !model) return report_error(context, "resolve", model.error());
  auto request = make_request(options.compile, context.options);
  if (!request) return report_error(context, "resolve", request.error());
  if (options.exec && options.command.empty()) {
    return report_error(context, "resolve",
                        {ErrorCode::bad_input,
                         "--exec has no command",
                         {},
                         "write: precast resolve MODEL --exec -- COMMAND ARGUMENTS"});
  }
  if (!options.exec && !options.command.empty()) {
    return report_error(context, "resolve",
                        {ErrorCode::bad_input,
                         "unexpected argument '" + options.command.front() + "'",
                         {},
                         "resolve takes one model; a command goes behind --exec --"});
  }
  request->model = options.model;
  request->accept_private = options.open || options.exec;
  context.look_only_for(request->target.ep);
  const auto resolver = context.resolver(!request->no_cache);
  if (!resolver) return report_error(context, "resolve", resolver.error());
  Result<compile::Resolution> resolution = fail(ErrorCode::internal, "not run");
  {
    ProgressReporter progress(context.output, util::quoted(options.model));
    resolution = (*resolver)->resolve(*request, progress.observer());
  }
  if (!resolution) return report_error(context, "resolve", resolution.error());
  if (context.options.verbosity > 0) context.output.note(details(*resolution));
  const bool strict = options.require_compiled || context.options.strict;
  if (!resolution->validation.empty()) context.output.note("validation: " + resolution->validation);
  if (!resolution->compiled_model()) {
    if (strict) return refuse(context, *resolution);
    const std::string hint = resolution->error ? resolution->error->hint : std::string();
    context.output.warn("the answer is the source model: " + resolution->reason + (hint.empty() ? "" : "; " + hint));
  } else if (!resolution->reason.empty() && !resolution->private_generation) {
    context.output.note(std::string(compile::to_string(resolution->outcome)) + " (" + resolution->reason + ")");
  }
  if (options.exec) return become(context, std::move(*resolution), options.command);

  if (!options.open) return answer(context, *resolution, {});
  auto opened = open_session(context, **resolver, *request, std::move(*resolution));
  if (!opened) return report_error(context, "resolve", opened.error());
  const auto session = std::make_shared<session::PreparedSession>(std::move(*opened));
  if (strict && !session->resolution().compiled_model()) return refuse(context, session->resolution());
  context.keep_until_exit(session);
  const auto private_owner = session->take_private_owner();  // deletes a private generation on return
  if (session->resolution().private_generation) return answer_with_source(context, *session, *request, strict);
  return answer(context, session->resolution(), {.session_open = session->open_ms()});
}

}  // namespace

void add_resolve_command(CLI::App& app, Body& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("resolve", "Print the path of a model that loads: compiled, or the source");
  command->fallthrough();
  command->add_option("MODEL", options->model, "ONNX model")->required()->type_name("FILE");
  command->add_option("COMMAND", options->command, "With --exec: the command and its arguments");
  add_compile_options(*command, options->compile);
  command->add_flag("--require-compiled", options->require_compiled,
                    "Print nothing and fail instead of giving the source");
  command->add_flag("--open", options->open, "Open an ORT session on it and close it; nothing may be compiled by that");
  command->add_flag("--exec", options->exec, "Become COMMAND, with the path for {} (or appended) and in PRECAST_MODEL");
  command->footer(
      "Examples:\n"
      "  m=$(precast resolve model.onnx --ep openvino)\n"
      "  precast resolve model.onnx --ep openvino --open --json\n"
      "  precast resolve model.onnx --ep openvino --exec -- python3 serve.py --model {}\n\n"
      "Without a compiled model the source's path is printed with one warning and exit code 0, unless "
      "--require-compiled\n"
      "or --strict. With --exec the entry stays leased while the command runs.");
  command->callback(
      [options, &chosen] { chosen = [options](Context& context) { return run_resolve(context, *options); }; });
}

}  // namespace precast::cli
