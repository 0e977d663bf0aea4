#include "cli/bundle_path.hpp"

#include "genai/bundle.hpp"
#include "util/text.hpp"

namespace precast::cli {

namespace {

// What cannot be looked at is a model that cannot be read.
bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

bool is_bundle(const std::filesystem::path& path) {
  return path.filename() == genai::kConfigName || is_there(path / genai::kConfigName);
}

Result<void> require_model(const std::filesystem::path& path) {
  if (!is_bundle(path) || !is_there(path)) return {};
  return fail(ErrorCode::bad_input, util::quoted(path) + " is a language-model bundle, not a model", path,
              "the commands for bundles are precast compile, generate, chat and perf; name one of its .onnx files to "
              "have that stage alone");
}

}  // namespace precast::cli
