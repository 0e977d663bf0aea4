// precast doctor
#include <CLI/CLI.hpp>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/result_json.hpp"
#include "cli/store_checks.hpp"
#include "compile/worker_process.hpp"
#include "genai/library.hpp"
#include "util/text.hpp"

namespace precast::cli {

namespace {

Check failed_check(std::string name, const Error& error) {
  return {std::move(name), false, error.message, error.hint};
}

std::string no_device_hint(const ort::FoundEp& found) {
  if (found.name != "OpenVINOExecutionProvider") return "its hardware is not in this machine";
  return "its CPU device is offered on Intel CPUs only; PRECAST_ASSUME_CPU_VENDOR=intel makes it work on others";
}

Check check_runtime(Context& context) {
  const auto catalog = context.catalog();
  if (!catalog) return failed_check("onnxruntime", catalog.error());
  const ort::Runtime& runtime = (*catalog)->runtime();
  return {"onnxruntime", true, "ONNX Runtime " + runtime.version() + " at " + path_text(runtime.library()), ""};
}

void check_eps(Context& context, std::vector<Check>& checks) {
  const auto catalog = context.catalog();
  if (!catalog) return;  // reported by check_runtime
  bool compiles = false;
  for (const ort::FoundEp& found : (*catalog)->found()) {
    const auto ep = (*catalog)->describe(found);
    const std::string name = "ep " + found.name;
    if (!ep) {
      checks.push_back(failed_check(name, ep.error()));
      continue;
    }
    compiles |= !ep->devices.empty() && (found.spec == nullptr || found.spec->makes_ep_context);
    if (ep->devices.empty()) {
      checks.push_back({name, false, "it offers no device here", no_device_hint(found)});
      continue;
    }
    checks.push_back(
        {name, true,
         "version " + ep->version + ", " + std::to_string(ep->devices.size()) + " device(s), " + found.source, ""});
  }
  if (!compiles) {
    checks.push_back({"eps", false, "no EP here makes compiled models",
                      "install one (for example the package onnxruntime-ep-openvino) and name it with --ep-library or "
                      "PRECAST_EP_PATH"});
  }
}

Check check_worker(Context& context) {
  const auto worker = compile::find_worker(context.file_system(), {});
  if (!worker) return failed_check("precast-worker", worker.error());
  const auto said = compile::ask_worker_version(*worker);
  if (!said) return failed_check("precast-worker", said.error());
  return {"precast-worker", true, path_text(*worker), ""};
}

// Only bundles need it.
Check check_genai(Context& context) {
  const genai::LibraryOptions options{.library = context.options.genai_library, .executable_directory = {}};
  const auto found = genai::find_library(context.file_system(), options);
  if (!found && context.options.genai_library.empty() && found.error().code == ErrorCode::ep_unavailable) {
    return {"onnxruntime-genai", true, "not found; only bundles need it", ""};
  }
  if (!found) return failed_check("onnxruntime-genai", found.error());
  const auto catalog = context.catalog();
  if (!catalog) return {"onnxruntime-genai", true, path_text(found->library), ""};
  const auto loaded = genai::Library::load(context.file_system(), (*catalog)->runtime(), options);
  if (!loaded) return failed_check("onnxruntime-genai", loaded.error());
  return {"onnxruntime-genai", true,
          (found->version.empty() ? "" : found->version + " at ") + path_text(found->library), ""};
}

void check_store(Context& context, std::vector<Check>& checks) {
  const auto store = context.store(/*create=*/false);
  if (!store && store.error().code == ErrorCode::not_found) {
    checks.push_back({"store", true, store.error().message + "; the first compile makes it", ""});
    return;
  }
  if (!store) {
    checks.push_back(failed_check("store", store.error()));
    return;
  }
  const std::string root = path_text((*store)->layout().root());
  if ((*store)->writable()) {
    checks.push_back({"store", true, root, ""});
  } else {
    checks.push_back({"store", false, root + " cannot be written: hits work, nothing new is kept",
                      "make it writable, or use another --cache-dir"});
  }
  const auto health = (*store)->examine();
  if (!health) {
    checks.push_back(failed_check("store records", health.error()));
    return;
  }
  for (Check& check : store_checks(*health)) checks.push_back(std::move(check));
}

int run_doctor(Context& context) {
  std::vector<Check> checks{check_runtime(context)};
  check_eps(context, checks);
  checks.push_back(check_genai(context));
  checks.push_back(check_worker(context));
  check_store(context, checks);
  bool ok = true;
  nlohmann::json json = document("doctor");
  json["checks"] = nlohmann::json::array();
  std::string text;
  for (const Check& check : checks) {
    ok &= check.ok;
    json["checks"].push_back({{"name", check.name},
                              {"ok", check.ok},
                              {"message", util::escape_invalid_utf8(check.message)},
                              {"hint", check.hint.empty() ? nlohmann::json(nullptr) : nlohmann::json(check.hint)}});
    text +=
        (check.ok ? "ok       " : "PROBLEM  ") + check.name + ": " + util::escape_invalid_utf8(check.message) + "\n";
    if (!check.hint.empty()) text += "         -> " + check.hint + "\n";
  }
  if (context.output.json) {
    context.output.machine_json(json);
  } else {
    context.output.machine(text);
  }
  return ok ? kDone : kFailed;
}

}  // namespace

void add_doctor_command(CLI::App& app, Body& chosen) {
  CLI::App* command = app.add_subcommand("doctor", "Check the installation and say what to do");
  command->fallthrough();
  command->footer(
      "Examples:\n"
      "  precast doctor\n"
      "  precast doctor --json | jq '.checks[] | select(.ok == false)'\n\n"
      "Looks at ONNX Runtime, the EPs, the worker and the store; hashes nothing (precast cache verify does).\n"
      "Exit code 1 when something is wrong.");
  command->callback([&chosen] { chosen = run_doctor; });
}

}  // namespace precast::cli
