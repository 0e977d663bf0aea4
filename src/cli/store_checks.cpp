#include "cli/store_checks.hpp"

#include <algorithm>

#include "util/text.hpp"

namespace precast::cli {

namespace {

std::string counted(std::size_t count, const std::string& one, const std::string& more) {
  return std::to_string(count) + " " + (count == 1 ? one : more);
}

std::string names(const std::vector<std::filesystem::path>& paths) {
  constexpr std::size_t kShown = 3;
  return util::listed_quoted(paths, kShown);
}

Check time_stamps(const store::Health& health) {
  const std::string name = "store time stamps";
  switch (health.trust) {
    case store::CtimeTrust::always:
      return {name, true, "they can be trusted: a hit hashes nothing", ""};
    case store::CtimeTrust::this_mount:
      return {name, true, "they can be trusted until the next boot or mount; then everything is hashed once", ""};
    case store::CtimeTrust::never:
      break;
  }
  return {name, false, "those of this file system prove nothing: every hit hashes the whole compiled model",
          "move the store to ext4, xfs or btrfs: --cache-dir or PRECAST_CACHE_DIR"};
}

Check clock_check(const store::Health& health) {
  const std::string name = "store clock";
  const auto& files = health.from_the_future;
  if (files.empty()) return {name, true, "no file was changed in the future", ""};
  return {name, false,
          counted(files.size(), "file was", "files were") + " changed in the future, as the clock stands, and " +
              (files.size() == 1 ? "is" : "are") + " hashed at every use: " + names(files),
          "set the clock right (date); if it is right, `touch` the files once"};
}

Check records(const store::Health& health) {
  std::vector<std::filesystem::path> damaged;
  std::vector<std::filesystem::path> foreign;
  std::string first;
  for (const store::Finding& finding : health.findings) {
    if (finding.damaged && damaged.empty()) first = finding.message;
    if (finding.damaged) damaged.push_back(finding.path);
    if (finding.foreign) foreign.push_back(finding.path);
  }
  Check check{"store records", true, counted(health.entries, "entry", "entries") + ", none damaged", ""};
  if (!foreign.empty()) {
    check.message += "; left alone, as written by another version of precast: " + names(foreign);
    check.hint = "`precast cache verify` shows them";
  }
  if (damaged.empty()) return check;
  return {check.name, false,
          counted(damaged.size(), "file is", "files are") + " damaged: " + names(damaged) + " (" + first + ")",
          "they are never served, and a compile replaces them; `precast cache verify` hashes everything"};
}

Check leftovers(const store::Health& health) {
  const std::string name = "store leftovers";
  if (health.leftovers.empty()) return {name, true, "none", ""};
  return {name, false,
          counted(health.leftovers.size(), "compile was", "compiles were") +
              " killed and left files: " + names(health.leftovers),
          "the next compile that is stored removes them; or delete these folders"};
}

Check failures(const store::Health& health) {
  const std::string name = "store failures";
  if (health.remembered_failures == 0) return {name, true, "no failed compile is remembered", ""};
  return {name, true, counted(health.remembered_failures, "failed compile is", "failed compiles are") + " remembered",
          "such a model runs uncompiled until --retry-failed-after is over; --retry-failed tries now"};
}

Check disk(const store::Health& health) {
  const std::string free =
      util::format_bytes(health.volume.bytes_free) + " free of " + util::format_bytes(health.volume.bytes_total);
  if (!store::nearly_full(health.volume)) return {"store disk", true, free, ""};
  return {"store disk", false, "nearly full: " + free, "make room, or put the store elsewhere with --cache-dir"};
}

}  // namespace

std::vector<Check> store_checks(const store::Health& health) {
  return {time_stamps(health), clock_check(health), records(health), leftovers(health), failures(health), disk(health)};
}

}  // namespace precast::cli
