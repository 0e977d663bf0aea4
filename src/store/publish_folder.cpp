#include "store/publish_folder.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "model/model_facts.hpp"
#include "store/read_record.hpp"
#include "util/text.hpp"

namespace precast::store {
namespace {

using Names = std::set<std::string, std::less<>>;

constexpr int kSharedAttempts = 20;
constexpr std::chrono::milliseconds kPause{10};

void add_normal(Names& names, const std::string& reference) {
  names.insert(std::filesystem::path(reference).lexically_normal().string());
}

// What the .onnx files of a folder name. nullopt: one of them cannot be judged.
std::optional<Names> named_by_models(fs::FileSystem& fs, const std::filesystem::path& folder) {
  const auto entries = fs.list(folder);
  if (!entries) return std::nullopt;
  Names names;
  for (const fs::DirEntry& entry : *entries) {
    const std::filesystem::path path = folder / entry.name;
    if (util::ascii_lower(path.extension().native()) != ".onnx" || entry.kind == fs::FileKind::directory) continue;
    const auto facts = model::read_model(fs, path);
    if (!facts) return std::nullopt;
    for (const model::EpContextNode& node : facts->ep_context_nodes) add_normal(names, node.reference);
    for (const model::ExternalFile& file : facts->external_files) add_normal(names, file.location);
  }
  return names;
}

void add_kept(Names& names, const PublishRecord& record) {
  const std::size_t kept = std::min(kKeptPublications, record.publications.size());
  for (const Publication& publication : std::span(record.publications).first(kept)) {
    for (const Artifact& file : publication.files) names.insert(file.path);
  }
}

// What other outputs in the same folder keep, whatever they are called. A damaged record keeps nothing (verify names
// it); what its .onnx names is kept for that. False: a record cannot be read now.
bool add_kept_by_others(Names& names, Store& store, const Destination& to) {
  const auto entries = store.file_system().list(store.layout().publish());
  if (!entries) return false;
  for (const fs::DirEntry& entry : *entries) {
    const auto path = store.layout().publish() / entry.name;
    if (path == store.layout().publish_record(to.id) || fs::is_temporary(entry.name)) continue;
    const auto text = read_record(store.file_system(), path);
    if (!text && text.error().code != ErrorCode::corrupt) return false;
    if (!text || !*text) continue;
    const auto record = parse_publish_record(**text);
    if (record && record->folder == to.folder_id) add_kept(names, *record);
  }
  return true;
}

class Pruning {
 public:
  // `own`: of this output's newer publications, which answer for them; `named`: by others.
  Pruning(Store& store, const Destination& to, Names own, Names named)
      : store_(store), to_(to), own_(std::move(own)), named_(std::move(named)) {}

  // True: nothing is left of it that this output would have to answer for.
  bool remove(const Publication& publication) {
    bool gone = true;
    for (const Artifact& file : publication.files) gone = remove_file(file) && gone;
    return gone;
  }

 private:
  bool remove_file(const Artifact& file) {
    fs::FileSystem& fs = store_.file_system();
    const std::filesystem::path path = to_.folder / file.path;
    if (own_.contains(file.path)) return true;
    const auto stat = fs.lstat(path);
    if (!stat) return fs::is_not_found(stat.error());
    if (stat->kind != fs::FileKind::regular || file.path == to_.name) return true;  // not ours any more
    if (named_.contains(file.path)) return false;
    const auto digest = store_.memo().digest(std::span(&path, 1), "publish:" + to_.id);
    if (!digest) return false;
    return digest->front().sha256 != file.sha256 || fs.unlink(path).has_value();
  }

  Store& store_;
  const Destination& to_;
  Names own_;
  Names named_;
};

}  // namespace

std::optional<FolderLock> FolderLock::try_acquire(fs::FileSystem& fs, const std::filesystem::path& folder,
                                                  fs::LockKind kind) {
  auto file = fs.open(folder, fs::OpenMode::read);
  if (!file) return std::nullopt;
  const int attempts = kind == fs::LockKind::shared ? kSharedAttempts : 1;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(kPause);
    const auto locked = fs.try_lock(*file, kind);
    if (!locked) return std::nullopt;  // not on this file system
    if (*locked) return FolderLock(*std::move(file));
  }
  return std::nullopt;
}

void sweep_published_folder(fs::FileSystem& fs, const std::filesystem::path& folder) {
  const auto alone = FolderLock::try_acquire(fs, folder, fs::LockKind::exclusive);
  const auto entries = fs.list(folder);
  if (!alone || !entries) return;
  for (const fs::DirEntry& entry : *entries) {
    // Whoever else writes such a file holds its lock.
    if (fs::is_temporary(entry.name)) fs::remove_left_temporary(fs, folder / entry.name);
  }
}

void prune_publications(Store& store, const Destination& to, PublishRecord record) {
  if (record.publications.size() <= kKeptPublications) return;
  fs::FileSystem& fs = store.file_system();
  const auto alone = FolderLock::try_acquire(fs, to.folder, fs::LockKind::exclusive);
  if (!alone) return;
  auto named = named_by_models(fs, to.folder);
  if (!named || !add_kept_by_others(*named, store, to)) return;
  Names own;
  add_kept(own, record);

  Pruning pruning(store, to, std::move(own), *std::move(named));
  const auto older = record.publications.begin() + static_cast<std::ptrdiff_t>(kKeptPublications);
  const auto rest = std::remove_if(older, record.publications.end(),
                                   [&](const Publication& publication) { return pruning.remove(publication); });
  record.publications.erase(rest, record.publications.end());
  // If it cannot be written, files that are gone stay listed: they are looked for again.
  (void)fs::write_file_atomically(fs, store.layout().publish_record(to.id), serialize(record), fs::Durability::durable);
}

}  // namespace precast::store
