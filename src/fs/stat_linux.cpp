#include <cstdint>

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <fcntl.h>
#include <unistd.h>

#include "fs/posix_calls.hpp"

namespace precast::fs::posix {
namespace {

// Linux 6.8. Plain mount ids are used again after an unmount; this one never is. A kernel that does not know it ignores
// it and gives the plain one.
constexpr unsigned kMountIdUnique = 0x4000U;
constexpr unsigned kWanted = STATX_BASIC_STATS | STATX_MNT_ID | kMountIdUnique;

FileKind kind_of(unsigned mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return FileKind::regular;
    case S_IFDIR:
      return FileKind::directory;
    case S_IFLNK:
      return FileKind::symlink;
    default:
      return FileKind::other;
  }
}

std::int64_t nanoseconds(const struct statx_timestamp& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

FileStat to_file_stat(const struct statx& from) {
  FileStat stat;
  stat.kind = kind_of(from.stx_mode);
  stat.device = makedev(from.stx_dev_major, from.stx_dev_minor);
  stat.inode = from.stx_ino;
  stat.size = from.stx_size;
  stat.mtime_ns = nanoseconds(from.stx_mtime);
  stat.ctime_ns = nanoseconds(from.stx_ctime);
  stat.mode = from.stx_mode & 07777U;
  stat.uid = from.stx_uid;
  stat.link_count = from.stx_nlink;
  stat.mount_id = from.stx_mnt_id;
  stat.block_bytes = from.stx_blocks * 512;
  return stat;
}

}  // namespace

Result<FileStat> stat_at(int directory, const char* name, int flags, const stdfs::path& path) {
  struct statx answer = {};
  if (retry_interrupted([&] { return ::statx(directory, name, flags, kWanted, &answer); }) != 0) {
    return fail_call(errno, "stat", path);
  }
  return to_file_stat(answer);
}

Result<bool> has_no_links(const stdfs::path& path) {
  struct open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  const auto opened =
      retry_interrupted([&] { return ::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how); });
  if (opened >= 0) {
    const File closes_itself(static_cast<int>(opened), path);
    return true;
  }
  switch (errno) {
    case ELOOP:
      return false;
    case ENOSYS:
    case EPERM:   // container run times answer this to calls that they do not know
    case EAGAIN:  // something was renamed during the walk
      return has_no_links_stepwise(path);
    default:
      return fail_call(errno, "open", path);
  }
}

Result<bool> has_no_links_stepwise(const stdfs::path& path) {
  if (path.empty()) return fail_call(ENOENT, "open", path);
  stdfs::path walked;
  for (const stdfs::path& component : path) {
    if (component.empty()) continue;  // a slash at the end would make lstat follow a link
    walked /= component;
    const auto stat = stat_at(AT_FDCWD, walked.c_str(), AT_SYMLINK_NOFOLLOW, path);
    if (!stat) return std::unexpected<Error>(stat.error());
    if (stat->kind == FileKind::symlink) return false;
  }
  return true;
}

}  // namespace precast::fs::posix
