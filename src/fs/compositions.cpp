#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "fs/file_system.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::fs {
namespace {

constexpr std::string_view kTemporaryPrefix = ".precast-";
constexpr std::string_view kTemporarySuffix = ".tmp";

std::string shown(const stdfs::path& path) {
  return util::escape_to_line(path.native());
}

stdfs::path folder_of(const stdfs::path& path) {
  stdfs::path folder = path.parent_path();
  return folder.empty() ? stdfs::path(".") : folder;
}

// The rest of `file`. When its size is known, one read is enough: a regular file that gives less than was asked for is
// at its end, if that is the end that stat saw.
Result<std::string> read_to_end(FileSystem& fs, File& file, std::uint64_t size, std::uint64_t limit) {
  std::string bytes;
  std::size_t filled = 0;
  for (;;) {
    const std::size_t room = filled == 0 ? static_cast<std::size_t>(size) + 1 : std::max<std::size_t>(filled, 4096);
    bytes.resize(filled + room);
    PRECAST_TRY_ASSIGN(const std::size_t got, fs.read(file, std::as_writable_bytes(std::span(bytes)).subspan(filled)));
    filled += got;
    if (filled > limit) {
      return fail(ErrorCode::bad_input, fmt::format("'{}' is larger than {} bytes", shown(file.path()), limit),
                  file.path());
    }
    const bool ended_as_expected = size > 0 && filled == size && got < room;
    if (got == 0 || ended_as_expected) break;
  }
  bytes.resize(filled);
  return bytes;
}

Result<void> write_new_file(FileSystem& fs, const stdfs::path& path, std::string_view bytes, Durability durability) {
  PRECAST_TRY_ASSIGN(File file, fs.open(path, OpenMode::create_new));
  // Tells remove_left_temporary that somebody is at it. Where files cannot be locked, its age has to do.
  (void)fs.try_lock(file, LockKind::exclusive);
  PRECAST_TRY(fs.write(file, std::as_bytes(std::span(bytes))));
  if (durability == Durability::durable) PRECAST_TRY(fs.sync(file));
  return fs.close(file);
}

Result<void> write_and_rename(FileSystem& fs, const stdfs::path& temporary, const stdfs::path& path,
                              std::string_view bytes, Durability durability) {
  PRECAST_TRY(write_new_file(fs, temporary, bytes, durability));
  return fs.rename(temporary, path);
}

Result<void> missing_is_ok(Result<void> result) {
  if (!result && is_not_found(result.error())) return {};
  return result;
}

Result<void> remove_directory_tree(FileSystem& fs, const stdfs::path& path, std::uint32_t mode);

Result<void> remove_entry(FileSystem& fs, const stdfs::path& path, FileKind kind) {
  if (kind == FileKind::regular || kind == FileKind::symlink) return missing_is_ok(fs.unlink(path));
  return remove_tree(fs, path);
}

Result<void> remove_directory_tree(FileSystem& fs, const stdfs::path& path, std::uint32_t mode) {
  constexpr std::uint32_t owner_all = 0700;
  // Where this fails (another's folder), the calls below have the better words for it, or do not need it.
  if ((mode & owner_all) != owner_all) {
    [[maybe_unused]] const auto ignored = fs.change_mode(path, owner_all);
  }
  const auto entries = fs.list(path);
  if (!entries) return missing_is_ok(std::unexpected<Error>(entries.error()));
  for (const DirEntry& entry : *entries) PRECAST_TRY(remove_entry(fs, path / entry.name, entry.kind));
  return missing_is_ok(fs.remove_directory(path));
}

}  // namespace

Result<std::string> read_small_file(FileSystem& fs, const stdfs::path& path, std::uint64_t limit) {
  PRECAST_TRY_ASSIGN(File file, fs.open(path, OpenMode::read));
  PRECAST_TRY_ASSIGN(const FileStat stat, fs.stat(file));
  if (stat.kind != FileKind::regular) {
    return fail(ErrorCode::bad_input, fmt::format("'{}' is not a regular file", shown(path)), path);
  }
  // No memory for a file that is too large anyway; one that grows meanwhile is caught by what was read.
  return read_to_end(fs, file, std::min(stat.size, limit), limit);
}

Result<void> write_file_atomically(FileSystem& fs, const stdfs::path& path, std::string_view bytes,
                                   Durability durability) {
  const stdfs::path folder = folder_of(path);
  const stdfs::path temporary = new_temporary(folder);
  if (auto written = write_and_rename(fs, temporary, path, bytes, durability); !written) {
    // Often not even made; and a second failure would only hide the first one.
    [[maybe_unused]] const auto ignored = fs.unlink(temporary);
    return written;
  }
  if (durability == Durability::durable) return fs.sync_directory(folder);
  return {};
}

stdfs::path new_temporary(const stdfs::path& folder) {
  return folder / fmt::format("{}{}{}", kTemporaryPrefix, util::new_uuid(), kTemporarySuffix);
}

bool is_temporary(std::string_view name) {
  if (!name.starts_with(kTemporaryPrefix) || !name.ends_with(kTemporarySuffix)) return false;
  name.remove_prefix(kTemporaryPrefix.size());
  return name.size() > kTemporarySuffix.size() && util::is_uuid(name.substr(0, name.size() - kTemporarySuffix.size()));
}

void remove_left_temporary(FileSystem& fs, const stdfs::path& path) {
  auto file = fs.open(path, OpenMode::lock_existing);
  if (!file) return;
  const auto stat = fs.stat(*file);
  const auto locked = fs.try_lock(*file, LockKind::exclusive);
  if (!stat || stat->kind != FileKind::regular || !locked || !*locked) return;
  [[maybe_unused]] const auto ignored = fs.unlink(path);  // what stays is tried again by the next sweep
}

Result<void> make_directories(FileSystem& fs, const stdfs::path& path, std::uint32_t mode, Durability durability) {
  const auto there = fs.stat(path);
  if (there && there->kind == FileKind::directory) return {};
  if (there) return fail(ErrorCode::io, fmt::format("'{}' is not a folder", shown(path)), path);
  if (!is_not_found(there.error())) return std::unexpected<Error>(there.error());

  // "a/b/" is made as "a/b": the parent of "a/b/" would be "a/b" itself.
  const stdfs::path plain = path.has_filename() ? path : path.parent_path();
  const stdfs::path folder = folder_of(plain);
  if (folder != plain && plain.has_relative_path()) PRECAST_TRY(make_directories(fs, folder, mode, durability));
  PRECAST_TRY(fs.make_directory(plain, mode));
  if (durability == Durability::durable) return fs.sync_directory(folder);
  return {};
}

Result<void> remove_tree(FileSystem& fs, const stdfs::path& path) {
  const auto stat = fs.lstat(path);
  if (!stat) return missing_is_ok(std::unexpected<Error>(stat.error()));
  if (stat->kind == FileKind::directory) return remove_directory_tree(fs, path, stat->mode);
  return missing_is_ok(fs.unlink(path));
}

Result<std::vector<TreeEntry>> list_tree(FileSystem& fs, const stdfs::path& folder) {
  std::vector<TreeEntry> tree;
  std::vector<stdfs::path> folders{""};  // still to be listed, the next one last
  while (!folders.empty()) {
    const stdfs::path at = std::move(folders.back());
    folders.pop_back();
    auto entries = fs.list(folder / at);
    if (!entries && !at.empty() && is_not_found(entries.error())) continue;
    if (!entries) return std::unexpected<Error>(std::move(entries).error());
    for (const DirEntry& entry : *entries) {
      const auto stat = fs.lstat(folder / at / entry.name);
      if (!stat && is_not_found(stat.error())) continue;
      if (!stat) return std::unexpected<Error>(stat.error());
      if (stat->kind == FileKind::directory) {
        folders.push_back(at / entry.name);
      } else {
        tree.push_back({at / entry.name, stat->kind});
      }
    }
  }
  std::ranges::sort(tree, {}, &TreeEntry::path);
  return tree;
}

Result<void> check_can_write(FileSystem& fs, const stdfs::path& folder) {
  stdfs::path there = folder.empty() ? "." : folder;
  while (there.has_relative_path() && !exists(fs, there)) there = there.has_parent_path() ? there.parent_path() : ".";
  if (const auto stat = fs.stat(there); stat && stat->kind != FileKind::directory) {
    return fail(ErrorCode::bad_input, util::quoted(there) + " is not a folder", there, "name another place");
  }
  const stdfs::path probe = new_temporary(there);
  if (const auto made = fs.open(probe, OpenMode::create_new); !made) {
    return fail(made.error().code, "nothing can be written in " + util::quoted(there) + ": " + made.error().message,
                there, "name another place, or change who may write there");
  }
  return fs.unlink(probe);
}

bool is_within(const stdfs::path& folder, const stdfs::path& path) {
  return !folder.empty() && std::ranges::mismatch(folder, path).in1 == folder.end();
}

bool exists(FileSystem& fs, const stdfs::path& path) {
  return fs.lstat(path).has_value();
}

bool is_not_found(const Error& error) {
  return error.code == ErrorCode::not_found;
}

}  // namespace precast::fs
