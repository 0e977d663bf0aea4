// A FileSystem that passes everything on and counts it. For tests and for `--timings`-like reports: a warm hit reads no
// byte of source, libraries or artifacts. Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "fs/file_system.hpp"

namespace precast::fs {

struct CallCounts {
  std::map<std::string, std::uint64_t> calls;       // by operation name ("stat", "open", "read", "sync", ...)
  std::map<stdfs::path, std::uint64_t> bytes_read;  // by path
  std::uint64_t exclusive_locks = 0;                // attempts at them
  std::uint64_t syncs = 0;                          // of files and folders
  [[nodiscard]] std::uint64_t total() const;
};

class CountingFileSystem : public FileSystem {
 public:
  explicit CountingFileSystem(FileSystem& inner);
  ~CountingFileSystem() override;
  [[nodiscard]] CallCounts counts() const;
  void reset();
  // (the overrides follow FileSystem)
  Result<FileStat> stat(const stdfs::path& path) override;
  Result<FileStat> lstat(const stdfs::path& path) override;
  Result<FileStat> stat(const File& file) override;
  Result<stdfs::path> read_link(const stdfs::path& path) override;
  Result<bool> has_no_links(const stdfs::path& path) override;
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
  Result<void> clone(const stdfs::path& from, const stdfs::path& to) override;
  Result<void> link(const stdfs::path& from, const stdfs::path& to) override;
  Result<void> symlink(const stdfs::path& target, const stdfs::path& link) override;
  Result<bool> try_lock(File& file, LockKind kind) override;
  void unlock(File& file) noexcept override;
  WriterCheck check_writers(File& file) override;
  Result<Volume> volume(const stdfs::path& path) override;

 private:
  void count(std::string_view operation);
  void count_read(const stdfs::path& path, const Result<std::size_t>& got);
  void count_sync();
  FileSystem& inner_;
  mutable std::mutex mutex_;
  CallCounts counts_;
};

}  // namespace precast::fs
