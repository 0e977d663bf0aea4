#include "compile/checks.hpp"

#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::compile {

namespace {

Error bad(const std::string& what, const std::filesystem::path& path) {
  return {ErrorCode::compile_failed, "the EP reported success but " + what, path,
          "this is a defect of the EP; the model itself still runs uncompiled"};
}

// ORT's own marker for external data that stands in memory instead of a file.
bool is_memory_reference(const std::string& location) {
  return location.find("_ORT_MEM_ADDR_") != std::string::npos;
}

Result<void> check_reference(fs::FileSystem& fs, const std::filesystem::path& folder, const std::string& reference,
                             const std::string& what) {
  const std::string shown = "'" + util::escape_invalid_utf8(reference) + "'";
  const std::filesystem::path relative(reference);
  if (reference.empty()) return std::unexpected(bad(what + " is empty", folder));
  if (!util::is_utf8(reference) || reference.find('\0') != std::string::npos) {
    return std::unexpected(bad(what + " " + shown + " is not UTF-8 text", folder));
  }
  if (is_memory_reference(reference)) return std::unexpected(bad(what + " " + shown + " refers to memory", folder));
  if (relative.is_absolute()) return std::unexpected(bad(what + " " + shown + " is an absolute path", folder));
  std::filesystem::path walked = folder;
  for (const auto& part : relative) {
    if (part == "..") return std::unexpected(bad(what + " " + shown + " leaves its folder", folder));
    walked /= part;
    const auto stat = fs.lstat(walked);
    if (!stat) return std::unexpected(bad(what + " " + shown + " was not written", walked));
    if (stat->kind == fs::FileKind::symlink) return std::unexpected(bad(what + " " + shown + " is a link", walked));
    if (walked == folder / relative) {
      if (stat->kind != fs::FileKind::regular) return std::unexpected(bad(what + " " + shown + " is no file", walked));
      if (stat->size == 0) return std::unexpected(bad(what + " " + shown + " is empty", walked));
    }
  }
  return {};
}

}  // namespace

Result<model::ModelFacts> check_compiled(fs::FileSystem& fs, const std::filesystem::path& folder,
                                         const std::string& ep_name, std::string_view name) {
  const std::filesystem::path path = folder / name;
  auto facts = model::read_model(fs, path);
  if (!facts) return std::unexpected(bad("its result does not parse: " + facts.error().message, path));
  if (facts->ep_context_nodes.empty()) return std::unexpected(bad("its result has no EPContext node", path));
  for (const model::EpContextNode& node : facts->ep_context_nodes) {
    if (node.source != ep_name) {
      return std::unexpected(bad("a node of its result says source '" + util::escape_invalid_utf8(node.source) +
                                     "' instead of '" + ep_name + "'",
                                 path));
    }
    if (node.embedded) {
      if (node.main && node.inline_bytes == 0) return std::unexpected(bad("an embedded context is empty", path));
    } else if (node.main || !node.reference.empty()) {
      PRECAST_TRY(check_reference(fs, folder, node.reference, "the context reference"));
    }
  }
  for (const model::ExternalFile& file : facts->external_files) {
    PRECAST_TRY(check_reference(fs, folder, file.location, "the external data of tensor '" + file.first_tensor + "'"));
  }
  return facts;
}

}  // namespace precast::compile
