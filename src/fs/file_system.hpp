// Every act on the file system that precast makes for its store, sources and artifacts goes through this seam, so that
// tests can count calls and inject faults. Errors carry the path and the system's words (code io, no_space, not_found).
//
// Thread safety: implementations are free-threaded; a File belongs to one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "precast/error.hpp"
#include "util/time.hpp"

namespace precast::fs {

namespace stdfs = std::filesystem;

enum class FileKind : std::uint8_t { regular, directory, symlink, other };

// What statx(2) says. Equality of two of them is evidence that nobody wrote in between (a restored size and mtime does
// not restore ctime).
struct FileStat {
  FileKind kind = FileKind::other;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::uint32_t mode = 0;
  std::uint32_t uid = 0;
  std::uint32_t link_count = 0;
  std::uint64_t mount_id = 0;     // unique over this boot (STATX_MNT_ID_UNIQUE where the kernel has it)
  std::uint64_t block_bytes = 0;  // bytes allocated on disk
  friend bool operator==(const FileStat&, const FileStat&) = default;
};

// An open file: closes itself. Made by a FileSystem only.
class File {
 public:
  File() = default;
  File(int descriptor, stdfs::path path) : descriptor_(descriptor), path_(std::move(path)) {}
  ~File();
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] const stdfs::path& path() const { return path_; }
  [[nodiscard]] int release();  // gives the descriptor away

 private:
  int descriptor_ = -1;
  stdfs::path path_;
};

enum class OpenMode : std::uint8_t {
  read,           // O_RDONLY | O_NONBLOCK (a FIFO must not hang); the kind is the caller's to check with stat(File)
  create_new,     // O_RDWR | O_CREAT | O_EXCL, mode 0600
  append,         // O_WRONLY | O_CREAT | O_APPEND, mode 0600
  lock,           // O_RDWR | O_CREAT, falling back to O_RDONLY of an existing file on a store that cannot be written;
                  // O_NOFOLLOW, and a FIFO does not hang
  lock_existing,  // the same without O_CREAT
  read_write,     // O_RDWR of an existing file
};

enum class LockKind : std::uint8_t { shared, exclusive };

struct DirEntry {
  std::string name;
  FileKind kind = FileKind::other;  // of the entry itself, links not followed; other if the file system does not say
};

// All opens are O_CLOEXEC.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  [[nodiscard]] virtual Result<FileStat> stat(const stdfs::path& path) = 0;   // follows links
  [[nodiscard]] virtual Result<FileStat> lstat(const stdfs::path& path) = 0;  // does not
  [[nodiscard]] virtual Result<FileStat> stat(const File& file) = 0;
  [[nodiscard]] virtual Result<stdfs::path> read_link(const stdfs::path& path) = 0;
  // True if `path` exists and no component of it is a symbolic link (openat2 RESOLVE_NO_SYMLINKS: one call).
  [[nodiscard]] virtual Result<bool> has_no_links(const stdfs::path& path) = 0;
  [[nodiscard]] virtual Result<std::vector<DirEntry>> list(const stdfs::path& directory) = 0;  // sorted by name

  [[nodiscard]] virtual Result<File> open(const stdfs::path& path, OpenMode mode) = 0;
  [[nodiscard]] virtual Result<std::size_t> read(File& file, std::span<std::byte> into) = 0;  // 0 at the end
  [[nodiscard]] virtual Result<std::size_t> read_at(File& file, std::span<std::byte> into, std::uint64_t offset) = 0;
  [[nodiscard]] virtual Result<void> write(File& file, std::span<const std::byte> bytes) = 0;  // all of it
  [[nodiscard]] virtual Result<void> sync(File& file) = 0;                                     // fsync
  [[nodiscard]] virtual Result<void> sync_directory(const stdfs::path& directory) = 0;
  [[nodiscard]] virtual Result<void> close(File& file) = 0;  // reports what close(2) says; ~File ignores it

  [[nodiscard]] virtual Result<void> make_directory(const stdfs::path& path, std::uint32_t mode) = 0;  // exists: ok
  [[nodiscard]] virtual Result<void> rename(const stdfs::path& from, const stdfs::path& to) = 0;       // replaces
  [[nodiscard]] virtual Result<void> rename_new(const stdfs::path& from,
                                                const stdfs::path& to) = 0;  // RENAME_NOREPLACE
  // Two names trade places, at once (RENAME_EXCHANGE); false = this file system cannot do that.
  [[nodiscard]] virtual Result<bool> exchange(const stdfs::path& one, const stdfs::path& other) = 0;
  [[nodiscard]] virtual Result<void> unlink(const stdfs::path& path) = 0;
  [[nodiscard]] virtual Result<void> remove_directory(const stdfs::path& path) = 0;
  [[nodiscard]] virtual Result<void> change_mode(const stdfs::path& path, std::uint32_t mode) = 0;
  // Reflink, else copy; `to` must not exist, and gets mode 0600; never a hard link. On failure nothing is left.
  [[nodiscard]] virtual Result<void> clone(const stdfs::path& from, const stdfs::path& to) = 0;

  // A second name of the same file, on the same file system; `to` must not exist.
  [[nodiscard]] virtual Result<void> link(const stdfs::path& from, const stdfs::path& to) = 0;

  // A symbolic link `link` to `target`, as it is written; `link` must not exist.
  [[nodiscard]] virtual Result<void> symlink(const stdfs::path& target, const stdfs::path& link) = 0;

  // Non-blocking flock(2) on this open file; false = somebody else holds it.
  [[nodiscard]] virtual Result<bool> try_lock(File& file, LockKind kind) = 0;
  virtual void unlock(File& file) noexcept = 0;

  // F_SETLEASE F_RDLCK taken and given back. writable = somebody has it open for writing; unknown = not permitted
  // (another user's file) or not supported.
  enum class WriterCheck : std::uint8_t { none, writable, unknown };
  [[nodiscard]] virtual WriterCheck check_writers(File& file) = 0;

  // statfs(2): the file-system magic, read-only flag, bytes free and in all.
  struct Volume {
    std::uint64_t magic = 0;
    bool read_only = false;
    std::uint64_t bytes_free = 0;
    std::uint64_t bytes_total = 0;
  };
  [[nodiscard]] virtual Result<Volume> volume(const stdfs::path& path) = 0;

  // The real one. Stateless; lives for ever.
  static FileSystem& posix();
};

// ---- compositions over the seam -------------------------------------------------------------------------------------

struct TreeEntry {
  stdfs::path path;
  FileKind kind = FileKind::other;  // as lstat says
};

// The whole of a small regular file; more than `limit` bytes, or not a regular file: an error that says so.
[[nodiscard]] Result<std::string> read_small_file(FileSystem& fs, const stdfs::path& path, std::uint64_t limit);
// Temporary file beside `path` (".precast-<uuid>.tmp"), mode 0600, locked while it is written, renamed over it.
// Durable: file fsynced before and folder after the rename. On failure no temporary file is left, and `path` is as it
// was (or new, if only the folder's fsync failed).
enum class Durability : std::uint8_t { none, durable };
[[nodiscard]] Result<void> write_file_atomically(FileSystem& fs, const stdfs::path& path, std::string_view bytes,
                                                 Durability durability);
// A new name for such a temporary file in `folder`.
[[nodiscard]] stdfs::path new_temporary(const stdfs::path& folder);
// Whether `name` is that of such a temporary file.
[[nodiscard]] bool is_temporary(std::string_view name);
// Deletes one whose writer was killed; left alone while somebody writes it. A writer that was just started may not have
// locked it yet: the caller goes by its age too.
void remove_left_temporary(FileSystem& fs, const stdfs::path& path);
// Every missing folder from the root down; durable: each new one's parent fsynced.
[[nodiscard]] Result<void> make_directories(FileSystem& fs, const stdfs::path& path, std::uint32_t mode,
                                            Durability durability);
// Every entry below `folder` but folders themselves, with its path relative to it, in the order of names; links are not
// followed. An entry that vanishes meanwhile is left out.
[[nodiscard]] Result<std::vector<TreeEntry>> list_tree(FileSystem& fs, const stdfs::path& folder);
// Depth-first, links never followed, missing is ok.
[[nodiscard]] Result<void> remove_tree(FileSystem& fs, const stdfs::path& path);
[[nodiscard]] bool exists(FileSystem& fs, const stdfs::path& path);  // lstat says so
// Files can be made in `folder`, or where it would have to be made; tried, and nothing is left. io or no_space naming
// the folder, bad_input where something on the way is no folder.
[[nodiscard]] Result<void> check_can_write(FileSystem& fs, const stdfs::path& folder);
// `path` is `folder` or lies below it, as the names say; an empty folder holds nothing.
[[nodiscard]] bool is_within(const stdfs::path& folder, const stdfs::path& path);
[[nodiscard]] bool is_not_found(const Error& error);

}  // namespace precast::fs
