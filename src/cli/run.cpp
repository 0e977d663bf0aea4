#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/result_json.hpp"
#include "cli/signals.hpp"
#include "cli/validators.hpp"

namespace precast::cli {

namespace {

[[noreturn]] void end(int code, const Output& output) {
  std::fflush(nullptr);
  ::_exit(output.failed() && code == kDone ? kFailed : code);
}

bool wants_json(int argc, char** argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    if (std::string_view(argv[i]) == "--json") return true;
  }
  return false;
}

int refuse_usage(Output& output, const Error& error) {
  if (output.json) {
    nlohmann::json json = document("precast");
    json["error"] = to_json(error);
    output.machine_json(json);
  }
  output.error(error);
  return kUsage;
}

// CLI11 throws for help as for errors; this is the seam.
int parse(CLI::App& app, int argc, char** argv, Output& output) {
  try {
    EnvironmentOptions variables(app);
    app.parse(argc, argv);
    if (const auto applied = variables.apply(); !applied) return refuse_usage(output, applied.error());
    return -1;
  } catch (const CLI::CallForHelp&) {
    output.machine(app.help());
    return kDone;
  } catch (const CLI::Success&) {
    return kDone;
  } catch (const CLI::ParseError& e) {
    return refuse_usage(
        output, {ErrorCode::bad_input, e.what(), {}, "precast --help and precast COMMAND --help show what there is"});
  }
}

void set_up(CLI::App& app, GlobalOptions& options, Body& chosen) {
  app.option_defaults()->always_capture_default(false);
  app.fallthrough();
  app.require_subcommand(0, 1);
  add_global_options(app, options);
  add_compile_command(app, chosen);
  add_resolve_command(app, chosen);
  add_run_command(app, chosen);
  add_generate_command(app, chosen);
  add_chat_command(app, chosen);
  add_perf_command(app, chosen);
  add_cache_command(app, chosen);
  add_eps_command(app, chosen);
  add_inspect_command(app, chosen);
  add_doctor_command(app, chosen);
  refuse_empty_values(app);
  for (CLI::App* command : app.get_subcommands({})) {
    command->footer(
        command->get_footer() +
        "\n\nGlobal options (--json, -q, -v, --strict, --cache-dir, ...) may follow the command; precast --help "
        "lists them.\nExit codes are those of `precast compile --help`.");
  }
  app.footer(
      "Examples:\n"
      "  precast compile model.onnx --ep openvino       compile once, keep it\n"
      "  m=$(precast resolve model.onnx --ep openvino)  a path that loads at once, for any program\n"
      "  precast cache ls                               what is stored\n"
      "  precast eps                                    what can compile here\n"
      "  precast run model.onnx --ep openvino --check   one inference, compared with the CPU\n"
      "  precast inspect model.onnx                     what a model is\n"
      "  precast doctor                                 is everything in order, and what to do if not\n"
      "With a language model, as a bundle for onnxruntime-genai (a folder with genai_config.json):\n"
      "  precast generate bundle -p 'Hello'             an answer, streamed\n"
      "  precast chat bundle --compile                  a conversation, its stages compiled ahead of time\n"
      "  precast perf bundle --ep openvino --compile    time to the first token, tokens per second\n"
      "  precast compile bundle -o bundle_compiled      a compiled bundle to be moved anywhere\n\n"
      "precast COMMAND --help shows more.");
}

int run_chosen(Context& context, const Body& chosen, bool version, const CLI::App& app) {
  try {
    if (version) return print_version(context);
    if (chosen) return chosen(context);
    if (context.output.json) {
      return report_error(context, "precast",
                          {ErrorCode::bad_input, "no command was given", {}, "precast --help shows the commands"});
    }
    context.output.machine(app.help());
    return kUsage;
  } catch (const std::exception& e) {
    return report_error(context, "precast",
                        {ErrorCode::internal,
                         std::string("unexpected: ") + e.what(),
                         {},
                         "this is a defect of precast; please report it"});
  }
}

}  // namespace

int report_error(Context& context, const std::string& command, const Error& error) {
  if (context.output.json) {
    nlohmann::json json = document(command);
    json["error"] = to_json(error);
    context.output.machine_json(json);
  }
  context.output.error(error);
  return exit_code_of(error, context.options.strict);
}

void run(int argc, char** argv) {
  Output output;
  output.json = wants_json(argc, argv);
  output.detect_color(false);
  output.take_stdout();
  const bool telemetry_was_set = std::getenv("ORT_DISABLE_TELEMETRY") != nullptr;

  GlobalOptions options;
  Body chosen;
  CLI::App app(
      "precast compiles ONNX models and language-model bundles ahead of time and keeps the result under a strict "
      "identity.",
      "precast");
  set_up(app, options, chosen);
  bool version = false;
  app.add_flag("--version", version, "Versions of precast, ONNX Runtime and onnxruntime-genai");
  if (const int code = parse(app, argc, argv, output); code >= 0) end(code, output);

  output.json = options.json;
  output.quiet = options.quiet;
  output.verbosity = options.verbosity;
  output.detect_color(options.no_color);
  // Before any thread: ORT reads it when it is loaded.
  if (!options.allow_telemetry && !telemetry_was_set) ::setenv("ORT_DISABLE_TELEMETRY", "1", 1);
  util::CancelToken cancel;
  handle_signals(output, cancel);
  Context context(output, options, cancel);
  context.telemetry_was_set = telemetry_was_set;
  end(run_chosen(context, chosen, version, app), output);
}

}  // namespace precast::cli
