// precast perf MODEL | BUNDLE
#include <CLI/CLI.hpp>

#include "cli/perf.hpp"
#include "cli/signals.hpp"
#include "util/text.hpp"

namespace precast::cli {

namespace {

int run_perf(Context& context, const PerfOptions& options) {
  const auto runtime = runtime_of(options);
  if (!runtime) return report_error(context, "perf", runtime.error());
  const bool bundle = *runtime == PerfRuntime::genai;
  const std::vector<std::string>& ignored = bundle ? options.not_for_bundles : options.not_for_models;
  if (!ignored.empty()) {
    context.output.warn(std::string("for a ") + (bundle ? "bundle" : "model") +
                        " these options mean nothing and are ignored: " + util::listed(ignored, ignored.size()));
  }
  end_without_haste();  // what was measured is worth waiting for what runs
  PerfOutput output(context, options);
  if (const auto place = output.check(); !place) return report_error(context, "perf", place.error());
  return bundle ? perf_bundle(context, options, output) : perf_model(context, options, output);
}

}  // namespace

void add_perf_command(CLI::App& app, Body& chosen) {
  auto options = std::make_shared<PerfOptions>();
  CLI::App* command =
      app.add_subcommand("perf", "Measure a model's latency, or a language-model bundle's TTFT and tokens per second");
  command->fallthrough();
  add_perf_options(*command, *options);
  command->footer(
      "Examples:\n"
      "  precast perf model.onnx\n"
      "  precast perf model.onnx --ep openvino --compile --check --html report.html\n"
      "  precast perf model.onnx --compare-ep cpu,openvino --dim sequence=64 --value-range input_ids=0:30522\n"
      "  precast perf bundle --ep openvino --compile --max-new-tokens 64 -f md\n\n"
      "Only ORT's run call is timed; inputs are made once. With several EPs each round runs every one of them once; "
      "an\n"
      "option for one of them is written NAME:KEY=VALUE (--ep-options qnn:soc_model=60), others are for all but the "
      "CPU\n"
      "EP.\n\n"
      "stdout has the report as -f says (a table without it); under --json the whole of it. A file has it too: -o's, "
      "in\n"
      "the format of -f, else of its ending (.json, .md, .csv, .txt), else JSON; without -o always JSON, in\n"
      "$XDG_STATE_HOME/precast/perf/<name>/<time>.json (~/.local/state/...). Ctrl-C ends with what was measured, and\n"
      "says so in the report. What is asked for by name and would run on the CPU as a whole is an error here. Exit "
      "code 4:\n"
      "--op-tracing gave nothing; the report is there all the same.");
  command->callback([options, command, &chosen] {
    note_given(*command, *options);
    chosen = [options](Context& context) { return run_perf(context, *options); };
  });
}

}  // namespace precast::cli
