// precast inspect MODEL
#include <algorithm>
#include <charconv>

#include <CLI/CLI.hpp>

#include "cli/bundle_path.hpp"
#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/inspection.hpp"
#include "cli/result_json.hpp"
#include "util/text.hpp"

namespace precast::cli {

namespace {

using nlohmann::json;
using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kShownRows = 12;  // of a table: the answer fits a screen
constexpr std::size_t kShownParts = 4;  // of a line

json text_json(const std::string& text) {
  return util::escape_invalid_utf8(text);
}

template <typename Value>
json or_null(const std::optional<Value>& value) {
  return value ? json(*value) : json(nullptr);
}

// 3 is a number, "batch" a symbol; null: not known.
json dimension_json(const std::string& dimension) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(dimension.data(), dimension.data() + dimension.size(), value);
  if (error == std::errc() && end == dimension.data() + dimension.size()) return value;
  return dimension == "?" ? json(nullptr) : text_json(dimension);
}

json values_json(const std::vector<model::ValueInfo>& values) {
  json all = json::array();
  for (const model::ValueInfo& value : values) {
    json shape = value.has_shape ? json::array() : json(nullptr);
    for (const std::string& dimension : value.shape) shape.push_back(dimension_json(dimension));
    all.push_back({{"name", text_json(value.name)},
                   {"dtype", value.element_type == 0 ? json(nullptr) : json(model::dtype_name(value.element_type))},
                   {"shape", shape}});
  }
  return all;
}

std::string domain_name(const std::string& domain) {
  return domain.empty() ? "ai.onnx" : domain;
}

json opsets_json(const model::ModelFacts& facts) {
  json opsets = json::object();
  for (const auto& [domain, version] : facts.opsets) opsets[util::escape_invalid_utf8(domain_name(domain))] = version;
  return opsets;
}

json weights_json(const model::ModelFacts& facts) {
  json all = json::array();
  for (const model::StoredWeights& one : facts.stored_weights) {
    all.push_back({{"dtype", std::string(model::dtype_name(one.element_type))},
                   {"tensors", one.tensors},
                   {"bytes", model::bytes_of(one)}});
  }
  return all;
}

json external_json(const Inspection& inspection) {
  json all = json::array();
  for (std::size_t i = 0; i < inspection.external.size(); ++i) {
    const ReferredFile& file = inspection.external[i];
    all.push_back({{"path", text_json(file.reference)},
                   {"size", or_null(file.size)},
                   {"present", file.present},
                   {"bytes_needed", inspection.facts.external_files[i].bytes_needed}});
  }
  return all;
}

json contexts_json(const Inspection& inspection) {
  json all = json::array();
  for (std::size_t i = 0; i < inspection.binaries.size(); ++i) {
    const model::EpContextNode& node = inspection.facts.ep_context_nodes[i];
    const auto& file = inspection.binaries[i];
    json one{{"source", text_json(node.source)},
             {"embedded", node.embedded},
             {"reference", node.reference.empty() ? json(nullptr) : text_json(node.reference)},
             {"main", node.main},
             {"sdk", node.sdk.empty() ? json(nullptr) : text_json(node.sdk)},
             {"partition", node.partition_name.empty() ? json(nullptr) : text_json(node.partition_name)},
             {"size", node.embedded ? json(node.inline_bytes) : json(nullptr)},
             {"present", file ? json(file->present) : json(nullptr)}};
    if (file) one["size"] = or_null(file->size);
    all.push_back(std::move(one));
  }
  return all;
}

json compatibility_json(const Inspection& inspection) {
  if (inspection.compatibility.empty()) return nullptr;
  json all = json::array();
  for (const EpCompatibility& one : inspection.compatibility) {
    all.push_back({{"ep", text_json(one.ep)},
                   {"info", one.info ? text_json(*one.info) : json(nullptr)},
                   {"verdict", one.verdict ? json(std::string(to_string(*one.verdict))) : json(nullptr)},
                   {"reason", one.reason.empty() ? json(nullptr) : text_json(one.reason)}});
  }
  return all;
}

json inspection_json(const Inspection& inspection) {
  const model::ModelFacts& facts = inspection.facts;
  const auto opset = facts.opsets.find("");
  json keys = json::array();
  for (const auto& [key, value] : facts.metadata) keys.push_back(text_json(key));
  json warnings = json::array();
  for (const std::string& warning : inspection.warnings) warnings.push_back(text_json(warning));
  json document = cli::document("inspect");
  document["path"] = path_text(inspection.path);
  document["size"] = inspection.size;
  document["ir_version"] = facts.ir_version;
  document["producer"] = facts.producer.empty() ? json(nullptr) : text_json(facts.producer);
  document["opset"] = opset == facts.opsets.end() ? json(nullptr) : json(opset->second);
  document["opsets"] = opsets_json(facts);
  document["node_count"] = facts.node_count;
  document["inputs"] = values_json(facts.inputs);
  document["outputs"] = values_json(facts.outputs);
  document["weight_precision"] = facts.weight_precision.empty() ? json(nullptr) : json(facts.weight_precision);
  document["weights"] = weights_json(facts);
  document["metadata_keys"] = keys;
  document["external_data"] = external_json(inspection);
  document["ep_context"] = contexts_json(inspection);
  document["compatibility"] = compatibility_json(inspection);
  document["warnings"] = warnings;
  return document;
}

// The largest first: "fp32 (float32 1.2 MiB in 8 tensors, int64 32 B in 4)".
std::string weights_text(const model::ModelFacts& facts) {
  if (facts.stored_weights.empty()) return "none";
  std::vector<model::StoredWeights> sorted = facts.stored_weights;
  std::ranges::sort(sorted, std::greater{}, model::bytes_of);
  std::vector<std::string> parts;
  parts.reserve(sorted.size());
  for (const model::StoredWeights& one : sorted) {
    parts.push_back(std::string(model::dtype_name(one.element_type)) + " " + util::format_bytes(model::bytes_of(one)) +
                    " in " + std::to_string(one.tensors) + (one.tensors == 1 ? " tensor" : " tensors"));
  }
  return facts.weight_precision.empty() ? util::listed(parts, kShownParts)
                                        : facts.weight_precision + " (" + util::listed(parts, kShownParts) + ")";
}

std::string head_text(const Inspection& inspection) {
  const model::ModelFacts& facts = inspection.facts;
  std::vector<std::string> opsets;
  opsets.reserve(facts.opsets.size());
  for (const auto& [domain, version] : facts.opsets) {
    opsets.push_back(domain_name(domain) + " " + std::to_string(version));
  }
  std::vector<std::string> keys;
  keys.reserve(facts.metadata.size());
  for (const auto& [key, value] : facts.metadata) keys.push_back(key);
  Rows rows{{"model", inspection.path.native()},
            {"size", util::format_bytes(inspection.size)},
            {"producer", facts.producer.empty() ? "not given" : facts.producer},
            {"opset", util::listed(opsets, kShownParts) + "; IR version " + std::to_string(facts.ir_version)},
            {"nodes", std::to_string(facts.node_count)},
            {"weights", weights_text(facts)}};
  if (!keys.empty()) rows.push_back({"metadata", util::listed(keys, kShownParts)});
  return util::format_table(std::move(rows));
}

// Nothing when there are no rows.
std::string table(std::vector<std::string> head, Rows rows) {
  if (rows.empty()) return {};
  const std::size_t hidden = rows.size() > kShownRows ? rows.size() - kShownRows : 0;
  rows.resize(rows.size() - hidden);
  rows.insert(rows.begin(), std::move(head));
  std::string text = "\n" + util::format_table(std::move(rows));
  if (hidden > 0) text += "... and " + std::to_string(hidden) + " more; --json shows all\n";
  return text;
}

std::string values_text(const std::string& title, const std::vector<model::ValueInfo>& values) {
  Rows rows;
  for (const model::ValueInfo& value : values) {
    rows.push_back({value.name,
                    value.element_type == 0 ? "not a tensor" : std::string(model::dtype_name(value.element_type)),
                    value.has_shape ? "[" + util::listed(value.shape, value.shape.size()) + "]" : "any shape"});
  }
  return table({title, "DTYPE", "SHAPE"}, std::move(rows));
}

std::string size_text(const ReferredFile& file) {
  return file.present ? util::format_bytes(file.size.value_or(0)) : "missing";
}

std::string external_text(const Inspection& inspection) {
  Rows rows;
  for (const ReferredFile& file : inspection.external) rows.push_back({file.reference, size_text(file)});
  return table({"EXTERNAL DATA", "SIZE"}, std::move(rows));
}

std::string contexts_text(const Inspection& inspection) {
  Rows rows;
  for (std::size_t i = 0; i < inspection.binaries.size(); ++i) {
    const model::EpContextNode& node = inspection.facts.ep_context_nodes[i];
    const auto& file = inspection.binaries[i];
    std::string where = node.main ? "none" : "in the main node";
    if (node.embedded) where = "embedded";
    std::string size = node.embedded ? util::format_bytes(node.inline_bytes) : "-";
    if (file) {
      where = file->reference;
      size = size_text(*file);
    }
    rows.push_back(
        {node.source, node.main ? "yes" : "no", node.sdk.empty() ? "-" : node.sdk, std::move(size), std::move(where)});
  }
  return table({"COMPILED FOR", "MAIN", "SDK", "SIZE", "BINARY"}, std::move(rows));
}

std::string compatibility_text(const Inspection& inspection) {
  Rows rows;
  for (const EpCompatibility& one : inspection.compatibility) {
    rows.push_back({one.ep, one.verdict ? std::string(to_string(*one.verdict)) : "not known: " + one.reason});
  }
  return table({"EP", "COMPATIBLE HERE"}, std::move(rows));
}

int run_inspect(Context& context, const std::string& model) {
  if (const auto checked = require_model(model); !checked) return report_error(context, "inspect", checked.error());
  const auto inspection = inspect_model(context, model);
  if (!inspection) return report_error(context, "inspect", inspection.error());
  if (context.output.json) {
    context.output.machine_json(inspection_json(*inspection));
  } else {
    const model::ModelFacts& facts = inspection->facts;
    context.output.machine(head_text(*inspection) + values_text("INPUT", facts.inputs) +
                           values_text("OUTPUT", facts.outputs) + external_text(*inspection) +
                           contexts_text(*inspection) + compatibility_text(*inspection));
  }
  for (const std::string& warning : inspection->warnings) context.output.warn(util::escape_invalid_utf8(warning));
  return kDone;
}

}  // namespace

void add_inspect_command(CLI::App& app, Body& chosen) {
  auto model = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("inspect", "What a model is: inputs, outputs, weights, what it refers to");
  command->fallthrough();
  command->add_option("MODEL", *model, "An ONNX model, compiled or not")->required()->type_name("FILE");
  command->footer(
      "Examples:\n"
      "  precast inspect model.onnx\n"
      "  precast inspect model.onnx --json | jq .inputs\n"
      "  precast inspect \"$(precast resolve model.onnx --ep openvino)\"   what the EP made of it\n\n"
      "Weights are not loaded. ONNX Runtime is loaded only for a compiled model, to ask its EP whether it fits what "
      "is\n"
      "here. External data that is missing is a warning. Exit code 2: no valid model.");
  command->callback([model, &chosen] { chosen = [model](Context& context) { return run_inspect(context, *model); }; });
}

}  // namespace precast::cli
