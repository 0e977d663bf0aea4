// take_library_evidence. Warm, no byte of a library is read: one listing per folder, one call of the digester for what
// the request and the EP table name, one more for what those libraries need.
#include <algorithm>
#include <map>

#include "identity/elf_memory.hpp"
#include "identity/folder_index.hpp"
#include "identity/groups.hpp"
#include "identity/identity.hpp"
#include "identity/library_closure.hpp"
#include "identity/links.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::identity {
namespace {

using Paths = std::vector<std::filesystem::path>;

// Each round of the closure digests at least one more file; more rounds than a chain of libraries can have is a defect.
constexpr int kMaxRounds = 64;

void add_once(Paths& paths, std::filesystem::path path) {
  if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(std::move(path));
}

// Evidence of a growing set of libraries, and what their ELF headers say.
class LibrarySet {
 public:
  LibrarySet(fs::FileSystem& fs, Digester& digester, std::string group)
      : fs_(fs), digester_(digester), group_(std::move(group)) {}

  Result<void> digest(const Paths& paths) {
    Paths wanted;
    for (const auto& path : paths) {
      if (!evidence_.contains(path)) wanted.push_back(path);
    }
    if (wanted.empty()) return {};
    PRECAST_TRY_ASSIGN(std::vector<FileEvidence> found, digester_.digest(wanted, group_));
    if (found.size() != wanted.size())
      return fail(ErrorCode::internal, "the digester did not answer for every library");
    for (std::size_t i = 0; i < found.size(); ++i) evidence_.emplace(wanted[i], std::move(found[i]));
    return {};
  }

  void recall(const std::filesystem::path& plugin) {
    name_ = "elf-" + evidence_.at(plugin).sha256;
    if (const auto text = digester_.facts(name_)) memory_ = parse_elf_memory(*text);
    for (const auto& [digest, elf] : memory_) by_name_.emplace(elf.file_name, elf.facts);
  }

  // Facts of a file that has a digest are those of that digest. One that has none yet: what a file of that name said
  // the last time; if it is another one now, its digest says so and the next round asks the file itself.
  Result<ElfFacts> elf(const std::filesystem::path& path) {
    const auto known = evidence_.find(path);
    if (known == evidence_.end()) {
      const auto guess = by_name_.find(path.filename().string());
      if (guess != by_name_.end()) return guess->second;
      return read(path);
    }
    const std::string& digest = known->second.sha256;
    used_.emplace(digest, path.filename().string());
    const auto remembered = memory_.find(digest);
    if (remembered != memory_.end()) return remembered->second.facts;
    PRECAST_TRY_ASSIGN(ElfFacts facts, read(path));
    if (reads_.at(path).stat != evidence_stat(known->second.stat)) {
      return fail(ErrorCode::busy, util::quoted(path) + " was replaced while its evidence was taken", path,
                  "wait until the installation has ended, and try again");
    }
    memory_[digest] = {path.filename().string(), facts};
    learned_ = true;
    return facts;
  }

  // Only the libraries of the last closure: digests of replaced ones would gather for ever.
  void remember() {
    if (!learned_) return;
    std::erase_if(memory_, [&](const auto& item) { return !used_.contains(item.first); });
    digester_.remember_facts(name_, serialize_elf_memory(memory_));
  }

  bool has(const std::filesystem::path& path) const { return evidence_.contains(path); }

  std::vector<FileEvidence> take(const Paths& paths) const {
    std::vector<FileEvidence> evidence;
    for (const auto& path : paths) evidence.push_back(evidence_.at(path));
    std::sort(evidence.begin(), evidence.end(),
              [](const FileEvidence& a, const FileEvidence& b) { return a.path < b.path; });
    return evidence;
  }

 private:
  Result<ElfFacts> read(const std::filesystem::path& path) {
    const auto known = reads_.find(path);
    if (known != reads_.end()) return known->second.facts;
    PRECAST_TRY_ASSIGN(ElfRead elf, read_elf(fs_, path));
    return reads_.emplace(path, std::move(elf)).first->second.facts;
  }

  fs::FileSystem& fs_;
  Digester& digester_;
  std::string group_;
  std::string name_;
  std::map<std::filesystem::path, FileEvidence> evidence_;
  std::map<std::filesystem::path, ElfRead> reads_;
  std::map<std::string, ElfFacts> by_name_;
  std::map<std::string, std::string> used_;  // digest -> file name
  ElfMemory memory_;
  bool learned_ = false;
};

std::string library_path_of(const Settings& settings) {
  for (const auto& [name, value] : settings.environment) {
    if (name == "LD_LIBRARY_PATH") return value;
  }
  return {};
}

// A bare name lies beside the EP's library, as EPs look it up; else the linker's other folders are tried.
Result<std::filesystem::path> option_library(FolderIndex& folders, const Settings& settings, const std::string& key,
                                             const std::string& value) {
  if (value.find('/') != std::string::npos) return logical_absolute(value);
  Paths places = {base_library(settings).parent_path()};
  for (auto& folder : split_search_path(library_path_of(settings))) places.push_back(std::move(folder));
  for (const auto& folder : places) {
    if (folders.holds(folder, value)) return folder / value;
  }
  return fail(ErrorCode::bad_input,
              "provider option '" + key + "' names the library '" + value + "', which is not beside the EP's library",
              {}, "give the absolute path of an existing library");
}

Result<Paths> named_libraries(FolderIndex& folders, const Settings& settings) {
  const ort::FoundEp& ep = settings.target.ep.found;
  Paths paths;
  add_once(paths, base_library(settings));
  add_once(paths, logical_absolute(settings.ort_library));
  if (ep.spec == nullptr) return paths;
  const std::filesystem::path folder = base_library(settings).parent_path();
  PRECAST_TRY_ASSIGN(const std::vector<std::string> names, folders.matching(folder, ep.spec->dependent_files));
  for (const std::string& name : names) add_once(paths, folder / name);
  for (const auto& [key, value] : settings.target.provider_options) {
    const auto& keys = ep.spec->library_options;
    if (value.empty() || std::find(keys.begin(), keys.end(), key) == keys.end()) continue;
    PRECAST_TRY_ASSIGN(std::filesystem::path path, option_library(folders, settings, key, value));
    add_once(paths, std::move(path));
  }
  return paths;
}

}  // namespace

Result<std::vector<FileEvidence>> take_library_evidence(fs::FileSystem& fs, Digester& digester,
                                                        const Settings& settings) {
  FolderIndex folders(fs);
  PRECAST_TRY_ASSIGN(const Paths libraries, named_libraries(folders, settings));
  Paths paths = libraries;
  for (const auto& file : settings.extra_files) add_once(paths, logical_absolute(file));

  LibrarySet set(fs, digester, library_group(settings));
  PRECAST_TRY(set.digest(paths));
  set.recall(libraries.front());
  const ClosureRequest request{paths, split_search_path(library_path_of(settings))};
  const ElfLookup elf = [&set](const std::filesystem::path& path) { return set.elf(path); };
  for (int round = 0; round < kMaxRounds; ++round) {
    PRECAST_TRY_ASSIGN(const Paths closure, library_closure(folders, request, elf));
    if (std::all_of(closure.begin(), closure.end(), [&](const auto& path) { return set.has(path); })) {
      set.remember();
      return set.take(closure);
    }
    PRECAST_TRY(set.digest(closure));
  }
  return fail(ErrorCode::internal, "the libraries of " + util::quoted(libraries.front()) + " have no end",
              libraries.front());
}

}  // namespace precast::identity
