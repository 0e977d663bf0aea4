#include "store/digest_memo.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "identity/hashing_digester.hpp"
#include "identity/links.hpp"
#include "store/memo_rules.hpp"
#include "store/read_record.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::store {
namespace {

using identity::FileEvidence;
using Paths = std::span<const std::filesystem::path>;

constexpr std::size_t kEntriesPerGroup = 256;
constexpr std::uint64_t kGroupLimit = std::uint64_t{16} << 20U;
constexpr std::uint64_t kFactsLimit = std::uint64_t{64} << 20U;
constexpr std::string_view kFactsHead = "precast-facts 1 ";
constexpr std::uint32_t kFolderMode = 0700;

std::string path_digest(const std::filesystem::path& path) {
  return util::sha256_hex(path.native());
}

// Also keeps any path out that is not below its folder.
bool is_fact_name(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789-";
  return !name.empty() && name.size() <= 200 && name.find_first_not_of(kAllowed) == std::string_view::npos;
}

Result<void> require_regular(fs::FileSystem& fs, const std::filesystem::path& path) {
  PRECAST_TRY_ASSIGN(const fs::FileStat stat, fs.lstat(path));
  if (stat.kind == fs::FileKind::regular) return {};
  return fail(ErrorCode::corrupt, fmt::format("{} is not a regular file", util::quoted(path)), path);
}

std::string frame_facts(std::string_view text) {
  return fmt::format("{}{}\n{}", kFactsHead, util::sha256_hex(text), text);
}

std::optional<std::string> unframe_facts(std::string_view framed) {
  const std::size_t head = kFactsHead.size() + 65;
  if (framed.size() < head) return std::nullopt;
  const std::string_view text = framed.substr(head);
  if (frame_facts(text) != framed) return std::nullopt;
  return std::string(text);
}

}  // namespace

struct DigestMemo::State {
  State(fs::FileSystem& file_system, Layout where, MemoOptions given)
      : fs(file_system), layout(std::move(where)), options(std::move(given)) {}

  fs::FileSystem& fs;
  Layout layout;
  MemoOptions options;
  std::mutex mutex;                                                      // guards what follows; hashing happens outside
  std::map<std::string, std::vector<MemoEntry>, std::less<>> groups;     // by SHA-256 of the name, read once
  std::map<std::filesystem::path, bool> straight_folders;                // reached without a link
  std::map<std::pair<std::uint64_t, std::uint64_t>, CtimeTrust> trusts;  // by device and mount
  std::optional<std::string> boot;
  std::map<std::string, std::string, std::less<>> facts;  // only when nothing can be written

  enum class Links : std::uint8_t { follow, refuse };

  [[nodiscard]] util::WallTime now() const {
    return (options.clock != nullptr ? *options.clock : util::Clock::system()).now();
  }
  std::string boot_id();
  CtimeTrust trust(const std::filesystem::path& path, const fs::FileStat& stat);
  bool is_straight(const std::filesystem::path& folder);
  [[nodiscard]] std::filesystem::path facts_file(std::string_view name) const {
    return layout.facts() / util::sha256_hex(name).substr(0, 2) / name;
  }
  std::vector<MemoEntry>& group_entries(const std::string& group);
  std::optional<FileEvidence> observe(const std::filesystem::path& path, Links links);
  std::optional<FileEvidence> recall(const std::filesystem::path& path, const std::string& group, Links links);
  Result<std::vector<FileEvidence>> hash(Paths paths, const std::string& group, std::size_t limit);
  Result<std::vector<FileEvidence>> digest(Paths paths, std::string_view group_name, bool afresh, Links links);
  void save(const std::string& group);
  void write_quietly(const std::filesystem::path& path, std::string_view bytes);
};

std::string DigestMemo::State::boot_id() {
  const std::scoped_lock lock(mutex);
  if (!boot) {
    boot = options.boot_id;
    if (boot->empty()) {
      // Without it nothing that is bound to a boot can be remembered; the rest can.
      const auto read = read_record(fs, "/proc/sys/kernel/random/boot_id");
      if (read && *read) boot = util::trim(**read);
    }
  }
  return *boot;
}

CtimeTrust DigestMemo::State::trust(const std::filesystem::path& path, const fs::FileStat& stat) {
  const std::pair key(stat.device, stat.mount_id);
  {
    const std::scoped_lock lock(mutex);
    if (const auto known = trusts.find(key); known != trusts.end()) return known->second;
  }
  const auto volume = fs.volume(path);
  if (!volume) return CtimeTrust::never;
  const std::scoped_lock lock(mutex);
  return trusts[key] = ctime_trust(*volume);
}

bool DigestMemo::State::is_straight(const std::filesystem::path& folder) {
  {
    const std::scoped_lock lock(mutex);
    if (const auto known = straight_folders.find(folder); known != straight_folders.end()) return known->second;
  }
  const auto straight = fs.has_no_links(folder);
  if (!straight) return false;
  const std::scoped_lock lock(mutex);
  return straight_folders[folder] = *straight;
}

// The caller holds the mutex.
std::vector<MemoEntry>& DigestMemo::State::group_entries(const std::string& group) {
  const auto [place, is_new] = groups.try_emplace(group);
  if (is_new) {
    // Missing, damaged or unreadable is the same here: nothing is remembered.
    const auto text = read_record(fs, layout.digest_group(group), kGroupLimit);
    if (text && *text) place->second = parse_group(group, **text);
  }
  return place->second;
}

// Where and what the file is now, without its digest. nullopt: not a regular file, changing, or not there: hashing it
// says what is wrong.
std::optional<FileEvidence> DigestMemo::State::observe(const std::filesystem::path& path, Links links) {
  FileEvidence evidence;
  evidence.path = path;
  if (links == Links::refuse || is_straight(path.parent_path())) {
    const auto stat = fs.lstat(path);
    if (!stat) return std::nullopt;
    evidence.stat = identity::evidence_stat(*stat);
    if (stat->kind == fs::FileKind::regular) return evidence;
    if (links == Links::refuse || stat->kind != fs::FileKind::symlink) return std::nullopt;
  }
  auto before = identity::links_on_path(fs, path);
  const auto stat = fs.stat(path);
  const auto after = identity::links_on_path(fs, path);
  if (!before || !stat || !after || *before != *after || stat->kind != fs::FileKind::regular) return std::nullopt;
  evidence.links = *std::move(before);
  evidence.stat = identity::evidence_stat(*stat);
  return evidence;
}

std::optional<FileEvidence> DigestMemo::State::recall(const std::filesystem::path& path, const std::string& group,
                                                      Links links) {
  auto evidence = observe(path, links);
  if (!evidence) return std::nullopt;
  MemoEntry entry;
  {
    const std::scoped_lock lock(mutex);
    const auto& entries = group_entries(group);
    const auto found =
        std::ranges::find_if(entries, [&](const MemoEntry& one) { return one.is_about(evidence->stat); });
    if (found == entries.end()) return std::nullopt;
    entry = *found;
  }
  const CtimeTrust ctime = trust(path, evidence->stat);
  const std::string boot_now = entry.boot.empty() ? std::string() : boot_id();
  if (!still_holds(entry, evidence->stat, ctime, boot_now)) return std::nullopt;
  evidence->sha256 = entry.sha256;
  return evidence;
}

Result<std::vector<FileEvidence>> DigestMemo::State::hash(Paths paths, const std::string& group, std::size_t limit) {
  // The order matters: clock, then the look for writers, then (in hash_files) stat, bytes, stat. A store through a
  // mapping made after the look changes the ctime to one that is later than this clock, which is racy.
  const util::WallTime clock = now();
  std::vector<Observation> seen(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    auto file = fs.open(paths[i], fs::OpenMode::read);
    if (!file) continue;  // hash_files says it better
    if (const auto stat = fs.stat(*file)) seen[i].stat = *stat;
    seen[i].writable = fs.check_writers(*file) == fs::FileSystem::WriterCheck::writable;
  }
  PRECAST_TRY_ASSIGN(auto evidence, identity::hash_files(fs, paths, options.cancel));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const fs::FileStat& stat = evidence[i].stat;
    if (stat.device != seen[i].stat.device || stat.inode != seen[i].stat.inode) continue;  // looked at another file
    auto entry = entry_for({stat, trust(paths[i], stat), clock, seen[i].writable}, boot_id());
    if (!entry) continue;
    entry->path = path_digest(paths[i]);
    entry->sha256 = evidence[i].sha256;
    const std::scoped_lock lock(mutex);
    insert_entry(group_entries(group), *std::move(entry), limit);
  }
  return evidence;
}

Result<std::vector<FileEvidence>> DigestMemo::State::digest(Paths paths, std::string_view group_name, bool afresh,
                                                            Links links) {
  const std::string group = util::sha256_hex(group_name);
  std::vector<FileEvidence> evidence(paths.size());
  std::vector<std::filesystem::path> unknown;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    auto known = afresh ? std::nullopt : recall(paths[i], group, links);
    if (known) {
      evidence[i] = *std::move(known);
    } else {
      if (links == Links::refuse) PRECAST_TRY(require_regular(fs, paths[i]));
      unknown.push_back(paths[i]);
      places.push_back(i);
    }
  }
  if (unknown.empty()) return evidence;
  // More files than the limit are used together: dropping any of them would have all hashed again for ever.
  const std::size_t limit = std::max(kEntriesPerGroup, paths.size());
  PRECAST_TRY_ASSIGN(auto hashed, hash(unknown, group, limit));
  for (std::size_t i = 0; i < hashed.size(); ++i) evidence[places[i]] = std::move(hashed[i]);
  save(group);
  return evidence;
}

void DigestMemo::State::save(const std::string& group) {
  if (!options.persistent) return;
  std::string text;
  {
    const std::scoped_lock lock(mutex);
    const auto& entries = group_entries(group);
    if (entries.empty()) return;
    text = serialize_group(group, entries);
  }
  write_quietly(layout.digest_group(group), text);
}

// Not durable, and silent: what is lost costs time only.
void DigestMemo::State::write_quietly(const std::filesystem::path& path, std::string_view bytes) {
  if (!fs::make_directories(fs, path.parent_path(), kFolderMode, fs::Durability::none)) return;
  (void)fs::write_file_atomically(fs, path, bytes, fs::Durability::none);
}

DigestMemo::DigestMemo(fs::FileSystem& fs, Layout layout, MemoOptions options)
    : state_(std::make_unique<State>(fs, std::move(layout), std::move(options))) {}

DigestMemo::~DigestMemo() = default;

Result<std::vector<FileEvidence>> DigestMemo::digest(Paths paths, std::string_view group) {
  return state_->digest(paths, group, state_->options.verify == VerifyMode::always, State::Links::follow);
}

Result<std::vector<FileEvidence>> DigestMemo::digest_afresh(Paths paths, std::string_view group) {
  return state_->digest(paths, group, /*afresh=*/true, State::Links::follow);
}

Result<std::vector<FileEvidence>> DigestMemo::digest_stored(Paths paths, std::string_view group) {
  return state_->digest(paths, group, state_->options.verify == VerifyMode::always, State::Links::refuse);
}

std::optional<std::string> DigestMemo::facts(std::string_view name) {
  if (!is_fact_name(name)) return std::nullopt;
  if (!state_->options.persistent) {
    const std::scoped_lock lock(state_->mutex);
    if (const auto known = state_->facts.find(name); known != state_->facts.end()) return known->second;
  }
  const auto framed = read_record(state_->fs, state_->facts_file(name), kFactsLimit);
  if (!framed || !*framed) return std::nullopt;
  return unframe_facts(**framed);
}

void DigestMemo::remember_facts(std::string_view name, std::string_view text) {
  if (!is_fact_name(name)) return;
  if (state_->options.persistent) {
    state_->write_quietly(state_->facts_file(name), frame_facts(text));
    return;
  }
  const std::scoped_lock lock(state_->mutex);
  state_->facts.insert_or_assign(std::string(name), std::string(text));
}

}  // namespace precast::store
