#include "fs/counting_file_system.hpp"

#include <numeric>

namespace precast::fs {

std::uint64_t CallCounts::total() const {
  return std::accumulate(calls.begin(), calls.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& call) { return sum + call.second; });
}

CountingFileSystem::CountingFileSystem(FileSystem& inner) : inner_(inner) {}

CountingFileSystem::~CountingFileSystem() = default;

CallCounts CountingFileSystem::counts() const {
  const std::lock_guard guard(mutex_);
  return counts_;
}

void CountingFileSystem::reset() {
  const std::lock_guard guard(mutex_);
  counts_ = {};
}

void CountingFileSystem::count(std::string_view operation) {
  const std::lock_guard guard(mutex_);
  ++counts_.calls[std::string(operation)];
}

void CountingFileSystem::count_read(const stdfs::path& path, const Result<std::size_t>& got) {
  const std::lock_guard guard(mutex_);
  if (got) counts_.bytes_read[path] += *got;
}

void CountingFileSystem::count_sync() {
  const std::lock_guard guard(mutex_);
  ++counts_.syncs;
}

Result<FileStat> CountingFileSystem::stat(const stdfs::path& path) {
  count("stat");
  return inner_.stat(path);
}

Result<FileStat> CountingFileSystem::lstat(const stdfs::path& path) {
  count("lstat");
  return inner_.lstat(path);
}

Result<FileStat> CountingFileSystem::stat(const File& file) {
  count("stat");
  return inner_.stat(file);
}

Result<stdfs::path> CountingFileSystem::read_link(const stdfs::path& path) {
  count("read_link");
  return inner_.read_link(path);
}

Result<bool> CountingFileSystem::has_no_links(const stdfs::path& path) {
  count("has_no_links");
  return inner_.has_no_links(path);
}

Result<std::vector<DirEntry>> CountingFileSystem::list(const stdfs::path& directory) {
  count("list");
  return inner_.list(directory);
}

Result<File> CountingFileSystem::open(const stdfs::path& path, OpenMode mode) {
  count("open");
  return inner_.open(path, mode);
}

Result<std::size_t> CountingFileSystem::read(File& file, std::span<std::byte> into) {
  count("read");
  auto got = inner_.read(file, into);
  count_read(file.path(), got);
  return got;
}

Result<std::size_t> CountingFileSystem::read_at(File& file, std::span<std::byte> into, std::uint64_t offset) {
  count("read_at");
  auto got = inner_.read_at(file, into, offset);
  count_read(file.path(), got);
  return got;
}

Result<void> CountingFileSystem::write(File& file, std::span<const std::byte> bytes) {
  count("write");
  return inner_.write(file, bytes);
}

Result<void> CountingFileSystem::sync(File& file) {
  count("sync");
  count_sync();
  return inner_.sync(file);
}

Result<void> CountingFileSystem::sync_directory(const stdfs::path& directory) {
  count("sync_directory");
  count_sync();
  return inner_.sync_directory(directory);
}

Result<void> CountingFileSystem::close(File& file) {
  count("close");
  return inner_.close(file);
}

Result<void> CountingFileSystem::make_directory(const stdfs::path& path, std::uint32_t mode) {
  count("make_directory");
  return inner_.make_directory(path, mode);
}

Result<void> CountingFileSystem::rename(const stdfs::path& from, const stdfs::path& to) {
  count("rename");
  return inner_.rename(from, to);
}

Result<void> CountingFileSystem::rename_new(const stdfs::path& from, const stdfs::path& to) {
  count("rename_new");
  return inner_.rename_new(from, to);
}

Result<bool> CountingFileSystem::exchange(const stdfs::path& one, const stdfs::path& other) {
  count("exchange");
  return inner_.exchange(one, other);
}

Result<void> CountingFileSystem::unlink(const stdfs::path& path) {
  count("unlink");
  return inner_.unlink(path);
}

Result<void> CountingFileSystem::remove_directory(const stdfs::path& path) {
  count("remove_directory");
  return inner_.remove_directory(path);
}

Result<void> CountingFileSystem::change_mode(const stdfs::path& path, std::uint32_t mode) {
  count("change_mode");
  return inner_.change_mode(path, mode);
}

Result<void> CountingFileSystem::clone(const stdfs::path& from, const stdfs::path& to) {
  count("clone");
  return inner_.clone(from, to);
}

Result<void> CountingFileSystem::link(const stdfs::path& from, const stdfs::path& to) {
  count("link");
  return inner_.link(from, to);
}

Result<void> CountingFileSystem::symlink(const stdfs::path& target, const stdfs::path& link) {
  count("symlink");
  return inner_.symlink(target, link);
}

Result<bool> CountingFileSystem::try_lock(File& file, LockKind kind) {
  count("try_lock");
  if (kind == LockKind::exclusive) {
    const std::lock_guard guard(mutex_);
    ++counts_.exclusive_locks;
  }
  return inner_.try_lock(file, kind);
}

void CountingFileSystem::unlock(File& file) noexcept {
  count("unlock");
  inner_.unlock(file);
}

FileSystem::WriterCheck CountingFileSystem::check_writers(File& file) {
  count("check_writers");
  return inner_.check_writers(file);
}

Result<FileSystem::Volume> CountingFileSystem::volume(const stdfs::path& path) {
  count("volume");
  return inner_.volume(path);
}

}  // namespace precast::fs
