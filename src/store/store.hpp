// The store: one content-addressed place for everything compiled. Readers see a complete generation or none, whatever
// was killed when.
//
// Locks (docs/architecture.md): order is key < lease; leases are only ever tried. Markers and failed records are
// created, replaced and deleted only under the key's exclusive lock. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fs/lock.hpp"
#include "identity/digester.hpp"
#include "store/digest_memo.hpp"
#include "store/layout.hpp"
#include "store/records.hpp"

namespace precast::store {

struct StoreOptions {
  std::filesystem::path root;  // absolute
  bool create = true;          // false: a root that is not there, or is an empty folder, is not_found and stays so
  bool allow_network = false;  // --allow-network-store
  std::uint32_t keep = 4;      // --keep, generations per family
  VerifyMode verify = VerifyMode::automatic;
  const util::Clock* clock = nullptr;         // null = the system's
  const util::CancelToken* cancel = nullptr;  // ends hashing (of evidence, of artifacts, in verify) with `cancelled`
};

// A shared lease: while it lives nobody deletes the generation.
class Lease {
 public:
  Lease() = default;
  Lease(fs::Lock lock, std::string generation) : lock_(std::move(lock)), generation_(std::move(generation)) {}
  [[nodiscard]] const std::string& generation() const { return generation_; }
  [[nodiscard]] bool held() const { return lock_.held(); }
  void release() { lock_.release(); }
  void inherit_on_exec() { lock_.inherit_on_exec(); }  // see fs::Lock

 private:
  fs::Lock lock_;
  std::string generation_;
};

struct Hit {
  Marker marker;
  Lease lease;
  std::filesystem::path folder;  // of the generation, absolute
  std::filesystem::path model;   // folder / "model.onnx", or the configuration of a bundle
};

struct LookUp {
  std::optional<Hit> hit;
  std::string miss_reason;  // "no entry for this identity", "model.onnx has other bytes than were stored", ...
};

// tmp/<uuid> with its lease held shared. Destroying it without commit removes the folder and the lease.
class Work {
 public:
  Work() = default;
  ~Work();
  Work(Work&&) noexcept;
  Work& operator=(Work&&) noexcept;
  [[nodiscard]] const std::string& uuid() const;
  [[nodiscard]] std::filesystem::path folder() const;         // tmp/<uuid>
  [[nodiscard]] std::filesystem::path output_folder() const;  // tmp/<uuid>/out: exactly what becomes the generation
  [[nodiscard]] std::filesystem::path source_folder() const;  // tmp/<uuid>/source (made when asked for)
  [[nodiscard]] std::filesystem::path work_folder() const;    // tmp/<uuid>/work: the worker's working directory
  struct State;
  explicit Work(std::unique_ptr<State> state);
  [[nodiscard]] State* state() { return state_.get(); }
  // Gives the folder and the lease to the caller: nothing is deleted any more.
  [[nodiscard]] std::unique_ptr<State> release() &&;

 private:
  std::unique_ptr<State> state_;
};

struct StoreTimings {
  double hash_ms = 0;  // reading and hashing the artifacts
  double sync_ms = 0;  // what the disk took to make them durable (fsync and rename)
};

// One generation or marker as `cache ls` shows it.
struct Entry {
  Marker marker;
  std::uint64_t bytes = 0;  // on disk, one inode once; what other entries have too (a bundle its stages') is in it
  std::string last_used;    // RFC 3339 UTC
  bool current = true;
};

struct Finding {
  std::filesystem::path path;  // relative to the root
  std::string key;             // if known
  std::string message;
  bool damaged = true;   // false: a note
  bool foreign = false;  // written by another version of precast
};

struct Health;  // store/health.hpp

// A sweep leaves what is younger alone, whoever held it.
inline constexpr std::chrono::hours kLeftoverAge{1};

class Store {
 public:
  struct State;  // for src/store

  // Makes the root (0700) when missing. Refused with the command that mends it (busy/io): not owned by the effective
  // user, group- or world-writable; a network or FUSE file system without allow_network; another version. A root that
  // cannot be written still opens (writable() is false) and serves hits.
  [[nodiscard]] static Result<std::unique_ptr<Store>> open(fs::FileSystem& fs, const StoreOptions& options);
  ~Store();

  [[nodiscard]] const Layout& layout() const;
  [[nodiscard]] bool writable() const;
  [[nodiscard]] DigestMemo& memo();
  [[nodiscard]] fs::FileSystem& file_system();

  // Marker -> shared lease -> marker again, unchanged -> artifacts valid (memo). Takes no exclusive lock, waits for
  // nobody. At most 3 rounds when a lease is "being deleted". Doubt is a miss with its reason; only I/O errors that say
  // nothing about the entry are errors.
  [[nodiscard]] Result<LookUp> look_up(const std::string& key);

  // The key's exclusive lock; key folder made when missing.
  [[nodiscard]] Result<fs::Lock> lock_key(const std::string& key, const fs::Lock::WaitOptions& options);
  // One of the store-wide compile slots (locks/slot.<n>): as memory allows, at least 1.
  [[nodiscard]] Result<fs::Lock> acquire_compile_slot(const fs::Lock::WaitOptions& options);

  [[nodiscard]] Result<Work> begin_work();

  // Durable order (docs/store-format.md): chmod, fsync every file and folder, hash, rename without replacing, fsync of
  // generations/ and tmp/, key folders, marker temp, fsync, rename, fsync. The caller holds the key lock.
  // `marker` has everything but generation, artifacts and created, which are filled in.
  // On success the generation's lease is given to the caller. If only the marker could not be written, the result says
  // so in `marker_error` and the generation is private to the returned lease.
  struct Committed {
    Hit hit;
    StoreTimings timings;
    std::optional<Error> marker_error;
  };
  [[nodiscard]] Result<Committed> commit(Work work, Marker marker);
  // The same for a prepared bundle, which lies in output_folder() / kBundleFolder, with folders of its own. A file that
  // is in `known` with another SHA-256: corrupt, and nothing is stored.
  [[nodiscard]] Result<Committed> commit_bundle(Work work, Marker marker, std::span<const Artifact> known = {});
  // For whoever gave files of a generation second names inside the store, which changes their times: hashes them again,
  // so that the next hit need not. The lease is the caller's. Other bytes than were stored: corrupt.
  [[nodiscard]] Result<void> hash_again(const std::string& generation, std::span<const Artifact> artifacts);
  // A private generation: nothing durable, no marker; deleted when the returned object dies.
  struct Private {
    Work work;
    std::filesystem::path model;
  };
  [[nodiscard]] Result<Private> keep_private(Work work);

  [[nodiscard]] Result<std::optional<FailedRecord>> read_failed(const std::string& key);
  [[nodiscard]] Result<void> write_failed(const FailedRecord& record);  // under the key lock
  [[nodiscard]] Result<void> remove_failed(const std::string& key);     // under the key lock
  [[nodiscard]] Result<void> remove_marker(const std::string& key,
                                           const std::string& generation);  // under the key lock

  // Lossy, never fails a caller.
  void record(const Event& event) noexcept;
  // Seconds that compiling this source for this EP took before, newest first known; nullopt = never.
  [[nodiscard]] std::optional<double> earlier_compile_seconds(const std::string& source_sha256, const std::string& ep);

  // Retention by count: the family of `marker` keeps its `keep` most recently used generations; a victim
  // gives up its key lock and its lease without anybody waiting (marker re-read, marker deleted, generation moved away,
  // then bytes deleted). Also deletes replaced generations and leftovers in tmp/ that nobody holds and that are older
  // than `leftover_age`. Never fails a caller: what could not be done is done next time.
  void retain(const Marker& newest, std::chrono::seconds leftover_age = kLeftoverAge) noexcept;

  // Everything current, most recently used first; damaged or foreign entries are passed over (verify reports them).
  [[nodiscard]] Result<std::vector<Entry>> list();
  // What these take on disk together: what several of them have counts once.
  [[nodiscard]] std::uint64_t bytes_together(std::span<const Entry> entries);
  // By full key or a unique prefix of at least 4 digits: not_found / bad_input (ambiguous, with the candidates).
  [[nodiscard]] Result<Entry> find(const std::string& key_or_prefix);
  // Hashes everything; holds shared leases. `on_progress` with bytes done and in all.
  [[nodiscard]] Result<std::vector<Finding>> verify(
      const std::function<void(std::uint64_t done, std::uint64_t total)>& on_progress);
  // The same but for the bytes of artifacts: only that they are there, and as many.
  [[nodiscard]] Result<std::vector<Finding>> verify_structure();
  // For `doctor`.
  [[nodiscard]] Result<Health> examine();

 private:
  explicit Store(std::unique_ptr<State> state);
  [[nodiscard]] Result<Committed> commit(Work work, Marker marker, std::string_view main_file,
                                         std::span<const Artifact> known);
  std::unique_ptr<State> state_;
};

[[nodiscard]] std::string family_of(const Marker& marker);

}  // namespace precast::store
