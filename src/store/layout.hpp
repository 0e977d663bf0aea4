// The names in a store (docs/store-format.md has the grammar in prose):
//
//   <root>/CACHEDIR.TAG, version
//   <root>/keys/<k0k1>/<key>/lock, marker.1.json, failed.1.json
//   <root>/generations/<uuid>/   model.onnx, *.bin, manifest.1.json, compile.log; immutable once renamed here
//                                or, of a prepared bundle: bundle/ with its files and folders, manifest.1.json
//   <root>/leases/<uuid>         one per generation or work in progress
//   <root>/tmp/<uuid>/           work in progress: out/ (becomes the generation), source/ (staged copy), work/ (cwd)
//   <root>/locks/                slot.<n>, retention, publish.<id>
//   <root>/digests/<aa>/<sha256 of group>.1.json, facts/<aa>/<name>
//   <root>/publish/<id>.1.json   id = SHA-256 of an output's folder (device, inode) and name
//   <root>/stats.1               append-only, one line per event
//
// The schema number is in the file name; another schema's files are "not mine". Only relative names stand inside files,
// so a store may be moved. No name derives from a user's file name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace precast::store {

inline constexpr std::string_view kVersionText = "precast-store 1\n";
inline constexpr std::string_view kModelName = "model.onnx";
// A generation that is a bundle has this folder instead of a model; its artifacts lie in it, this one first.
inline constexpr std::string_view kBundleFolder = "bundle";
inline constexpr std::string_view kBundleConfig = "bundle/genai_config.json";
inline constexpr std::string_view kMarkerName = "marker.1.json";
inline constexpr std::string_view kFailedName = "failed.1.json";
inline constexpr std::string_view kManifestName = "manifest.1.json";
inline constexpr std::string_view kLogName = "compile.log";

class Layout {
 public:
  explicit Layout(std::filesystem::path root) : root_(std::move(root)) {}
  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  [[nodiscard]] std::filesystem::path version() const { return root_ / "version"; }
  [[nodiscard]] std::filesystem::path cachedir_tag() const { return root_ / "CACHEDIR.TAG"; }
  [[nodiscard]] std::filesystem::path keys() const { return root_ / "keys"; }
  [[nodiscard]] std::filesystem::path key_folder(std::string_view key) const { return keys() / key.substr(0, 2) / key; }
  [[nodiscard]] std::filesystem::path key_lock(std::string_view key) const { return key_folder(key) / "lock"; }
  [[nodiscard]] std::filesystem::path marker(std::string_view key) const { return key_folder(key) / kMarkerName; }
  [[nodiscard]] std::filesystem::path failed(std::string_view key) const { return key_folder(key) / kFailedName; }
  [[nodiscard]] std::filesystem::path generations() const { return root_ / "generations"; }
  [[nodiscard]] std::filesystem::path generation(std::string_view uuid) const { return generations() / uuid; }
  [[nodiscard]] std::filesystem::path leases() const { return root_ / "leases"; }
  [[nodiscard]] std::filesystem::path lease(std::string_view uuid) const { return leases() / uuid; }
  [[nodiscard]] std::filesystem::path tmp() const { return root_ / "tmp"; }
  [[nodiscard]] std::filesystem::path work(std::string_view uuid) const { return tmp() / uuid; }
  [[nodiscard]] std::filesystem::path locks() const { return root_ / "locks"; }
  [[nodiscard]] std::filesystem::path digests() const { return root_ / "digests"; }
  // Of the group whose name has this SHA-256.
  [[nodiscard]] std::filesystem::path digest_group(std::string_view group) const {
    return digests() / group.substr(0, 2) / (std::string(group) + ".1.json");
  }
  [[nodiscard]] std::filesystem::path facts() const { return root_ / "facts"; }
  [[nodiscard]] std::filesystem::path publish() const { return root_ / "publish"; }
  [[nodiscard]] std::filesystem::path publish_record(std::string_view id) const {
    return publish() / (std::string(id) + ".1.json");
  }
  [[nodiscard]] std::filesystem::path publish_lock(std::string_view id) const {
    return locks() / ("publish." + std::string(id));
  }
  [[nodiscard]] std::filesystem::path stats() const { return root_ / "stats.1"; }

 private:
  std::filesystem::path root_;
};

// --cache-dir, PRECAST_CACHE_DIR, $XDG_CACHE_HOME/precast, ~/.cache/precast; empty `given` and no HOME: empty path.
[[nodiscard]] std::filesystem::path default_root(const std::filesystem::path& given);

}  // namespace precast::store
