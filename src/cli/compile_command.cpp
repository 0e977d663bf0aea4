// precast compile MODEL...
#include <algorithm>
#include <atomic>
#include <thread>

#include <CLI/CLI.hpp>

#include "cli/bundle_compile.hpp"
#include "cli/bundle_path.hpp"
#include "cli/command.hpp"
#include "cli/compile_options.hpp"
#include "cli/exit_code.hpp"
#include "cli/progress.hpp"
#include "cli/publishing.hpp"
#include "cli/result_json.hpp"
#include "compile/sharing.hpp"
#include "util/text.hpp"

namespace precast::cli {

namespace {

struct Options {
  std::vector<std::string> models;
  CompileOptions compile;
  PublishOptions publish;
  unsigned jobs = 0;
  bool share_weights = false;
  bool timeout_given = false;
};

struct Answer {
  Result<compile::Resolution> resolution = fail(ErrorCode::internal, "not run");
  CommandTimings timings;
  std::filesystem::path published;
  std::optional<Error> unpublished;  // why an output that was asked for is not there
  bool asked_for_no_cache = false;

  // What was compiled is where the user wanted it, and nowhere else.
  [[nodiscard]] bool is_published_only() const {
    return resolution && resolution->private_generation && !published.empty();
  }
};

// "compiled 'x.onnx' for OpenVINOExecutionProvider/cpu in 1.2 s (no entry for this identity)"
std::string sentence(const std::string& model, const Answer& answer) {
  const compile::Resolution& r = *answer.resolution;
  const std::string target = r.target.ep.found.name + "/" + std::string(ort::to_string(r.target.device.device_class));
  const std::string time =
      util::format_duration(std::chrono::nanoseconds(static_cast<std::int64_t>(answer.timings.total * 1e6)));
  switch (r.outcome) {
    case compile::Outcome::hit:
      return "hit: " + util::quoted(model) + " for " + target + ", " + time;
    case compile::Outcome::compiled:
      return "compiled: " + util::quoted(model) + " for " + target + ", " + time + " (" + r.reason + ")";
    case compile::Outcome::precompiled:
      return "precompiled: " + util::quoted(model) + " (" + r.reason + ")";
    case compile::Outcome::nothing_to_compile:
      return "nothing to compile: " + util::quoted(model) + " (" + r.reason + ")";
    case compile::Outcome::failed:
    case compile::Outcome::uncached:
      break;
  }
  return std::string(compile::to_string(r.outcome)) + ": " + util::quoted(model) + " (" + r.reason + ")";
}

void publish(Context& context, const PublishOptions& options, const compile::Request& request, Answer& answer) {
  if (!options.wanted() || !answer.resolution) return;
  util::Stopwatch watch;
  auto published = publish_resolution(context, options, request, *answer.resolution);
  answer.timings.publish = watch.elapsed_ms();
  if (!published) {
    answer.unpublished = published.error();
  } else if (*published) {
    answer.published = **published;
  } else {
    context.output.warn("nothing is published for " + util::quoted(request.model) + ": there is no compiled model");
  }
}

Answer compile_one(Context& context, compile::Resolver& resolver, compile::Request request, const Options& options,
                   const std::string& model) {
  Answer answer;
  util::Stopwatch watch;
  request.model = model;
  answer.asked_for_no_cache = request.no_cache;
  if (const auto checked = check_output(context, options.publish, request); !checked) {
    answer.resolution = std::unexpected(checked.error());
    return answer;
  }
  {
    ProgressReporter progress(context.output, util::quoted(model));
    answer.resolution = resolver.resolve(request, progress.observer());
  }
  publish(context, options.publish, request, answer);
  answer.timings.total = watch.elapsed_ms();
  answer.timings.startup = context.runtime_load_ms();
  return answer;
}

void say(Context& context, const std::string& model, const Answer& answer) {
  if (!answer.resolution) {
    context.output.error(answer.resolution.error());
    return;
  }
  if (answer.resolution->private_generation && answer.unpublished) {
    context.output.error(*answer.unpublished);
    return;
  }
  const compile::Resolution& r = *answer.resolution;
  if (context.options.verbosity > 0) context.output.note(details(r));
  if (!r.validation.empty()) context.output.note("validation: " + r.validation);
  if (answer.is_published_only()) {
    if (!answer.asked_for_no_cache) context.output.warn("compiled, but not kept: " + r.reason);
    context.output.note("compiled and published: " + util::quoted(answer.published));
    return;
  }
  if (r.outcome != compile::Outcome::failed && r.outcome != compile::Outcome::uncached) {
    context.output.note(sentence(model, answer));
    if (!answer.published.empty()) context.output.note("published: " + util::quoted(answer.published));
    if (answer.unpublished) context.output.error(*answer.unpublished);
    return;
  }
  if (!r.log_tail.empty()) context.output.note("--- last lines of the compile's log\n" + r.log_tail + "---");
  if (r.error) {
    context.output.error(*r.error);
  } else {
    context.output.warn(sentence(model, answer));
  }
}

int code_of(const Answer& answer, bool strict) {
  if (answer.unpublished) return exit_code_of(*answer.unpublished, strict);
  if (answer.is_published_only() && (answer.asked_for_no_cache || !strict)) return kDone;
  return answer.resolution ? exit_code_of(*answer.resolution, strict) : exit_code_of(answer.resolution.error(), strict);
}

nlohmann::json json_of(const std::string& model, const Answer& answer) {
  nlohmann::json result = answer.resolution ? to_json(*answer.resolution, answer.timings, answer.published)
                                            : nlohmann::json{{"error", to_json(answer.resolution.error())}};
  if (answer.is_published_only()) {
    result["path"] = result["published"];  // the generation ends with this process
  } else if (code_of(answer, false) != kDone && answer.resolution && answer.resolution->error) {
    result["error"] = to_json(*answer.resolution->error);
  }
  if (answer.unpublished) result["error"] = to_json(*answer.unpublished);
  result["model"] = util::escape_invalid_utf8(model);
  return result;
}

std::vector<Answer> compile_all(Context& context, compile::Resolver& resolver, const compile::Request& request,
                                const Options& options) {
  const std::size_t count = options.models.size();
  std::vector<Answer> answers(count);
  const unsigned jobs = std::clamp<unsigned>(options.jobs == 0 ? std::thread::hardware_concurrency() : options.jobs, 1U,
                                             static_cast<unsigned>(count));
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        answers[i] = compile_one(context, resolver, request, options, options.models[i]);
      } catch (const std::exception& e) {  // a thread must not end the program
        answers[i].resolution = fail(ErrorCode::internal, std::string("unexpected: ") + e.what(), options.models[i]);
      }
      say(context, options.models[i], answers[i]);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < jobs; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return answers;
}

// All of them in one worker, one after the other; then each is published, with the binaries under names of the first.
std::vector<Answer> compile_together(Context& context, compile::Resolver& resolver, const compile::Request& request,
                                     const Options& options) {
  std::vector<Answer> answers(options.models.size());
  util::Stopwatch watch;
  Result<std::vector<compile::Resolution>> resolutions = fail(ErrorCode::internal, "not run");
  {
    ProgressReporter progress(context.output, std::to_string(options.models.size()) + " models");
    resolutions = compile::compile_sharing(resolver, request, {options.models.begin(), options.models.end()},
                                           progress.observer());
  }
  PublishOptions publishing = options.publish;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    Answer& answer = answers[i];
    answer.asked_for_no_cache = true;  // that it is not stored was said by whoever asked for it
    answer.resolution =
        resolutions ? Result<compile::Resolution>(std::move((*resolutions)[i])) : std::unexpected(resolutions.error());
    compile::Request one = request;
    one.model = options.models[i];
    if (i > 0 && answers.front().unpublished) {
      answer.unpublished = answers.front().unpublished;
    } else {
      publish(context, publishing, one, answer);
    }
    if (i == 0) publishing.binary_stem = answer.published.stem().native();
    answer.timings.total = watch.elapsed_ms();
    answer.timings.startup = context.runtime_load_ms();
    if (answer.resolution || i == 0) say(context, options.models[i], answer);
  }
  return answers;
}

Result<void> check_sharing(const Options& options) {
  if (!options.share_weights || !options.publish.output_dir.empty()) return {};
  return fail(ErrorCode::bad_input, "--share-weights keeps nothing in the store", {},
              "say with --output-dir where the compiled models go");
}

int run_compile(Context& context, const Options& options) {
  if (std::ranges::any_of(options.models, is_bundle)) {
    return compile_bundle(context, {options.models, options.compile, options.publish, options.jobs,
                                    options.share_weights, options.timeout_given});
  }
  auto request = make_request(options.compile, context.options);
  if (!request) return report_error(context, "compile", request.error());
  if (const auto checked = check_publish_options(options.publish, options.models); !checked) {
    return report_error(context, "compile", checked.error());
  }
  if (const auto checked = check_sharing(options); !checked) return report_error(context, "compile", checked.error());
  if (request->no_cache && !options.publish.wanted()) {
    return report_error(context, "compile",
                        {ErrorCode::bad_input,
                         "compile --no-cache would keep nothing",
                         {},
                         "leave --no-cache out, or say with -o where the compiled model goes"});
  }
  request->accept_private = options.publish.wanted();
  context.look_only_for(request->target.ep);
  const auto resolver = context.resolver(!request->no_cache);
  if (!resolver) return report_error(context, "compile", resolver.error());
  const std::vector<Answer> answers = options.share_weights ? compile_together(context, **resolver, *request, options)
                                                            : compile_all(context, **resolver, *request, options);
  int code = kDone;
  for (const Answer& answer : answers) {
    const int one = code_of(answer, context.options.strict);
    if (code == kDone || one == kInterrupted) code = one;
  }
  if (context.output.json) {
    nlohmann::json json = document("compile");
    if (answers.size() == 1) {
      json.update(json_of(options.models.front(), answers.front()));
    } else {
      json["results"] = nlohmann::json::array();
      for (std::size_t i = 0; i < answers.size(); ++i)
        json["results"].push_back(json_of(options.models[i], answers[i]));
    }
    context.output.machine_json(json);
  }
  return code;
}

}  // namespace

void add_compile_command(CLI::App& app, Body& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("compile", "Make sure that a valid compiled model is in the store");
  command->fallthrough();
  command->add_option("MODEL", options->models, "ONNX models, or one bundle (a folder with genai_config.json)")
      ->required()
      ->type_name("FILE");
  add_compile_options(*command, options->compile);
  add_publish_options(*command, options->publish);
  command->add_option("-j,--jobs", options->jobs, "Models compiled at the same time (default: as many as cores)")
      ->check(CLI::Range(1U, 256U));
  command->add_flag("--share-weights", options->share_weights,
                    "Compile the models together, with one context binary for all where the EP can (QNN)");
  command->footer(
      "Examples:\n"
      "  precast compile model.onnx --ep openvino\n"
      "  precast compile model.onnx --ep qnn --ep-options soc_model=60 --ep-options htp_arch=73\n"
      "  precast compile model.onnx --ep openvino -o model_ctx.onnx\n"
      "  precast compile model.onnx --ep openvino --no-cache --output-dir compiled\n"
      "  precast compile prefill.onnx decode.onnx --ep qnn --ep-options soc_model=60 --share-weights --output-dir out\n"
      "  precast compile *.onnx --ep openvino --jobs 2 --output-dir compiled --json\n"
      "  precast compile bundle -o bundle_compiled     all stages of a bundle that name an EP; -o is a folder then\n\n"
      "Exit codes: 0 hit, compiled or precompiled; 1 failed; 2 bad input; 3 EP not available; 5 nothing to compile;\n"
      "6 timed out; 7 the cache cannot work (--strict); 130 interrupted.");
  command->callback([options, command, &chosen] {
    options->publish.models = options->models;
    options->timeout_given = command->count("--compile-timeout") > 0;
    chosen = [options](Context& context) { return run_compile(context, *options); };
  });
}

}  // namespace precast::cli
