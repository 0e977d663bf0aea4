#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "identity/hashing_digester.hpp"
#include "store/read_record.hpp"
#include "store/store_state.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::store {
namespace {

bool is_of_another_schema(std::string_view name) {
  if (name == kMarkerName || name == kFailedName || name == kManifestName) return false;
  return util::glob_match("marker.*.json", name) || util::glob_match("failed.*.json", name) ||
         util::glob_match("manifest.*.json", name);
}

enum class Depth : std::uint8_t { structure, bytes };

struct Checked {
  Marker marker;
  std::string text;
};

class Verification {
 public:
  using Progress = std::function<void(std::uint64_t, std::uint64_t)>;
  Verification(Store::State& state, Depth depth, const Progress& progress)
      : fs_(state.fs), layout_(state.layout), cancel_(state.options.cancel), depth_(depth), progress_(progress) {}

  Result<std::vector<Finding>> run() {
    PRECAST_TRY_ASSIGN(const auto keys, list_keys(fs_, layout_));
    std::vector<Checked> markers;
    for (const std::string& key : keys) {
      check_key_folder(key);
      if (auto checked = check_marker(key)) markers.push_back(*std::move(checked));
    }
    for (const Checked& one : markers) {
      for (const Artifact& artifact : one.marker.artifacts) total_ += artifact.size;
    }
    std::set<std::string> named;
    for (const Checked& one : markers) {
      named.insert(one.marker.generation);
      check_generation(one);
      if (cancel_ != nullptr && cancel_->cancelled()) return fail(ErrorCode::cancelled, "interrupted while verifying");
    }
    check_unnamed(named);
    check_publications();
    return std::move(findings_);
  }

 private:
  void damage(const std::filesystem::path& path, const std::string& key, std::string message) {
    findings_.push_back({path.lexically_relative(layout_.root()), key, std::move(message), true, false});
  }
  void note(const std::filesystem::path& path, const std::string& key, std::string message) {
    findings_.push_back({path.lexically_relative(layout_.root()), key, std::move(message), false, false});
  }
  void foreign(const std::filesystem::path& path, const std::string& key) {
    findings_.push_back(
        {path.lexically_relative(layout_.root()), key, "written by another version of precast", false, true});
  }

  void check_key_folder(const std::string& key) {
    const auto folder = layout_.key_folder(key);
    const auto entries = fs_.list(folder);
    if (!entries) return;  // deleted meanwhile
    for (const fs::DirEntry& entry : *entries) {
      if (entry.name == "lock" || entry.name == kMarkerName || fs::is_temporary(entry.name)) continue;
      const auto path = folder / entry.name;
      if (is_of_another_schema(entry.name)) {
        foreign(path, key);
      } else if (entry.name != kFailedName) {
        note(path, key, "not a file of the cache");
      }
    }
    check_failed_record(key);
  }

  void check_failed_record(const std::string& key) {
    const auto path = layout_.failed(key);
    const auto text = read_record(fs_, path);
    if (text && !*text) return;
    const auto record = text ? parse_failed_record(**text) : std::unexpected<Error>(text.error());
    if (!record) return damage(path, key, "not a record of a failure: " + record.error().message);
    if (record->key != key) damage(path, key, "a record of another key's failure");
  }

  std::optional<Checked> check_marker(const std::string& key) {
    const auto path = layout_.marker(key);
    const auto text = read_record(fs_, path);
    if (text && !*text) return std::nullopt;
    if (text && has_other_schema(**text)) {
      foreign(path, key);
      return std::nullopt;
    }
    auto marker = text ? parse_marker(**text) : std::unexpected<Error>(text.error());
    if (!marker) {
      damage(path, key, "not a marker: " + marker.error().message);
      return std::nullopt;
    }
    if (marker->key != key) {
      damage(path, key, "the marker of another key");
      return std::nullopt;
    }
    return Checked{*std::move(marker), **text};
  }

  void check_generation(const Checked& checked) {
    const Marker& marker = checked.marker;
    const auto folder = layout_.generation(marker.generation);
    const auto lease = fs::Lock::try_acquire(fs_, layout_.lease(marker.generation), fs::LockKind::shared, false);
    if (lease && !*lease) return;  // being deleted
    if (!lease && !fs::is_not_found(lease.error())) {
      damage(layout_.lease(marker.generation), marker.key, "not a lease: " + lease.error().message);
      return;
    }
    // An entry that was replaced or deleted since its marker was read is nothing to report.
    const auto again = read_record(fs_, layout_.marker(marker.key));
    if (again && *again != checked.text) return;
    if (!lease) {
      damage(layout_.marker(marker.key), marker.key, fmt::format("its generation {} has no lease", marker.generation));
      return;
    }
    if (!fs::exists(fs_, folder)) {
      damage(folder, marker.key, "the generation is missing");
      return;
    }
    check_manifest(folder, checked);
    for (const Artifact& artifact : marker.artifacts) check_artifact(folder, marker.key, artifact);
    check_other_files(folder, marker);
  }

  void check_manifest(const std::filesystem::path& folder, const Checked& checked) {
    const auto path = folder / kManifestName;
    const auto text = read_record(fs_, path);
    if (!text) return damage(path, checked.marker.key, text.error().message);
    if (!*text) return damage(path, checked.marker.key, "the manifest is missing");
    if (**text != checked.text) damage(path, checked.marker.key, "the manifest is not that of the marker");
  }

  void check_artifact(const std::filesystem::path& folder, const std::string& key, const Artifact& artifact) {
    const auto path = folder / artifact.path;
    const auto stat = fs_.lstat(path);
    if (!stat) {
      damage(path, key, fs::is_not_found(stat.error()) ? "the file is missing" : stat.error().message);
    } else if (stat->kind != fs::FileKind::regular) {
      damage(path, key, "not a regular file");
    } else if (stat->size != artifact.size) {
      damage(path, key, fmt::format("has {} bytes, not the {} that were stored", stat->size, artifact.size));
    } else if (depth_ == Depth::bytes) {
      check_bytes(path, key, artifact);
    }
    done_ += artifact.size;
    if (progress_) progress_(done_, total_);
  }

  void check_bytes(const std::filesystem::path& path, const std::string& key, const Artifact& artifact) {
    if (const auto evidence = identity::hash_file(fs_, path, cancel_); !evidence) {
      damage(path, key, evidence.error().message);
    } else if (evidence->sha256 != artifact.sha256) {
      damage(path, key, "has other bytes than were stored");
    }
  }

  void check_other_files(const std::filesystem::path& folder, const Marker& marker) {
    const auto entries = fs::list_tree(fs_, folder);
    if (!entries) return damage(folder, marker.key, entries.error().message);
    for (const fs::TreeEntry& entry : *entries) {
      if (entry.path == kManifestName || entry.path == kLogName) continue;
      const auto is_it = [&](const Artifact& artifact) { return artifact.path == entry.path; };
      if (std::ranges::any_of(marker.artifacts, is_it)) continue;
      if (is_of_another_schema(entry.path.native())) {
        foreign(folder / entry.path, marker.key);
      } else {
        note(folder / entry.path, marker.key, "not a file of this generation; nothing refers to it");
      }
    }
  }

  void check_publications() {
    const auto entries = fs_.list(layout_.publish());
    if (!entries) return;  // nothing was published yet
    for (const fs::DirEntry& entry : *entries) {
      if (fs::is_temporary(entry.name)) continue;
      const auto path = layout_.publish() / entry.name;
      const auto text = read_record(fs_, path);
      if (text && !*text) continue;
      if (text && has_other_schema(**text)) {
        foreign(path, {});
        continue;
      }
      const auto record = text ? parse_publish_record(**text) : std::unexpected<Error>(text.error());
      if (!record) damage(path, {}, "not a record of what was published: " + record.error().message);
    }
  }

  void check_unnamed(const std::set<std::string>& named) {
    const auto entries = fs_.list(layout_.generations());
    if (!entries) return;  // no generations/ yet
    for (const fs::DirEntry& entry : *entries) {
      if (named.contains(entry.name)) continue;
      const auto folder = layout_.generations() / entry.name;
      const auto files = fs_.list(folder);
      if (files && std::ranges::any_of(*files, is_of_another_schema, &fs::DirEntry::name)) {
        foreign(folder, {});
      } else {
        note(folder, {}, "no entry names it; it is deleted when nobody uses it any more");
      }
    }
  }

  fs::FileSystem& fs_;
  const Layout& layout_;
  const util::CancelToken* cancel_;
  Depth depth_;
  const Progress& progress_;
  std::vector<Finding> findings_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace

Result<std::vector<Finding>> Store::verify(
    const std::function<void(std::uint64_t done, std::uint64_t total)>& on_progress) {
  return Verification(*state_, Depth::bytes, on_progress).run();
}

Result<std::vector<Finding>> Store::verify_structure() {
  const std::function<void(std::uint64_t, std::uint64_t)> nobody;
  return Verification(*state_, Depth::structure, nobody).run();
}

}  // namespace precast::store
