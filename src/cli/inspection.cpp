#include "cli/inspection.hpp"

#include <algorithm>

#include "identity/links.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::cli {

namespace {

ReferredFile look_at(fs::FileSystem& fs, const std::filesystem::path& model, const std::string& reference) {
  ReferredFile file{.reference = reference, .present = false, .size = {}};
  const auto stat = fs.stat(model::resolve_location(model, reference));
  file.present = stat && stat->kind == fs::FileKind::regular;
  if (file.present) file.size = stat->size;
  return file;
}

void inspect_external(fs::FileSystem& fs, Inspection& inspection) {
  for (const model::ExternalFile& wanted : inspection.facts.external_files) {
    const ReferredFile& file = inspection.external.emplace_back(look_at(fs, inspection.path, wanted.location));
    const std::string name = "external data " + util::quoted(wanted.location);
    if (!file.present) {
      inspection.warnings.push_back(name + " is missing");
    } else if (*file.size < wanted.bytes_needed) {
      inspection.warnings.push_back(name + " is too short: it has " + std::to_string(*file.size) +
                                    " bytes, the model wants " + std::to_string(wanted.bytes_needed));
    }
  }
}

bool stays_inside(const std::filesystem::path& reference) {
  return reference.is_relative() && std::ranges::find(reference, "..") == reference.end() &&
         reference.native().find('\0') == std::string::npos;
}

void inspect_contexts(fs::FileSystem& fs, Inspection& inspection) {
  for (const model::EpContextNode& node : inspection.facts.ep_context_nodes) {
    auto& file = inspection.binaries.emplace_back();
    if (node.embedded) continue;
    if (node.reference.empty()) {
      if (node.main) inspection.warnings.push_back("a main EPContext node of '" + node.source + "' has no binary");
      continue;
    }
    const std::string name = "compiled binary " + util::quoted(node.reference);
    if (!stays_inside(node.reference)) {
      file = ReferredFile{.reference = node.reference, .present = false, .size = {}};
      inspection.warnings.push_back(name + " lies outside the model's folder: it was not looked for");
      continue;
    }
    file = look_at(fs, inspection.path, node.reference);
    if (!file->present) inspection.warnings.push_back(name + " is missing");
  }
}

Result<ort::Compatibility> ask_ep(Context& context, const std::string& ep, const std::string& info) {
  PRECAST_TRY_ASSIGN(ort::Catalog* const catalog, context.catalog());
  const auto is_it = [&](const ort::FoundEp& found) { return found.name == ep; };
  if (std::ranges::none_of(catalog->found(), is_it)) return fail(ErrorCode::ep_unavailable, "the EP is not here");
  PRECAST_TRY_ASSIGN(const ort::Target target, catalog->choose(context.file_system(), {.ep = ep}, {}));
  return ort::check_compatibility(*catalog, target, info);
}

EpCompatibility compatibility_with(Context& context, const model::ModelFacts& facts, const std::string& ep) {
  EpCompatibility answer{.ep = ep, .info = {}, .verdict = {}, .reason = {}};
  answer.info = model::compatibility_info(facts, ep);
  if (!answer.info) {
    answer.reason = "the model does not say what it is compatible with";
    return answer;
  }
  const auto verdict = ask_ep(context, ep, *answer.info);
  if (!verdict) {
    answer.reason = verdict.error().message;
  } else if (*verdict == ort::Compatibility::not_applicable) {
    answer.reason = "the EP does not judge";
  } else {
    answer.verdict = *verdict;
  }
  return answer;
}

void inspect_compatibility(Context& context, Inspection& inspection) {
  std::vector<std::string> eps;
  for (const model::EpContextNode& node : inspection.facts.ep_context_nodes) {
    if (std::ranges::find(eps, node.source) == eps.end()) eps.push_back(node.source);
  }
  for (const std::string& ep : eps) {
    inspection.compatibility.push_back(compatibility_with(context, inspection.facts, ep));
  }
}

}  // namespace

Result<Inspection> inspect_model(Context& context, const std::filesystem::path& model) {
  fs::FileSystem& fs = context.file_system();
  Inspection inspection;
  inspection.path = identity::logical_absolute(model);
  PRECAST_TRY_ASSIGN(inspection.facts, model::read_model(fs, inspection.path));
  PRECAST_TRY_ASSIGN(const fs::FileStat stat, fs.stat(inspection.path));
  inspection.size = stat.size;
  PRECAST_TRY(model::check_external_locations(inspection.facts, inspection.path));
  inspect_external(fs, inspection);
  inspect_contexts(fs, inspection);
  inspect_compatibility(context, inspection);
  return inspection;
}

std::string_view to_string(ort::Compatibility verdict) {
  switch (verdict) {
    case ort::Compatibility::optimal:
      return "optimal";
    case ort::Compatibility::prefer_recompilation:
      return "prefer_recompilation";
    case ort::Compatibility::unsupported:
      return "unsupported";
    case ort::Compatibility::not_applicable:
      break;
  }
  return "not_applicable";
}

}  // namespace precast::cli
