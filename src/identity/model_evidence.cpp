// take_model_evidence. Warm, nothing of the model is read: its digest, the facts remembered under it, and the digests
// of the files that those name.
#include <algorithm>

#include "identity/groups.hpp"
#include "identity/identity.hpp"
#include "identity/links.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::identity {
namespace {

Result<FileEvidence> digest_one(Digester& digester, const std::filesystem::path& path, const std::string& group) {
  PRECAST_TRY_ASSIGN(std::vector<FileEvidence> evidence, digester.digest(std::span(&path, 1), group));
  if (evidence.size() != 1) return fail(ErrorCode::internal, "the digester did not answer for " + util::quoted(path));
  return std::move(evidence.front());
}

// What is wrong with the model file itself is said best by who knows models: a folder, a FIFO, empty, unreadable.
Result<FileEvidence> digest_model(fs::FileSystem& fs, Digester& digester, const std::filesystem::path& model) {
  auto evidence = digest_one(digester, model, model_group(model));
  if (evidence || evidence.error().code == ErrorCode::cancelled) return evidence;
  PRECAST_TRY(model::read_model(fs, model));
  return evidence;
}

std::string facts_name(const std::string& sha256) {
  return "model-" + sha256;
}

// What an earlier reading of the same bytes found; nothing if that was another version's.
std::optional<model::ModelFacts> remembered_facts(Digester& digester, const std::string& sha256) {
  const auto text = digester.facts(facts_name(sha256));
  if (!text) return std::nullopt;
  auto facts = model::parse_facts(*text);
  if (!facts) return std::nullopt;
  return *std::move(facts);
}

Result<model::ModelFacts> facts_of(fs::FileSystem& fs, Digester& digester, const FileEvidence& evidence) {
  if (auto known = remembered_facts(digester, evidence.sha256)) return *std::move(known);
  PRECAST_TRY_ASSIGN(model::ModelFacts facts, model::read_model(fs, evidence.path));
  PRECAST_TRY_ASSIGN(const fs::FileStat stat, fs.stat(evidence.path));
  if (evidence_stat(stat) != evidence_stat(evidence.stat)) {
    return fail(ErrorCode::busy, "model " + util::quoted(evidence.path) + " was replaced while it was read",
                evidence.path, "wait until nobody writes it any more, and try again");
  }
  digester.remember_facts(facts_name(evidence.sha256), model::serialize_facts(facts));
  return facts;
}

Result<model::ModelFacts> facts_of_bytes(Digester& digester, const std::string& sha256, std::string_view bytes,
                                         const std::string& shown) {
  if (auto known = remembered_facts(digester, sha256)) return *std::move(known);
  PRECAST_TRY_ASSIGN(model::ModelFacts facts, model::parse_model(bytes, shown));
  digester.remember_facts(facts_name(sha256), model::serialize_facts(facts));
  return facts;
}

std::string named(const model::ExternalFile& file) {
  return "external data '" + file.location + "' of tensor '" + file.first_tensor + "'";
}

// Why the digester refused one of the files.
std::unexpected<Error> explain(fs::FileSystem& fs, const std::vector<model::ExternalFile>& files,
                               const std::filesystem::path& model, Error error) {
  if (error.code == ErrorCode::cancelled) return std::unexpected(std::move(error));
  for (const model::ExternalFile& file : files) {
    const std::filesystem::path path = model::resolve_location(model, file.location);
    const auto stat = fs.stat(path);
    if (!stat && fs::is_not_found(stat.error())) {
      return fail(ErrorCode::bad_input, named(file) + " is missing: there is no " + util::quoted(path), path,
                  "put the file beside the model, where it stood when the model was exported");
    }
    if (stat && stat->kind != fs::FileKind::regular) {
      const bool folder = stat->kind == fs::FileKind::directory;
      return fail(ErrorCode::bad_input,
                  named(file) + " is " + (folder ? "a folder" : "no regular file") + ": " + util::quoted(path), path,
                  "put the data file there");
    }
    if (error.path != path) continue;
    // Also what cannot be read is the caller's to mend, as the model itself would be.
    if (error.code == ErrorCode::io) error.code = ErrorCode::bad_input;
    if (error.hint.empty()) error.hint = "check the permissions of the file and its folders";
    error.message = named(file) + " cannot be used: " + error.message;
  }
  return std::unexpected(std::move(error));
}

Result<void> check_length(const model::ExternalFile& file, const FileEvidence& evidence) {
  if (evidence.stat.size >= file.bytes_needed) return {};
  return fail(ErrorCode::bad_input,
              named(file) + " is too short: " + util::quoted(evidence.path) + " has " +
                  std::to_string(evidence.stat.size) + " bytes, the model wants " + std::to_string(file.bytes_needed),
              evidence.path, "the file was not copied to its end, or it belongs to another model");
}

Result<std::vector<FileEvidence>> digest_external(fs::FileSystem& fs, Digester& digester,
                                                  const model::ModelFacts& facts, const std::filesystem::path& model) {
  const std::vector<model::ExternalFile>& files = facts.external_files;
  if (files.empty()) return std::vector<FileEvidence>{};
  std::vector<std::filesystem::path> paths;
  paths.reserve(files.size());
  for (const model::ExternalFile& file : files) paths.push_back(model::resolve_location(model, file.location));
  auto evidence = digester.digest(paths, model_group(model));
  if (!evidence) return explain(fs, files, model, std::move(evidence).error());
  if (evidence->size() != files.size()) return fail(ErrorCode::internal, "the digester did not answer for every file");
  for (std::size_t i = 0; i < files.size(); ++i) PRECAST_TRY(check_length(files[i], (*evidence)[i]));
  return evidence;
}

// Is `file`, or a folder on the way to it from the model's own folder, a link? (Links above that folder do not concern
// an EP: seen from the model, everything is where it seems to be.)
Result<bool> link_below(fs::FileSystem& fs, const std::filesystem::path& folder, const std::filesystem::path& file) {
  std::filesystem::path here = folder;
  auto part = file.begin();
  for (auto above = folder.begin(); above != folder.end() && part != file.end(); ++above) ++part;
  for (; part != file.end(); ++part) {
    here /= *part;
    PRECAST_TRY_ASSIGN(const fs::FileStat stat, fs.lstat(here));
    if (stat.kind == fs::FileKind::symlink) return true;
  }
  return false;
}

Result<bool> needs_staging(fs::FileSystem& fs, const ModelEvidence& evidence) {
  for (const FileEvidence& file : evidence.files) {
    if (file.links.empty()) continue;
    PRECAST_TRY_ASSIGN(const bool link, link_below(fs, evidence.model.parent_path(), file.path));
    if (link) return true;
  }
  return false;
}

}  // namespace

Result<ModelEvidence> take_model_evidence(fs::FileSystem& fs, Digester& digester, const std::filesystem::path& model) {
  ModelEvidence evidence;
  evidence.model = logical_absolute(model);
  PRECAST_TRY_ASSIGN(FileEvidence graph, digest_model(fs, digester, evidence.model));
  PRECAST_TRY_ASSIGN(evidence.facts, facts_of(fs, digester, graph));
  PRECAST_TRY(model::check_external_locations(evidence.facts, evidence.model));
  PRECAST_TRY_ASSIGN(std::vector<FileEvidence> external, digest_external(fs, digester, evidence.facts, evidence.model));
  evidence.files.push_back(std::move(graph));
  std::move(external.begin(), external.end(), std::back_inserter(evidence.files));
  PRECAST_TRY_ASSIGN(evidence.through_links, needs_staging(fs, evidence));
  return evidence;
}

Result<ModelEvidence> take_memory_evidence(fs::FileSystem& fs, Digester& digester, std::string_view bytes,
                                           const std::filesystem::path& folder, const ModelEvidence* known) {
  ModelEvidence evidence;
  if (known != nullptr) {
    evidence.model = known->model;
    evidence.facts = known->facts;
    evidence.files.push_back(known->files.front());
  } else {
    FileEvidence graph;
    graph.sha256 = util::sha256_hex(bytes);
    // The digest keeps different models in different families of the store.
    const std::string name = "(model in memory, " + graph.sha256.substr(0, 16) + ")";
    evidence.model = folder.empty() ? std::filesystem::path("/") / name : logical_absolute(folder) / name;
    graph.path = evidence.model;
    graph.stat.size = bytes.size();
    PRECAST_TRY_ASSIGN(evidence.facts, facts_of_bytes(digester, graph.sha256, bytes, name));
    evidence.files.push_back(std::move(graph));
  }
  PRECAST_TRY(model::check_external_locations(evidence.facts, evidence.model));
  if (folder.empty() && !evidence.facts.external_files.empty()) {
    return fail(ErrorCode::bad_input,
                "the model in memory has " + named(evidence.facts.external_files.front()) + ", and no folder is given",
                {}, "give the folder of its external data");
  }
  PRECAST_TRY_ASSIGN(std::vector<FileEvidence> external, digest_external(fs, digester, evidence.facts, evidence.model));
  std::move(external.begin(), external.end(), std::back_inserter(evidence.files));
  return evidence;
}

}  // namespace precast::identity
