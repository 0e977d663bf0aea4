#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
#include <unistd.h>

#include "fs/file_system.hpp"
#include "fs/posix_calls.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::fs {
namespace {

using posix::fail_call;
using posix::retry_interrupted;

constexpr mode_t kNewFileMode = 0600;

int open_call(const stdfs::path& path, int flags) {
  return retry_interrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, kNewFileMode); });
}

Result<File> open_with(const stdfs::path& path, int flags, std::string_view action = "open") {
  const int descriptor = open_call(path, flags);
  if (descriptor < 0) return fail_call(errno, action, path);
  return File(descriptor, path);
}

Result<File> open_lock_file(const stdfs::path& path, int create) {
  constexpr int always = O_NOFOLLOW | O_NONBLOCK;
  int descriptor = open_call(path, O_RDWR | create | always);
  if (descriptor >= 0) return File(descriptor, path);
  const int first_error = errno;
  if (first_error == EACCES || first_error == EPERM || first_error == EROFS) {
    descriptor = open_call(path, O_RDONLY | always);
    if (descriptor >= 0) return File(descriptor, path);
    // Nothing there and nothing to be made there: the first error says more, unless nothing was to be made.
    if (errno == ENOENT && create == 0) return fail_call(ENOENT, "open lock file", path);
  }
  if (first_error == ELOOP) {
    return fail(ErrorCode::io, fmt::format("lock file {} is a symbolic link", util::quoted(path)), path,
                "delete the link");
  }
  return fail_call(first_error, "open lock file", path);
}

FileKind kind_of_entry(unsigned char type) {
  switch (type) {
    case DT_REG:
      return FileKind::regular;
    case DT_DIR:
      return FileKind::directory;
    case DT_LNK:
      return FileKind::symlink;
    default:
      return FileKind::other;
  }
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }  // only read from: close has nothing to say
};

Result<std::vector<DirEntry>> read_entries(DIR* directory, const stdfs::path& path) {
  std::vector<DirEntry> entries;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(directory);
    if (entry == nullptr) break;
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") entries.push_back({std::string(name), kind_of_entry(entry->d_type)});
  }
  if (errno != 0) return fail_call(errno, "list folder", path);
  std::ranges::sort(entries, {}, &DirEntry::name);
  return entries;
}

class PosixFileSystem : public FileSystem {
 public:
  Result<FileStat> stat(const stdfs::path& path) override { return posix::stat_at(AT_FDCWD, path.c_str(), 0, path); }

  Result<FileStat> lstat(const stdfs::path& path) override {
    return posix::stat_at(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW, path);
  }

  Result<FileStat> stat(const File& file) override {
    return posix::stat_at(file.descriptor(), "", AT_EMPTY_PATH, file.path());
  }

  Result<stdfs::path> read_link(const stdfs::path& path) override;

  Result<bool> has_no_links(const stdfs::path& path) override { return posix::has_no_links(path); }

  Result<std::vector<DirEntry>> list(const stdfs::path& directory) override;
  Result<File> open(const stdfs::path& path, OpenMode mode) override;
  Result<std::size_t> read(File& file, std::span<std::byte> into) override;
  Result<std::size_t> read_at(File& file, std::span<std::byte> into, std::uint64_t offset) override;
  Result<void> write(File& file, std::span<const std::byte> bytes) override;
  Result<void> sync(File& file) override;
  Result<void> sync_directory(const stdfs::path& directory) override;
  Result<void> close(File& file) override;
  Result<void> make_directory(const stdfs::path& path, std::uint32_t mode) override;
  Result<void> rename(const stdfs::path& from, const stdfs::path& to) override;
  Result<void> rename_new(const stdfs::path& from, const stdfs::path& to) override;
  Result<bool> exchange(const stdfs::path& one, const stdfs::path& other) override;
  Result<void> unlink(const stdfs::path& path) override;
  Result<void> remove_directory(const stdfs::path& path) override;
  Result<void> change_mode(const stdfs::path& path, std::uint32_t mode) override;

  Result<void> clone(const stdfs::path& from, const stdfs::path& to) override { return posix::clone(from, to); }
  Result<void> symlink(const stdfs::path& target, const stdfs::path& link) override;
  Result<void> link(const stdfs::path& from, const stdfs::path& to) override;

  Result<bool> try_lock(File& file, LockKind kind) override;
  void unlock(File& file) noexcept override;

  WriterCheck check_writers(File& file) override { return posix::check_writers(file); }

  Result<Volume> volume(const stdfs::path& path) override;
};

Result<stdfs::path> PosixFileSystem::read_link(const stdfs::path& path) {
  std::string target(256, '\0');
  for (;;) {
    const auto length = retry_interrupted([&] { return ::readlink(path.c_str(), target.data(), target.size()); });
    if (length < 0) return fail_call(errno, "read link", path);
    if (static_cast<std::size_t>(length) < target.size()) {
      target.resize(static_cast<std::size_t>(length));
      return stdfs::path(std::move(target));
    }
    target.resize(target.size() * 2);  // full: there may be more
  }
}

Result<std::vector<DirEntry>> PosixFileSystem::list(const stdfs::path& directory) {
  PRECAST_TRY_ASSIGN(File file, open_with(directory, O_RDONLY | O_DIRECTORY, "open folder"));
  const std::unique_ptr<DIR, CloseDirectory> entries(::fdopendir(file.descriptor()));
  if (entries == nullptr) return fail_call(errno, "list folder", directory);
  (void)file.release();  // the DIR owns it now
  return read_entries(entries.get(), directory);
}

Result<File> PosixFileSystem::open(const stdfs::path& path, OpenMode mode) {
  switch (mode) {
    case OpenMode::read:
      return open_with(path, O_RDONLY | O_NONBLOCK);
    case OpenMode::create_new:
      return open_with(path, O_RDWR | O_CREAT | O_EXCL, "create");
    case OpenMode::append:
      return open_with(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_NOFOLLOW, "open for appending");
    case OpenMode::lock:
      return open_lock_file(path, O_CREAT);
    case OpenMode::lock_existing:
      return open_lock_file(path, 0);
    case OpenMode::read_write:
      return open_with(path, O_RDWR, "open for writing");
  }
  return fail_call(EINVAL, "open", path);
}

Result<std::size_t> PosixFileSystem::read(File& file, std::span<std::byte> into) {
  const auto got = retry_interrupted([&] { return ::read(file.descriptor(), into.data(), into.size()); });
  if (got < 0) return fail_call(errno, "read", file.path());
  return static_cast<std::size_t>(got);
}

Result<std::size_t> PosixFileSystem::read_at(File& file, std::span<std::byte> into, std::uint64_t offset) {
  if (!std::in_range<off_t>(offset)) return std::size_t{0};  // no file reaches there
  const auto at = static_cast<off_t>(offset);
  const auto got = retry_interrupted([&] { return ::pread(file.descriptor(), into.data(), into.size(), at); });
  if (got < 0) return fail_call(errno, "read", file.path());
  return static_cast<std::size_t>(got);
}

Result<void> PosixFileSystem::write(File& file, std::span<const std::byte> bytes) {
  return posix::write_all(file, bytes);
}

Result<void> PosixFileSystem::sync(File& file) {
  if (retry_interrupted([&] { return ::fsync(file.descriptor()); }) != 0) return fail_call(errno, "sync", file.path());
  return {};
}

Result<void> PosixFileSystem::sync_directory(const stdfs::path& directory) {
  PRECAST_TRY_ASSIGN(const File file, open_with(directory, O_RDONLY | O_DIRECTORY, "open folder"));
  if (retry_interrupted([&] { return ::fsync(file.descriptor()); }) == 0) return {};
  // Some network and FUSE file systems have no fsync for folders: there is nothing that could be done better.
  if (errno == EINVAL) return {};
  return fail_call(errno, "sync folder", directory);
}

Result<void> PosixFileSystem::close(File& file) {
  const int descriptor = file.release();
  // Never retried: after EINTR the descriptor is gone on Linux, and its number may be another thread's by now.
  if (descriptor >= 0 && ::close(descriptor) != 0 && errno != EINTR) return fail_call(errno, "close", file.path());
  return {};
}

Result<void> PosixFileSystem::make_directory(const stdfs::path& path, std::uint32_t mode) {
  if (retry_interrupted([&] { return ::mkdir(path.c_str(), mode); }) == 0) return {};
  const int error_number = errno;
  if (error_number == EEXIST) {
    const auto there = stat(path);
    if (there && there->kind == FileKind::directory) return {};
  }
  return fail_call(error_number, "make folder", path);
}

Result<void> PosixFileSystem::rename(const stdfs::path& from, const stdfs::path& to) {
  if (retry_interrupted([&] { return ::rename(from.c_str(), to.c_str()); }) != 0)
    return fail_call(errno, "rename", from, to);
  return {};
}

Result<void> PosixFileSystem::rename_new(const stdfs::path& from, const stdfs::path& to) {
  if (retry_interrupted([&] { return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE); }) !=
      0) {
    return fail_call(errno, "rename", from, to);
  }
  return {};
}

Result<bool> PosixFileSystem::exchange(const stdfs::path& one, const stdfs::path& other) {
  const auto call = [&] { return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE); };
  if (retry_interrupted(call) == 0) return true;
  if (errno == EINVAL || errno == ENOSYS || errno == EXDEV) return false;  // EXDEV: a lower layer of overlayfs
  return fail_call(errno, "exchange", one, other);
}

Result<void> PosixFileSystem::unlink(const stdfs::path& path) {
  if (retry_interrupted([&] { return ::unlink(path.c_str()); }) != 0) return fail_call(errno, "delete", path);
  return {};
}

Result<void> PosixFileSystem::remove_directory(const stdfs::path& path) {
  if (retry_interrupted([&] { return ::rmdir(path.c_str()); }) != 0) return fail_call(errno, "delete folder", path);
  return {};
}

Result<void> PosixFileSystem::change_mode(const stdfs::path& path, std::uint32_t mode) {
  if (retry_interrupted([&] { return ::chmod(path.c_str(), mode); }) != 0)
    return fail_call(errno, "change the mode of", path);
  return {};
}

Result<void> PosixFileSystem::link(const stdfs::path& from, const stdfs::path& to) {
  if (retry_interrupted([&] { return ::link(from.c_str(), to.c_str()); }) != 0)
    return fail_call(errno, "link", from, to);
  return {};
}

Result<void> PosixFileSystem::symlink(const stdfs::path& target, const stdfs::path& link) {
  if (retry_interrupted([&] { return ::symlink(target.c_str(), link.c_str()); }) != 0)
    return fail_call(errno, "link", link, target);
  return {};
}

Result<bool> PosixFileSystem::try_lock(File& file, LockKind kind) {
  const int operation = (kind == LockKind::shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  if (retry_interrupted([&] { return ::flock(file.descriptor(), operation); }) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  return fail_call(errno, "lock", file.path());
}

void PosixFileSystem::unlock(File& file) noexcept {
  // Fails only for a descriptor that is not open, which holds nothing.
  retry_interrupted([&] { return ::flock(file.descriptor(), LOCK_UN); });
}

Result<FileSystem::Volume> PosixFileSystem::volume(const stdfs::path& path) {
  struct statfs answer = {};
  if (retry_interrupted([&] { return ::statfs(path.c_str(), &answer); }) != 0) {
    return fail_call(errno, "ask for the file system of", path);
  }
  const auto unit = static_cast<std::uint64_t>(answer.f_frsize > 0 ? answer.f_frsize : answer.f_bsize);
  Volume volume;
  volume.magic = static_cast<std::uint32_t>(answer.f_type);
  volume.read_only = (static_cast<unsigned long>(answer.f_flags) & ST_RDONLY) != 0;
  volume.bytes_free = answer.f_bavail * unit;
  volume.bytes_total = answer.f_blocks * unit;
  return volume;
}

}  // namespace

FileSystem& FileSystem::posix() {
  // Never destroyed: locks in objects of static storage may be released after this function's statics are gone.
  alignas(PosixFileSystem) static std::byte place[sizeof(PosixFileSystem)];
  static FileSystem* const file_system = ::new (place) PosixFileSystem;
  return *file_system;
}

}  // namespace precast::fs
