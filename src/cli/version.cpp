#include <cstdlib>

#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/result_json.hpp"
#include "genai/library.hpp"
#include "ort/runtime.hpp"

namespace precast::cli {

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
  // Found, but not loaded: the commands for bundles do that.
  const auto genai = genai::find_library(context.file_system(),
                                         {.library = context.options.genai_library, .executable_directory = {}});
  if (genai) {
    text += "onnxruntime-genai " + genai->version + (genai->version.empty() ? "(" : " (") + genai->source + ": " +
            path_text(genai->library) + ")\n";
    json["onnxruntime_genai"] = {
        {"version", genai->version.empty() ? nlohmann::json(nullptr) : nlohmann::json(genai->version)},
        {"source", genai->source},
        {"library", path_text(genai->library)}};
  } else {
    text += "onnxruntime-genai: not found: " + genai.error().message + "\n";
    json["onnxruntime_genai"] = nullptr;
  }
  if (context.output.json) {
    context.output.machine_json(json);
  } else {
    context.output.machine(text);
  }
  return kDone;
}

}  // namespace precast::cli
