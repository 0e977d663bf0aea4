#include "store/publish_destination.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "store/read_record.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::store {
namespace {

constexpr std::uint32_t kNewFolderMode = 0777;  // less the umask, as mkdir does
constexpr std::uint32_t kReadAndWrite = 0666;
constexpr std::uint32_t kOwnersOwn = 0600;
constexpr int kDeepestFolder = 512;  // past any path that the kernel takes in one piece

std::unexpected<Error> refuse(const std::filesystem::path& path, std::string_view what,
                              std::string hint = "choose another name with -o") {
  return fail(ErrorCode::bad_input, fmt::format("the output {} {}", util::quoted(path), what), path, std::move(hint));
}

bool is_same_file(const fs::FileStat& one, const fs::FileStat& other) {
  return one.device == other.device && one.inode == other.inode;
}

// Up to the root by "..", as the kernel goes: a link in the path does not hide where it leads.
Result<bool> is_inside(fs::FileSystem& fs, std::filesystem::path folder, const fs::FileStat& root) {
  PRECAST_TRY_ASSIGN(fs::FileStat here, fs.stat(folder));
  for (int level = 0; level < kDeepestFolder; ++level) {
    if (is_same_file(here, root)) return true;
    // Another store is no place for anybody's files either.
    if (const auto version = read_record(fs, folder / "version"); version && *version == kVersionText) return true;
    folder /= "..";
    PRECAST_TRY_ASSIGN(const fs::FileStat parent, fs.stat(folder));
    if (is_same_file(parent, here)) return false;
    here = parent;
  }
  return false;
}

// The one in which the first missing folder would be made.
std::filesystem::path nearest_folder(fs::FileSystem& fs, std::filesystem::path folder) {
  while (!fs::exists(fs, folder) && folder.has_relative_path()) folder = folder.parent_path();
  return folder;
}

Result<std::filesystem::path> made_absolute(const std::filesystem::path& output) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::absolute(output, error);
  if (error) return refuse(output, "is relative, and there is no working directory", "give an absolute path");
  return path;
}

}  // namespace

Result<Inputs> Inputs::look_at(fs::FileSystem& fs, const std::vector<std::filesystem::path>& paths) {
  Inputs inputs;
  for (const auto& path : paths) {
    const auto stat = fs.stat(path);
    if (!stat && !fs::is_not_found(stat.error())) return std::unexpected(stat.error());
    if (!stat) continue;  // it went since it was compiled: nothing can be done to it
    if (inputs.stats_.empty()) inputs.mode_ = (stat->mode & kReadAndWrite) | kOwnersOwn;
    inputs.stats_.push_back(*stat);
  }
  return inputs;
}

bool Inputs::contain(const fs::FileStat& stat) const {
  return std::ranges::any_of(stats_, [&](const fs::FileStat& input) { return is_same_file(input, stat); });
}

Result<bool> check_replaceable(fs::FileSystem& fs, const std::filesystem::path& path, const Inputs& inputs) {
  const auto itself = fs.lstat(path);
  if (!itself && fs::is_not_found(itself.error())) return false;
  if (!itself) return std::unexpected(itself.error());
  const auto target = fs.stat(path);
  if (!target && !fs::is_not_found(target.error())) return std::unexpected(target.error());
  if (target && inputs.contain(*target)) return refuse(path, "is a file that the compile was made from");
  switch (itself->kind) {
    case fs::FileKind::regular:
      return true;
    case fs::FileKind::symlink:
      return refuse(path, target ? "is a link" : "is a link to nothing", "delete the link, or name another file");
    case fs::FileKind::directory:
      return refuse(path, "is a folder", "name a file in it, or use --output-dir");
    case fs::FileKind::other:
      break;
  }
  return refuse(path, "is not a regular file");
}

Result<Destination> check_destination(fs::FileSystem& fs, const Layout& layout, const std::filesystem::path& output,
                                      const Inputs& inputs) {
  Destination to{.name = output.filename().native()};
  if (to.name.empty() || to.name == "." || to.name == "..") {
    return refuse(output, "names no file", "name a file, or use --output-dir");
  }
  if (fs::is_temporary(to.name)) return refuse(output, "has the name of a temporary file of precast's");
  if (to.name.find('\0') != std::string::npos) return refuse(output, "has a NUL character in its name");
  PRECAST_TRY_ASSIGN(const std::filesystem::path path, made_absolute(output));
  to.folder = path.parent_path();
  PRECAST_TRY(check_replaceable(fs, path, inputs));
  PRECAST_TRY_ASSIGN(const fs::FileStat root, fs.stat(layout.root()));
  PRECAST_TRY_ASSIGN(const bool in_the_store, is_inside(fs, nearest_folder(fs, to.folder), root));
  if (in_the_store) return refuse(path, "lies in a cache");
  return to;
}

Result<Destination> find_destination(fs::FileSystem& fs, const Layout& layout, const std::filesystem::path& output,
                                     const Inputs& inputs) {
  PRECAST_TRY_ASSIGN(Destination to, check_destination(fs, layout, output, inputs));
  PRECAST_TRY(fs::make_directories(fs, to.folder, kNewFolderMode, fs::Durability::durable));
  PRECAST_TRY_ASSIGN(const fs::FileStat folder, fs.stat(to.folder));
  const std::string folder_text = fmt::format("{} {}", folder.device, folder.inode);
  to.folder_id = util::sha256_hex(folder_text);
  to.id = util::sha256_hex(folder_text + " " + to.name);
  return to;
}

}  // namespace precast::store
