// A folder, a clock and a file system of its own for each test of the store, and entries to put into it.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.hpp"
#include "util/time.hpp"

namespace precast::store::testing {

class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

void put(const std::filesystem::path& path, std::string_view bytes);
[[nodiscard]] std::string contents(const std::filesystem::path& path);
[[nodiscard]] std::size_t entries_in(const std::filesystem::path& folder);  // 0 if there is no such folder
[[nodiscard]] std::int64_t ctime_of(const std::filesystem::path& path);     // ns
// Other bytes of the same length, with the old mtime: only ctime tells.
void change_quietly(const std::filesystem::path& path);

// Runs with the real time from where it was put. Thread-safe.
class TestClock : public util::Clock {
 public:
  [[nodiscard]] util::WallTime now() const override;
  [[nodiscard]] util::SteadyTime steady() const override { return util::Clock::system().steady(); }
  void advance(std::chrono::nanoseconds by) { offset_ += by.count(); }
  void freeze(std::int64_t ns) { frozen_ = ns; }  // since the epoch

 private:
  std::atomic<std::int64_t> offset_{0};
  std::atomic<std::int64_t> frozen_{0};
};

// The real file system, on a volume whose kind the test chooses (ext4 unless said otherwise, wherever the tests run),
// with a hook before each call. An error that the hook returns is the call's. Nothing is really fsynced: what a killed
// process has written is there all the same, and a disk takes milliseconds for each.
class TestFileSystem : public fs::FileSystem {
 public:
  using Hook = std::function<std::optional<Error>(std::string_view operation, const std::filesystem::path& path)>;
  void set_hook(Hook hook);
  void set_volume(Volume volume) { volume_ = volume; }
  void set_stat_change(std::function<void(fs::FileStat&)> change) { change_ = std::move(change); }
  void set_writers(std::optional<WriterCheck> writers) { writers_ = writers; }
  [[nodiscard]] std::uint64_t bytes_read(const std::filesystem::path& path) const;
  [[nodiscard]] std::uint64_t calls() const { return calls_; }

  Result<fs::FileStat> stat(const fs::stdfs::path& path) override;
  Result<fs::FileStat> lstat(const fs::stdfs::path& path) override;
  Result<fs::FileStat> stat(const fs::File& file) override;
  Result<fs::stdfs::path> read_link(const fs::stdfs::path& path) override;
  Result<bool> has_no_links(const fs::stdfs::path& path) override;
  Result<std::vector<fs::DirEntry>> list(const fs::stdfs::path& directory) override;
  Result<fs::File> open(const fs::stdfs::path& path, fs::OpenMode mode) override;
  Result<std::size_t> read(fs::File& file, std::span<std::byte> into) override;
  Result<std::size_t> read_at(fs::File& file, std::span<std::byte> into, std::uint64_t offset) override;
  Result<void> write(fs::File& file, std::span<const std::byte> bytes) override;
  Result<void> sync(fs::File& file) override;
  Result<void> sync_directory(const fs::stdfs::path& directory) override;
  Result<void> close(fs::File& file) override;
  Result<void> make_directory(const fs::stdfs::path& path, std::uint32_t mode) override;
  Result<void> rename(const fs::stdfs::path& from, const fs::stdfs::path& to) override;
  Result<bool> exchange(const fs::stdfs::path& one, const fs::stdfs::path& other) override;
  Result<void> rename_new(const fs::stdfs::path& from, const fs::stdfs::path& to) override;
  Result<void> unlink(const fs::stdfs::path& path) override;
  Result<void> remove_directory(const fs::stdfs::path& path) override;
  Result<void> change_mode(const fs::stdfs::path& path, std::uint32_t mode) override;
  Result<void> clone(const fs::stdfs::path& from, const fs::stdfs::path& to) override;
  Result<void> link(const fs::stdfs::path& from, const fs::stdfs::path& to) override;
  Result<void> symlink(const fs::stdfs::path& target, const fs::stdfs::path& link) override;
  Result<bool> try_lock(fs::File& file, fs::LockKind kind) override;
  void unlock(fs::File& file) noexcept override;
  WriterCheck check_writers(fs::File& file) override;
  Result<Volume> volume(const fs::stdfs::path& path) override;

 private:
  std::optional<Error> before(std::string_view operation, const std::filesystem::path& path);
  void count_read(const std::filesystem::path& path, const Result<std::size_t>& got);
  Result<fs::FileStat> changed(Result<fs::FileStat> stat) const;

  fs::FileSystem& real_ = fs::FileSystem::posix();
  Volume volume_{.magic = 0xEF53, .read_only = false, .bytes_free = 1U << 30U, .bytes_total = 1U << 30U};
  std::optional<WriterCheck> writers_;
  std::function<void(fs::FileStat&)> change_;
  mutable std::mutex mutex_;
  Hook hook_;
  std::map<std::filesystem::path, std::uint64_t> bytes_read_;
  std::atomic<std::uint64_t> calls_{0};
};

// A marker as a compile hands it to commit(): no generation, artifacts or time yet.
[[nodiscard]] Marker marker_for(const std::string& name, const std::string& model = "/models/a.onnx");
[[nodiscard]] std::string key_for(const std::string& name);

[[nodiscard]] std::unique_ptr<Store> open_store(fs::FileSystem& fs, const std::filesystem::path& root,
                                                const util::Clock* clock = nullptr, std::uint32_t keep = 4);

struct Bytes {
  std::string model = "compiled model";
  std::string binary = "context binary";
};
// begin_work, a model.onnx, a npu.bin and a compile.log, commit.
[[nodiscard]] Result<Store::Committed> commit_entry(Store& store, const Marker& marker, const Bytes& bytes = {});
// The same, for good: fails the test when it does not work. The lease is given back.
Marker must_commit(Store& store, const Marker& marker, const Bytes& bytes = {});

// The exit code of a forked child that runs `act`; 128 + the signal that ended it.
[[nodiscard]] int in_child(const std::function<int()>& act);

}  // namespace precast::store::testing
