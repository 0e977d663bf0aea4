// precast generate BUNDLE
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/bundle_options.hpp"
#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/generation_options.hpp"
#include "cli/result_json.hpp"
#include "util/text.hpp"

namespace precast::cli {

namespace {

struct Options {
  BundleOptions bundle;
  PromptOptions prompt;
  GenerationOptions generation;
};

nlohmann::json json_of(const genai::Session& session, const genai::TimedGeneration& done) {
  nlohmann::json json = document("generate");
  const Generation& generation = done.generation;
  json["text"] = generation.text;
  json["token_ids"] = generation.token_ids;
  json["prompt_tokens"] = generation.prompt_tokens;
  json["generated_tokens"] = generation.token_ids.size();
  json["finish_reason"] = std::string(to_string(generation.finish_reason));
  json["stages"] = stages_json(session.prepared());
  add_route_json(json, session.prepared());
  json["timings_ms"] = to_json(done.timing);
  json["timings_ms"]["load"] = session.load_timings().total;
  return json;
}

int run_generate(Context& context, const Options& options, const GenerationConfig& config) {
  if (const auto checked = check_texts(config, options.prompt.system); !checked) {
    return report_error(context, "generate", checked.error());
  }
  const auto text = read_prompt(options.prompt);
  if (!text) return report_error(context, "generate", text.error());
  const auto session = load_session(context, options.bundle);
  if (!session) return report_error(context, "generate", session.error());
  const auto owners = (*session)->take_private_owners();  // what deletes private folders on return
  genai::GenerationRequest request;
  request.prompt = make_prompt(options.prompt, *text);
  request.config = config;
  request.on_text = [&context](std::string_view piece) {
    if (!context.output.json) context.output.machine(piece);
    return !context.output.failed();
  };
  const auto done = (*session)->generate(request);
  if (!done) return report_error(context, "generate", done.error());
  if (context.output.json) {
    context.output.machine_json(json_of(**session, *done));
  } else {
    context.output.machine("\n");
  }
  for (const std::string& warning : done->generation.warnings) context.output.warn(warning);
  context.output.note(statistics(done->generation, done->timing));
  return context.cancel.cancelled() ? kInterrupted : kDone;
}

}  // namespace

void add_generate_command(CLI::App& app, Body& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("generate", "One answer of a language-model bundle (onnxruntime-genai)");
  command->fallthrough();
  add_bundle_options(*command, options->bundle);
  add_prompt_options(*command, options->prompt);
  add_generation_options(*command, options->generation);
  command->footer(
      "Examples:\n"
      "  precast generate bundle -p 'What is the capital of France?'\n"
      "  precast generate bundle --ep openvino --compile -p 'Hello' --max-new-tokens 32\n"
      "  precast generate bundle --prompt-file question.txt --temperature 0.7 --seed 1 --json\n\n"
      "The answer goes to stdout as it comes, statistics to stderr.");
  command->callback([options, command, &chosen] {
    const GenerationConfig config = make_generation_config(*command, options->generation);
    chosen = [options, config](Context& context) { return run_generate(context, *options, config); };
  });
}

}  // namespace precast::cli
