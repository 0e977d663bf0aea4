#include "identity/links.hpp"

#include <deque>
#include <string>

#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::identity {
namespace {

constexpr int kMaxLinks = 40;  // the kernel's own limit

struct Component {
  std::string name;
  bool asked_for = true;  // of the path given, not of a link's target
};

struct Walk {
  std::filesystem::path physical = "/";  // resolved so far
  std::filesystem::path logical = "/";   // the same as the caller wrote it
  std::deque<Component> rest;
  std::vector<LinkEvidence> links;
};

void prepend(Walk& walk, const std::filesystem::path& target) {
  std::deque<Component> parts;
  for (const auto& part : target.relative_path()) parts.push_back({part.string(), false});
  walk.rest.insert(walk.rest.begin(), parts.begin(), parts.end());
  if (target.is_absolute()) walk.physical = "/";
}

Result<void> step(fs::FileSystem& fs, Walk& walk) {
  const Component component = walk.rest.front();
  walk.rest.pop_front();
  if (component.asked_for) walk.logical /= component.name;
  if (component.name.empty() || component.name == ".") return {};
  if (component.name == "..") {
    walk.physical = walk.physical.parent_path();
    return {};
  }
  const std::filesystem::path here = walk.physical / component.name;
  PRECAST_TRY_ASSIGN(const fs::FileStat stat, fs.lstat(here));
  if (stat.kind != fs::FileKind::symlink) {
    walk.physical = here;
    return {};
  }
  PRECAST_TRY_ASSIGN(const std::filesystem::path target, fs.read_link(here));
  walk.links.push_back({component.asked_for ? walk.logical : here, stat.inode, stat.ctime_ns});
  prepend(walk, target);
  return {};
}

// The component that failed may be a folder that the caller never heard of.
std::unexpected<Error> named_after(const std::filesystem::path& path, Error error) {
  error.message = util::quoted(path) + " cannot be reached: " + error.message;
  error.path = path;
  return std::unexpected(std::move(error));
}

}  // namespace

std::filesystem::path logical_absolute(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path whole = std::filesystem::absolute(path, error);
  if (error) whole = path;  // no working directory: the path fails later, under its own name
  std::filesystem::path result;
  for (const auto& part : whole) {
    if (part != "." && !part.empty()) result /= part;
  }
  return result;
}

Result<std::vector<LinkEvidence>> links_on_path(fs::FileSystem& fs, const std::filesystem::path& path) {
  if (const auto straight = fs.has_no_links(path); straight && *straight) return std::vector<LinkEvidence>{};
  Walk walk;
  for (const auto& part : path.relative_path()) walk.rest.push_back({part.string(), true});
  while (!walk.rest.empty()) {
    if (auto done = step(fs, walk); !done) return named_after(path, std::move(done).error());
    if (walk.links.size() > kMaxLinks) {
      return fail(ErrorCode::bad_input, util::quoted(path) + " goes through too many symbolic links", path,
                  "Look for a link that leads to itself.");
    }
  }
  return std::move(walk.links);
}

fs::FileStat evidence_stat(fs::FileStat stat) {
  stat.block_bytes = 0;
  return stat;
}

}  // namespace precast::identity
