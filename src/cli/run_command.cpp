// precast run MODEL
#include <cmath>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "bench/model_check.hpp"
#include "bench/model_run.hpp"
#include "bench/ort_report_parts.hpp"
#include "bench/tensor_files.hpp"
#include "cli/bundle_path.hpp"
#include "cli/command.hpp"
#include "cli/compile_options.hpp"
#include "cli/exit_code.hpp"
#include "cli/input_options.hpp"
#include "cli/open_model.hpp"
#include "cli/result_json.hpp"
#include "identity/links.hpp"
#include "model/model_facts.hpp"
#include "ort/inference.hpp"
#include "session/prepared_session.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::cli {

namespace {

using nlohmann::json;

struct Options {
  std::string model;
  CompileOptions compile;
  InputOptions input;
  std::string output_data;
  bool overwrite = false;
  bool check = false;
};

struct Answer {
  ort::TensorRun run;
  std::optional<bench::ModelCheck> checked;
  CommandTimings timings;

  [[nodiscard]] bool wrong() const { return checked && !checked->ok(); }
};

json number(double value) {
  return std::isfinite(value) ? json(value) : json(nullptr);
}

json output_json(const ort::Output& output) {
  json result{{"name", util::escape_invalid_utf8(output.name)},
              {"dtype", nullptr},
              {"shape", nullptr},
              {"min", nullptr},
              {"max", nullptr},
              {"mean", nullptr},
              {"sha256", nullptr}};
  if (!output.tensor) return result;
  result["dtype"] = model::dtype_name(output.tensor->element_type);
  result["shape"] = output.tensor->shape;
  result["sha256"] = bench::sha256_of(*output.tensor);
  const tensor::Summary summary = tensor::summarize(*output.tensor);
  if (summary.counted == 0) return result;
  result["min"] = number(summary.min);
  result["max"] = number(summary.max);
  result["mean"] = number(summary.mean);
  return result;
}

json nodes_json(const session::PreparedSession& session) {
  if (session.provider_nodes().empty()) return nullptr;
  return session.provider_nodes();
}

std::string table(const Answer& answer) {
  std::vector<std::vector<std::string>> rows{{"output", "dtype", "shape", "min", "max", "mean"}};
  if (answer.checked) rows.front().insert(rows.front().end(), {"cosine", "max abs", "check"});
  for (const ort::Output& output : answer.run.outputs) {
    std::vector<std::string> row{util::escape_to_line(output.name)};
    const tensor::Summary summary = output.tensor ? tensor::summarize(*output.tensor) : tensor::Summary();
    row.emplace_back(output.tensor ? model::dtype_name(output.tensor->element_type) : "not a tensor");
    row.push_back(output.tensor ? tensor::shape_text(output.tensor->shape) : "");
    for (const double value : {summary.min, summary.max, summary.mean}) {
      row.push_back(summary.counted == 0 ? "" : fmt::format("{:.6g}", value));
    }
    if (answer.checked) {
      const auto one = std::ranges::find(answer.checked->outputs, output.name, &bench::CheckedOutput::name);
      if (one != answer.checked->outputs.end()) {
        row.push_back(fmt::format("{:.6f}", one->difference.cosine));
        row.push_back(fmt::format("{:.3g}", one->difference.max_abs));
        const bool numbers = one->difference.compared > 0 || summary.counted > 0;
        row.emplace_back(!one->difference.agrees() ? one->difference.why() : numbers ? "ok" : "ok (no finite number)");
      }
    }
    rows.push_back(std::move(row));
  }
  return util::format_table(std::move(rows));
}

Result<void> write_outputs(Context& context, const Options& options, const ort::TensorRun& run) {
  if (options.output_data.empty()) return {};
  tensor::Tensors tensors;
  for (const ort::Output& output : run.outputs) {
    if (output.tensor) {
      tensors.emplace(output.name, *output.tensor);
    } else {
      context.output.warn("output " + util::quoted(output.name) + " is not a tensor and is not written");
    }
  }
  PRECAST_TRY(bench::write_tensors(identity::logical_absolute(options.output_data), tensors, options.overwrite));
  context.output.note("outputs: " + util::quoted(options.output_data));
  return {};
}

Result<Answer> infer(Context& context, const Options& options, const bench::InputSource& input,
                     const compile::Request& request, session::PreparedSession& session) {
  Answer answer;
  PRECAST_TRY(bench::check_placement(session, request));
  PRECAST_TRY_ASSIGN(ort::Catalog* const catalog, context.catalog());
  const std::filesystem::path source = bench::source_of(session.resolution(), request);
  if (options.check) PRECAST_TRY(bench::require_source(source, request.model));
  PRECAST_TRY_ASSIGN(const auto wanted, bench::inputs_of(session.native()));
  PRECAST_TRY_ASSIGN(auto inputs, bench::make_inputs(input, wanted, source));
  PRECAST_TRY_ASSIGN(answer.run, ort::run_tensors(session.native(), inputs,
                                                  "the inference on " + util::quoted(request.model) + " failed"));
  if (options.check) {
    PRECAST_TRY_ASSIGN(const auto references,
                       bench::References::make(*catalog, source, request.session, inputs, input.data));
    answer.checked = references.check(answer.run.outputs);
  }
  PRECAST_TRY(write_outputs(context, options, answer.run));
  answer.timings.startup = context.runtime_load_ms();
  answer.timings.session_open = session.open_ms();
  answer.timings.run = answer.run.run_ms;
  answer.timings.total = context.elapsed_ms();
  return answer;
}

void say(Context& context, const Options& options, const session::PreparedSession& session, const Answer& answer) {
  const compile::Resolution& resolution = session.resolution();
  context.output.note(fmt::format("{}: {} on {}/{}, one run in {:.3f} ms", to_string(resolution.outcome),
                                  util::quoted(options.model), resolution.target.ep.found.name,
                                  ort::to_string(resolution.target.device.device_class), answer.run.run_ms));
  if (!resolution.validation.empty()) context.output.note("validation: " + resolution.validation);
  for (const auto& [ep, nodes] : session.provider_nodes()) context.output.note(fmt::format("{}: {} nodes", ep, nodes));
  if (!context.output.json) context.output.machine(table(answer));
  if (!answer.checked) return;
  if (!answer.checked->not_compared.empty()) {
    context.output.warn("not checked, for they are no tensors: " + util::listed_quoted(answer.checked->not_compared));
  }
  for (const bench::CheckedOutput& one : answer.checked->expected_outputs) {
    context.output.note("expected output " + util::quoted(one.name) + ": " +
                        (one.difference.agrees() ? "as expected" : one.difference.why()));
  }
}

int run_model(Context& context, const Options& options) {
  if (const auto model = require_model(options.model); !model) return report_error(context, "run", model.error());
  auto request = make_request(options.compile, context.options);
  if (!request) return report_error(context, "run", request.error());
  const auto input = make_input_source(options.input);
  if (!input) return report_error(context, "run", input.error());
  request->model = options.model;
  request->accept_private = true;
  context.look_only_for(request->target.ep);
  const auto resolver = context.resolver(!request->no_cache);
  if (!resolver) return report_error(context, "run", resolver.error());
  auto opened = open_model(context, **resolver, *request);
  if (!opened) return report_error(context, "run", opened.error());
  const auto session = std::make_shared<session::PreparedSession>(std::move(*opened));
  context.keep_until_exit(session);
  const auto private_owner = session->take_private_owner();  // deletes a private generation on return
  const auto answer = infer(context, options, *input, *request, *session);
  if (!answer) return report_error(context, "run", answer.error());
  say(context, options, *session, *answer);
  if (context.output.json) {
    json document = cli::document("run");
    document.update(to_json(session->resolution(), answer->timings));
    document["outputs"] = json::array();
    for (const ort::Output& output : answer->run.outputs) document["outputs"].push_back(output_json(output));
    document["provider_nodes"] = nodes_json(*session);
    document["check"] = answer->checked ? json(bench::to_json(bench::check_fields(), *answer->checked)) : json(nullptr);
    context.output.machine_json(document);
  }
  return answer->wrong() ? kFailed : kDone;
}

}  // namespace

void add_run_command(CLI::App& app, Body& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "One inference, with given or made-up inputs");
  command->fallthrough();
  command->add_option("MODEL", options->model, "ONNX model")->required()->type_name("FILE");
  add_input_options(*command, options->input);
  command
      ->add_option("--output-data", options->output_data, "Write the outputs to FILE.npz, or as NAME.npy into a folder")
      ->type_name("FILE|DIR");
  command->add_flag("--overwrite", options->overwrite, "Replace files that are there already");
  command->add_flag("--check", options->check,
                    "Compare every output with ORT's CPU EP on the source, and with output_0.pb, ... beside the "
                    "inputs; exit 1 if it differs");
  add_compile_options(*command, options->compile);
  command->footer(
      "Examples:\n"
      "  precast run model.onnx --ep openvino --check\n"
      "  precast run model.onnx --ep openvino --dim sequence=64 --value-range input_ids=0:30522\n"
      "  precast run model.onnx --ep qnn --ep-options soc_model=60 --ep-options htp_arch=73 \\\n"
      "    --input-data test_data_set_0 --output-data outputs.npz --json");
  command->callback(
      [options, &chosen] { chosen = [options](Context& context) { return run_model(context, *options); }; });
}

}  // namespace precast::cli
