#include "store/store.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "store/machine.hpp"
#include "store/read_record.hpp"
#include "store/store_state.hpp"
#include "store/volumes.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::store {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kCachedirTag =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder is precast's store of compiled models. Everything in it can be made again.\n";
constexpr std::uint32_t kWritableByOthers = 022;

Result<void> require_root(const std::filesystem::path& root) {
  if (root.empty()) {
    return fail(ErrorCode::bad_input, "there is no folder for the cache: neither PRECAST_CACHE_DIR nor HOME is set", {},
                "set PRECAST_CACHE_DIR or give --cache-dir");
  }
  if (root.is_absolute()) return {};
  return fail(ErrorCode::bad_input, fmt::format("the cache folder '{}' is not an absolute path", shown(root)), root,
              "give --cache-dir an absolute path");
}

std::unexpected<Error> no_store(const std::filesystem::path& root) {
  return fail(ErrorCode::not_found, fmt::format("there is no store at '{}' yet", shown(root)), root,
              "the first compile makes it; is that the right --cache-dir?");
}

Result<fs::FileStat> stat_or_make(fs::FileSystem& fs, const std::filesystem::path& root, bool create) {
  auto stat = fs.stat(root);
  if (stat || !fs::is_not_found(stat.error())) return stat;
  if (const auto link = fs.lstat(root); link && link->kind == fs::FileKind::symlink) {
    return fail(ErrorCode::io,
                fmt::format("the cache folder '{}' is a link to something that is not there", shown(root)), root,
                "mend the link, or choose another folder with --cache-dir");
  }
  if (!create) return no_store(root);
  PRECAST_TRY(fs::make_directories(fs, root, kFolderMode, fs::Durability::durable));
  return fs.stat(root);
}

Result<void> check_owner(const std::filesystem::path& root, const fs::FileStat& stat) {
  if (stat.kind != fs::FileKind::directory) {
    return fail(ErrorCode::io, fmt::format("the cache folder '{}' is not a folder", shown(root)), root,
                "choose another one with --cache-dir");
  }
  if (stat.uid != geteuid()) {
    return fail(ErrorCode::io,
                fmt::format("the cache folder '{}' belongs to user {}, not to user {} who runs this", shown(root),
                            stat.uid, geteuid()),
                root,
                fmt::format("run `chown -R {} '{}'`, or choose another one with --cache-dir", geteuid(), shown(root)));
  }
  if ((stat.mode & kWritableByOthers) != 0) {
    return fail(ErrorCode::io, fmt::format("the cache folder '{}' can be written by other users", shown(root)), root,
                fmt::format("run `chmod go-w '{}'`, or choose another one with --cache-dir", shown(root)));
  }
  return {};
}

Result<fs::FileSystem::Volume> check_volume(fs::FileSystem& fs, const StoreOptions& options) {
  PRECAST_TRY_ASSIGN(const auto volume, fs.volume(options.root));
  if (options.allow_network || !is_network_or_fuse(volume)) return volume;
  return fail(ErrorCode::io,
              fmt::format("the cache folder '{}' is on a network or FUSE file system", shown(options.root)),
              options.root, "choose a local one with --cache-dir, or give --allow-network-store");
}

// True: it is a store of ours. False: a new one.
Result<bool> check_version(fs::FileSystem& fs, const Layout& layout) {
  PRECAST_TRY_ASSIGN(const auto version, read_record(fs, layout.version()));
  if (!version) return false;
  if (*version == kVersionText) return true;
  const std::string said(util::trim(std::string_view(*version).substr(0, 60)));
  return fail(ErrorCode::unsupported,
              fmt::format("the cache folder '{}' was made by another precast: its version is '{}', not '{}'",
                          shown(layout.root()), util::escape_invalid_utf8(said), util::trim(kVersionText)),
              layout.version(), "choose another one with --cache-dir, or delete it");
}

// What a process may have made again after somebody deleted the store beneath it: names of ours that hold nothing but
// names of ours.
bool is_remnant(fs::FileSystem& fs, const Layout& layout, const std::string& name) {
  if (name == "CACHEDIR.TAG" || name == "stats.1" || fs::is_temporary(name)) return true;
  const auto path = layout.root() / name;
  bool (*is_ours)(const std::string&) = nullptr;
  if (path == layout.keys() || path == layout.digests() || path == layout.facts()) {
    is_ours = [](const std::string& child) { return util::is_hex(child, 2); };
  } else if (path == layout.tmp() || path == layout.generations() || path == layout.leases()) {
    is_ours = [](const std::string& child) { return util::is_uuid(child); };
  } else if (path == layout.locks()) {
    is_ours = [](const std::string& child) {
      return child == "retention" || child.starts_with("slot.") || child.starts_with("publish.");
    };
  } else if (path == layout.publish()) {
    is_ours = [](const std::string& child) {
      return fs::is_temporary(child) || (child.ends_with(".1.json") && util::is_hex(child.substr(0, 64), 64));
    };
  } else {
    return false;
  }
  const auto entries = fs.list(path);
  return entries && std::ranges::all_of(*entries, is_ours, &fs::DirEntry::name);
}

// A folder that holds anything of somebody else's never becomes a store: a sweep deletes what it finds in tmp/, and
// backups skip a tagged folder with all that is in it.
Result<void> check_not_foreign(fs::FileSystem& fs, const Layout& layout) {
  PRECAST_TRY_ASSIGN(const auto entries, fs.list(layout.root()));
  for (const fs::DirEntry& entry : entries) {
    if (is_remnant(fs, layout, entry.name)) continue;
    // Somebody else may have made the store, and begun to use it, since its version was looked for.
    PRECAST_TRY_ASSIGN(const bool made_meanwhile, check_version(fs, layout));
    if (made_meanwhile) return {};
    return fail(ErrorCode::bad_input,
                fmt::format("the cache folder '{}' holds other files ('{}') and is no precast store",
                            shown(layout.root()), util::escape_invalid_utf8(entry.name)),
                layout.root(), "choose an empty folder, or one that does not exist yet, with --cache-dir");
  }
  return {};
}

Result<void> make_new(fs::FileSystem& fs, const Layout& layout) {
  PRECAST_TRY(fs::write_file_atomically(fs, layout.cachedir_tag(), kCachedirTag, fs::Durability::none));
  return fs::write_file_atomically(fs, layout.version(), kVersionText, fs::Durability::durable);
}

Error cannot_write(const Layout& layout, Error cause) {
  cause.message = fmt::format("the cache '{}' cannot be written: {}", shown(layout.root()), cause.message);
  return cause;
}

// Permission bits do not tell (ACLs, the super-user, full disks): what is asked is whether a file can be written.
std::optional<Error> why_not_writable(fs::FileSystem& fs, const Layout& layout, bool read_only) {
  if (read_only) {
    return cannot_write(layout, {ErrorCode::io, "its file system is mounted read-only", layout.root(), {}});
  }
  const auto stats = fs.open(layout.stats(), fs::OpenMode::append);
  if (stats) return std::nullopt;
  return cannot_write(layout, stats.error());
}

// The wait of one round over the slots, so that one that becomes free is found whichever it is.
constexpr auto kSlotRound = 50ms;

class SlotWait {
 public:
  SlotWait(fs::FileSystem& fs, const Layout& layout, const fs::Lock::WaitOptions& options)
      : fs_(fs), layout_(layout), options_(options), start_(clock().steady()), told_(start_) {}

  Result<fs::Lock> acquire() {
    const std::uint32_t slots = compile_slots();
    for (std::uint32_t round = 0;; ++round) {
      for (std::uint32_t i = 0; i < slots; ++i) {
        PRECAST_TRY_ASSIGN(auto free, fs::Lock::try_acquire(fs_, slot(i), fs::LockKind::exclusive));
        if (free) return *std::move(free);
      }
      const auto waited = clock().steady() - start_;
      if (options_.timeout && waited >= *options_.timeout)
        return fail(ErrorCode::busy, busy_message(slots), slot(0), {});
      tell(waited, slot(round % slots));
      auto lock =
          fs::Lock::acquire(fs_, slot(round % slots), fs::LockKind::exclusive,
                            {.timeout = kSlotRound, .cancel = options_.cancel, .on_wait = {}, .clock = nullptr});
      if (lock || lock.error().code != ErrorCode::busy) return lock;
    }
  }

 private:
  [[nodiscard]] const util::Clock& clock() const {
    return options_.clock != nullptr ? *options_.clock : util::Clock::system();
  }
  [[nodiscard]] std::filesystem::path slot(std::uint32_t i) const {
    return layout_.locks() / fmt::format("slot.{}", i);
  }
  static std::string busy_message(std::uint32_t slots) {
    return fmt::format("all {} compile slots of this cache stayed busy", slots);
  }
  void tell(util::SteadyTime::duration waited, const std::filesystem::path& path) {
    const util::SteadyTime now = clock().steady();
    if (!options_.on_wait || now - told_ < 1s) return;
    told_ = now;
    options_.on_wait(std::chrono::duration_cast<std::chrono::milliseconds>(waited), fs::read_lock_holder(fs_, path));
  }

  fs::FileSystem& fs_;
  const Layout& layout_;
  const fs::Lock::WaitOptions& options_;
  util::SteadyTime start_;
  util::SteadyTime told_;
};

}  // namespace

std::string shown(const std::filesystem::path& path) {
  return util::escape_to_line(path.native());
}

std::string group_of(std::string_view generation) {
  return "generation:" + std::string(generation);
}

std::string family_of(const Marker& marker) {
  // None of them can hold a NUL: a path, a name of ORT's, a word of ours.
  std::string text = marker.model;
  text += '\0';
  text += marker.ep;
  text += '\0';
  text += marker.device;
  return util::sha256_hex(text);
}

Result<void> require_key(std::string_view key) {
  if (util::is_hex(key, 64)) return {};
  return fail(ErrorCode::bad_input, fmt::format("'{}' is not a key: 64 hex digits", util::escape_invalid_utf8(key)));
}

Result<std::unique_ptr<Store>> Store::open(fs::FileSystem& fs, const StoreOptions& options) {
  PRECAST_TRY(require_root(options.root));
  const Layout layout(options.root);
  PRECAST_TRY_ASSIGN(const fs::FileStat stat, stat_or_make(fs, options.root, options.create));
  PRECAST_TRY(check_owner(options.root, stat));
  PRECAST_TRY_ASSIGN(const auto volume, check_volume(fs, options));
  PRECAST_TRY_ASSIGN(const bool made_before, check_version(fs, layout));
  if (!made_before) PRECAST_TRY(check_not_foreign(fs, layout));
  if (!made_before && !options.create) return no_store(options.root);
  std::optional<Error> unwritable = why_not_writable(fs, layout, volume.read_only);
  if (!made_before && !unwritable) {
    if (auto made = make_new(fs, layout); !made) unwritable = cannot_write(layout, std::move(made).error());
  }
  const MemoOptions memo{.verify = options.verify,
                         .persistent = !unwritable,
                         .clock = options.clock,
                         .boot_id = {},
                         .cancel = options.cancel};
  return std::unique_ptr<Store>(new Store(std::make_unique<State>(fs, options, std::move(unwritable), memo)));
}

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}
Store::~Store() = default;

const Layout& Store::layout() const {
  return state_->layout;
}
bool Store::writable() const {
  return !state_->not_writable;
}
DigestMemo& Store::memo() {
  return state_->memo;
}
fs::FileSystem& Store::file_system() {
  return state_->fs;
}

Result<fs::Lock> Store::lock_key(const std::string& key, const fs::Lock::WaitOptions& options) {
  PRECAST_TRY(require_key(key));
  return fs::Lock::acquire(state_->fs, state_->layout.key_lock(key), fs::LockKind::exclusive, options);
}

Result<fs::Lock> Store::acquire_compile_slot(const fs::Lock::WaitOptions& options) {
  return SlotWait(state_->fs, state_->layout, options).acquire();
}

}  // namespace precast::store
