// precast eps
#include <CLI/CLI.hpp>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/result_json.hpp"
#include "util/text.hpp"

namespace precast::cli {

namespace {

struct Row {
  ort::FoundEp found;
  Result<ort::EpDescription> description;
};

bool makes_ep_context(const ort::FoundEp& found) {
  return found.spec == nullptr || found.spec->makes_ep_context;
}

nlohmann::json device_json(const ort::DeviceInfo& device) {
  return {{"class", std::string(ort::to_string(device.device_class))},
          {"name", util::escape_invalid_utf8(device.name)},
          {"vendor", util::escape_invalid_utf8(device.vendor)},
          {"vendor_id", device.vendor_id},
          {"device_id", device.device_id}};
}

nlohmann::json row_json(const Row& row) {
  nlohmann::json json{
      {"name", row.found.name},
      {"aliases", nlohmann::json::array()},
      {"source", row.found.source},
      {"version", nullptr},
      {"library", row.found.library.empty() ? nlohmann::json(nullptr) : nlohmann::json(path_text(row.found.library))},
      {"epcontext", makes_ep_context(row.found)},
      {"devices", nlohmann::json::array()},
      {"error", nullptr}};
  if (row.found.spec != nullptr) {
    for (const std::string_view alias : row.found.spec->aliases) json["aliases"].push_back(std::string(alias));
  }
  if (!row.description) {
    json["error"] = util::escape_invalid_utf8(row.description.error().message);
    return json;
  }
  json["version"] = util::escape_invalid_utf8(row.description->version);
  for (const ort::DeviceInfo& device : row.description->devices) json["devices"].push_back(device_json(device));
  return json;
}

std::string devices_text(const ort::EpDescription& ep) {
  std::string text;
  for (const ort::DeviceInfo& device : ep.devices) {
    if (!text.empty()) text += ", ";
    text += std::string(ort::to_string(device.device_class));
    if (!device.name.empty()) text += " (" + util::escape_invalid_utf8(device.name) + ")";
  }
  return text.empty() ? "none here (precast doctor says why)" : text;
}

void print_table(Context& context, const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> cells{{"NAME", "EP", "VERSION", "SOURCE", "COMPILES", "DEVICES"}};
  for (const Row& row : rows) {
    const std::string alias = row.found.spec != nullptr ? std::string(row.found.spec->aliases.front()) : row.found.name;
    cells.push_back({alias, row.found.name, row.description ? row.description->version : "-", row.found.source,
                     makes_ep_context(row.found) ? "yes" : "no",
                     row.description ? devices_text(*row.description) : "error, see below"});
  }
  context.output.machine(util::format_table(std::move(cells)));
  for (const Row& row : rows) {
    if (!row.description) context.output.warn(row.found.name + ": " + row.description.error().message);
  }
}

int run_eps(Context& context) {
  auto catalog = context.catalog();
  if (!catalog) return report_error(context, "eps", catalog.error());
  std::vector<Row> rows;
  for (const ort::FoundEp& found : (*catalog)->found()) rows.push_back({found, (*catalog)->describe(found)});
  if (!context.output.json) {
    print_table(context, rows);
    return kDone;
  }
  nlohmann::json json = document("eps");
  json["eps"] = nlohmann::json::array();
  for (const Row& row : rows) json["eps"].push_back(row_json(row));
  context.output.machine_json(json);
  return kDone;
}

}  // namespace

void add_eps_command(CLI::App& app, Body& chosen) {
  CLI::App* command = app.add_subcommand("eps", "Execution providers and devices; why one could not be registered");
  command->fallthrough();
  command->footer(
      "Examples:\n"
      "  precast eps\n"
      "  precast eps --json\n"
      "  precast eps --ep-library my_ep=/opt/my_ep/libmy_ep.so\n\n"
      "COMPILES says whether the EP makes EPContext models. Search order: --ep-library, PRECAST_EP_PATH, the "
      "checkout's\n"
      ".deps, the site-packages of $VIRTUAL_ENV or $CONDA_PREFIX, the system.");
  command->callback([&chosen] { chosen = run_eps; });
}

}  // namespace precast::cli
