#include <cstdlib>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/result_json.hpp"
#include "ort/executable.hpp"
#include "ort/runtime.hpp"

namespace precast::cli {

namespace {

// genai is loaded by the commands for bundles; here only its place is told.
std::filesystem::path find_genai(const std::string& option) {
  if (!option.empty()) return option;
  std::error_code ignored;  // what cannot be seen is not there
  for (const auto& folder : ort::with_parents(ort::executable_directory(), ort::kCheckoutParents)) {
    auto library = folder / ".deps/genai/onnxruntime_genai_core/bin/libonnxruntime-genai.so";
    if (std::filesystem::exists(library, ignored)) return library;
  }
  return {};
}

}  // namespace

int print_version(Context& context) {
  nlohmann::json json = document("version");
  std::string text = "precast " PRECAST_VERSION "\n";
  auto runtime =
      ort::Runtime::load({.library = context.options.ort_library, .executable_directory = {}, .assume_cpu_vendor = {}});
  if (runtime) {
    text += "ONNX Runtime " + (*runtime)->version() + " (" + (*runtime)->source() + ": " +
            path_text((*runtime)->library()) + ")\n";
    json["onnxruntime"] = {{"version", (*runtime)->version()},
                           {"source", (*runtime)->source()},
                           {"library", path_text((*runtime)->library())}};
  } else {
    text += "ONNX Runtime: not found: " + runtime.error().message + "\n";
    json["onnxruntime"] = nullptr;
  }
  const std::filesystem::path genai = find_genai(context.options.genai_library);
  std::error_code ignored;  // absent and unreadable are the same here
  const bool found = !genai.empty() && std::filesystem::exists(genai, ignored);
  text += found ? "onnxruntime-genai (" + path_text(genai) + ")\n" : "onnxruntime-genai: not found\n";
  json["onnxruntime_genai"] = found ? nlohmann::json{{"library", path_text(genai)}} : nlohmann::json(nullptr);
  if (context.output.json) {
    context.output.machine_json(json);
  } else {
    context.output.machine(text);
  }
  return kDone;
}

}  // namespace precast::cli
