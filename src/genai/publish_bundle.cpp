#include "genai/publish_bundle.hpp"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "genai/publish_draft.hpp"
#include "identity/hashing_digester.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::genai {

namespace {

namespace stdfs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kLargestRecord = std::uint64_t{16} << 20U;

// As far as it exists, without links: a folder may be reached by several names.
stdfs::path real(const stdfs::path& path) {
  std::error_code ignored;  // what does not exist keeps its name
  stdfs::path resolved = stdfs::weakly_canonical(path, ignored);
  return resolved.empty() ? path : resolved;
}

// Every file below `folder` but the record itself; of what is no regular file the digest says so.
Result<Files> hash_folder(fs::FileSystem& fs, const stdfs::path& folder, const util::CancelToken* cancel) {
  PRECAST_TRY_ASSIGN(const auto entries, fs::list_tree(fs, folder));
  Files files;
  for (const fs::TreeEntry& entry : entries) {
    if (is_of_publishing(entry.path)) continue;
    identity::FileEvidence& evidence = files[entry.path.string()];
    evidence.sha256 = "not a regular file";
    if (entry.kind != fs::FileKind::regular) continue;
    PRECAST_TRY_ASSIGN(evidence, identity::hash_file(fs, folder / entry.path, cancel));
  }
  return files;
}

Digests digests_of(const Files& files) {
  Digests digests;
  for (const auto& [name, evidence] : files) digests[name] = evidence.sha256;
  return digests;
}

// What the folder will hold, from where it comes from and not from the copies.
Result<Digests> planned(fs::FileSystem& fs, const BundleRecipe& recipe, const util::CancelToken* cancel) {
  Digests digests{{std::string(kConfigName), util::sha256_hex(recipe.config)}};
  std::vector<stdfs::path> names;
  std::vector<stdfs::path> sources;
  const auto add = [&](const stdfs::path& name, const stdfs::path& source) {
    names.push_back(name);
    sources.push_back(source);
  };
  for (const BundleFile& file : recipe.files) {
    if (!is_of_publishing(file.name)) add(file.name, file.from);
  }
  for (const StoredStage& stage : recipe.stages) {
    for (const store::Artifact& artifact : stage.artifacts) {
      const stdfs::path name = stage.place / artifact.path;
      digests[name.string()] = artifact.sha256;
      if (artifact.sha256.empty()) add(name, stage.folder / artifact.path);
    }
  }
  PRECAST_TRY_ASSIGN(const auto hashed, identity::hash_files(fs, sources, cancel));
  for (std::size_t i = 0; i < names.size(); ++i) digests[names[i].string()] = hashed[i].sha256;
  return digests;
}

std::string record_text(const Digests& files) {
  return json{{"schema", 1}, {"precast_version", PRECAST_VERSION}, {"files", files}}.dump(1) + "\n";
}

// What precast put there; nullopt: it did not, or somebody changed the record.
std::optional<Digests> published_files(fs::FileSystem& fs, const stdfs::path& folder) {
  const auto text = fs::read_small_file(fs, folder / kPublishedName, kLargestRecord);
  if (!text) return std::nullopt;
  const json record = json::parse(*text, nullptr, false);
  if (!record.is_object() || record.value("schema", json()) != 1 || !record.contains("files")) return std::nullopt;
  Digests files;
  if (!record["files"].is_object()) return std::nullopt;
  for (const auto& [name, sha256] : record["files"].items()) {
    if (!sha256.is_string()) return std::nullopt;
    files[name] = sha256.get<std::string>();
  }
  return files;
}

std::unexpected<Error> in_the_way(const stdfs::path& output, const std::string& what, const char* hint) {
  return fail(ErrorCode::bad_input, util::quoted(output) + " " + what, output, hint);
}

struct Look {
  There there = There::nothing;
  Digests files;        // of ours
  std::string missing;  // one that was published and is gone
};

Result<Look> look_at(fs::FileSystem& fs, const PublishBundle& request) {
  const auto stat = fs.lstat(request.output);
  if (!stat && fs::is_not_found(stat.error())) return Look{};
  if (!stat) return std::unexpected(stat.error());
  if (stat->kind == fs::FileKind::symlink) return in_the_way(request.output, "is a link", "name a folder");
  if (stat->kind != fs::FileKind::directory) return in_the_way(request.output, "is not a folder", "name a folder");
  PRECAST_TRY_ASSIGN(const auto entries, fs.list(request.output));
  if (entries.empty()) return Look{There::empty, {}, {}};
  const auto recorded = published_files(fs, request.output);
  if (!recorded) {
    return in_the_way(request.output, "is not empty, and precast did not publish a bundle there",
                      "name another folder, or empty it yourself");
  }
  PRECAST_TRY_ASSIGN(const Files found, hash_folder(fs, request.output, request.cancel));
  Look look{There::ours, digests_of(found), {}};
  for (const auto& [name, sha256] : look.files) {
    const auto one = recorded->find(name);
    if (one != recorded->end() && one->second == sha256) continue;
    return in_the_way(request.output,
                      "has a file that precast did not publish, or that was changed since: " + util::quoted(name),
                      "move it away, or name another folder");
  }
  for (const auto& [name, sha256] : *recorded) {
    if (!look.files.contains(name)) look.missing = name;
  }
  return look;
}

Result<void> check_place(fs::FileSystem& fs, const PublishBundle& request) {
  const stdfs::path output = real(request.output);
  const std::pair<stdfs::path, const char*> others[] = {{real(request.original), "the bundle"},
                                                        {real(request.store), "the cache"}};
  for (const auto& [other, name] : others) {
    if (!fs::is_within(other, output) && !fs::is_within(output, other)) continue;
    return in_the_way(request.output, std::string("is, or lies in or around, ") + name,
                      "name a folder of its own with -o");
  }
  if (fs::is_temporary(request.output.filename().native())) {
    return in_the_way(request.output, "is a name of precast's own temporary folders", "name another folder with -o");
  }
  for (stdfs::path at = output; at.has_relative_path();) {
    at = at.parent_path();
    if (!fs::exists(fs, at / kPublishedName)) continue;
    return in_the_way(request.output, "lies in a bundle that precast published, " + util::quoted(at),
                      "name a folder of its own with -o");
  }
  return {};
}

// The copies are what they should be, and nothing else is there.
Result<void> check_copies(const BundleRecipe& recipe, const Digests& wanted, const Files& files,
                          const stdfs::path& folder) {
  for (const auto& [name, sha256] : wanted) {
    const auto file = files.find(name);
    if (file != files.end() && file->second.sha256 == sha256) continue;
    const bool stored = std::ranges::any_of(
        recipe.stages, [&](const StoredStage& stage) { return fs::is_within(stage.place, stdfs::path(name)); });
    if (stored) {
      return fail(ErrorCode::corrupt, "the copy of " + util::quoted(name) + " has other bytes than were stored",
                  folder / name, "precast cache verify shows what is damaged");
    }
    return fail(ErrorCode::busy, util::quoted(name) + " changed while it was copied", recipe.original / name,
                "try again when nothing writes to it any more");
  }
  const auto added = std::ranges::find_if(files, [&](const auto& file) { return !wanted.contains(file.first); });
  if (added == files.end()) return {};
  return fail(ErrorCode::busy, "somebody else wrote " + util::quoted(folder / added->first), folder, "try again");
}

// What whoever was killed before deleting it left there is deleted.
Result<PublishedBundle> same_again(fs::FileSystem& fs, const PublishBundle& request) {
  const stdfs::path left = request.output / kLeaseName;
  if (fs::exists(fs, left)) PRECAST_TRY(fs.unlink(left));
  return PublishedBundle{request.output, Publication::same};
}

std::unexpected<Error> refuse_other(const PublishBundle& request, const Look& look) {
  if (look.missing.empty()) {
    return in_the_way(request.output, "has another bundle that precast published", "replace it with --overwrite");
  }
  return in_the_way(request.output, "lacks a file that precast published there: " + util::quoted(look.missing),
                    "--overwrite makes it whole again");
}

}  // namespace

Result<void> check_bundle_output(fs::FileSystem& fs, const PublishBundle& request) {
  PRECAST_TRY(check_place(fs, request));
  PRECAST_TRY_ASSIGN(const ParentLock lock, ParentLock::take(fs, request));
  PRECAST_TRY_ASSIGN(const Look look, look_at(fs, request));
  if (look.there == There::ours) return {};  // what is there may be what would be written
  return fs::check_can_write(fs, request.output.parent_path());
}

Result<PublishedBundle> publish_bundle(fs::FileSystem& fs, const PreparedBundle& prepared,
                                       const PublishBundle& request) {
  if (!prepared.recipe) return fail(ErrorCode::internal, "no stage is compiled: there is nothing to publish");
  PRECAST_TRY(check_place(fs, request));
  const stdfs::path parent = request.output.parent_path();
  PRECAST_TRY(fs::make_directories(fs, parent, kPublishedFolderMode, fs::Durability::durable));
  PRECAST_TRY_ASSIGN(const Digests wanted, planned(fs, *prepared.recipe, request.cancel));
  Draft draft(fs, request.output);
  {
    PRECAST_TRY_ASSIGN(const ParentLock lock, ParentLock::take(fs, request));
    remove_left_drafts(fs, parent);
    PRECAST_TRY_ASSIGN(const Look look, look_at(fs, request));
    if (look.there == There::ours && look.files == wanted) return same_again(fs, request);
    PRECAST_TRY(draft.make());
  }
  PRECAST_TRY(assemble(fs, *prepared.recipe, draft.folder(), StoredFiles::copy));
  PRECAST_TRY(draft.make_durable());
  PRECAST_TRY_ASSIGN(const Files files, hash_folder(fs, draft.folder(), request.cancel));
  PRECAST_TRY(check_copies(*prepared.recipe, wanted, files, draft.folder()));
  PRECAST_TRY(draft.write_record(record_text(wanted)));
  PRECAST_TRY_ASSIGN(const ParentLock lock, ParentLock::take(fs, request));
  PRECAST_TRY_ASSIGN(const Look look, look_at(fs, request));
  if (look.there == There::ours) {
    if (look.files == wanted) return same_again(fs, request);
    if (!request.overwrite) return refuse_other(request, look);
    const bool failed = std::ranges::any_of(
        prepared.stages, [](const PreparedStage& stage) { return stage.outcome == StageOutcome::failed; });
    if (failed) return PublishedBundle{request.output, Publication::kept};
  }
  PRECAST_TRY(draft.check_untouched(files));
  if (auto moved = draft.move_to(request.output, look.there); !moved) {
    if (moved.error().hint.empty())
      moved.error().hint = "delete what is there yourself, or name another folder with -o";
    return std::unexpected(std::move(moved).error());
  }
  return PublishedBundle{request.output, Publication::written};
}

}  // namespace precast::genai
