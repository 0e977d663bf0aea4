#include "store/support.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "util/sha256.hpp"

namespace precast::store::testing {

namespace stdfs = std::filesystem;

TemporaryFolder::TemporaryFolder(const stdfs::path& parent) {
  std::string name = (stdfs::canonical(parent) / "precast-store-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // what is left in the system's folder for temporary files harms nobody
  stdfs::remove_all(path_, ignored);
}

void put(const stdfs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  if (!file.flush()) std::abort();
}

std::string contents(const stdfs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::size_t entries_in(const stdfs::path& folder) {
  std::error_code missing;
  return static_cast<std::size_t>(std::distance(stdfs::directory_iterator(folder, missing), {}));
}

std::int64_t ctime_of(const stdfs::path& path) {
  return fs::FileSystem::posix().lstat(path).value().ctime_ns;
}

void change_quietly(const stdfs::path& path) {
  struct stat before = {};
  if (::stat(path.c_str(), &before) != 0 || ::chmod(path.c_str(), 0600) != 0) std::abort();
  std::string bytes = contents(path);
  bytes.at(bytes.size() / 2) ^= 1;
  put(path, bytes);
  const timespec times[2] = {before.st_atim, before.st_mtim};
  if (::chmod(path.c_str(), before.st_mode) != 0) std::abort();
  if (::utimensat(AT_FDCWD, path.c_str(), times, 0) != 0) std::abort();
}

util::WallTime TestClock::now() const {
  if (frozen_ != 0) return util::WallTime(std::chrono::nanoseconds(frozen_.load()));
  return util::Clock::system().now() + std::chrono::nanoseconds(offset_.load());
}

void TestFileSystem::set_hook(Hook hook) {
  const std::scoped_lock lock(mutex_);
  hook_ = std::move(hook);
}

std::uint64_t TestFileSystem::bytes_read(const stdfs::path& path) const {
  const std::scoped_lock lock(mutex_);
  const auto found = bytes_read_.find(path);
  return found == bytes_read_.end() ? 0 : found->second;
}

std::optional<Error> TestFileSystem::before(std::string_view operation, const stdfs::path& path) {
  ++calls_;
  Hook hook;
  {
    const std::scoped_lock lock(mutex_);
    hook = hook_;
  }
  return hook ? hook(operation, path) : std::nullopt;
}

void TestFileSystem::count_read(const stdfs::path& path, const Result<std::size_t>& got) {
  const std::scoped_lock lock(mutex_);
  if (got) bytes_read_[path] += *got;
}

Result<fs::FileStat> TestFileSystem::changed(Result<fs::FileStat> stat) const {
  if (stat && change_) change_(*stat);
  return stat;
}

#define PRECAST_PASS_ON(operation, path, call)                                                \
  if (auto error = before(operation, path)) return std::unexpected<Error>(*std::move(error)); \
  return call

Result<fs::FileStat> TestFileSystem::stat(const stdfs::path& path) {
  PRECAST_PASS_ON("stat", path, changed(real_.stat(path)));
}
Result<fs::FileStat> TestFileSystem::lstat(const stdfs::path& path) {
  PRECAST_PASS_ON("lstat", path, changed(real_.lstat(path)));
}
Result<fs::FileStat> TestFileSystem::stat(const fs::File& file) {
  PRECAST_PASS_ON("fstat", file.path(), changed(real_.stat(file)));
}
Result<stdfs::path> TestFileSystem::read_link(const stdfs::path& path) {
  PRECAST_PASS_ON("read_link", path, real_.read_link(path));
}
Result<bool> TestFileSystem::has_no_links(const stdfs::path& path) {
  PRECAST_PASS_ON("has_no_links", path, real_.has_no_links(path));
}
Result<std::vector<fs::DirEntry>> TestFileSystem::list(const stdfs::path& directory) {
  PRECAST_PASS_ON("list", directory, real_.list(directory));
}
Result<fs::File> TestFileSystem::open(const stdfs::path& path, fs::OpenMode mode) {
  PRECAST_PASS_ON(mode == fs::OpenMode::read ? "open" : "open for writing", path, real_.open(path, mode));
}
Result<std::size_t> TestFileSystem::read(fs::File& file, std::span<std::byte> into) {
  if (auto error = before("read", file.path())) return std::unexpected<Error>(*std::move(error));
  auto got = real_.read(file, into);
  count_read(file.path(), got);
  return got;
}
Result<std::size_t> TestFileSystem::read_at(fs::File& file, std::span<std::byte> into, std::uint64_t offset) {
  if (auto error = before("read", file.path())) return std::unexpected<Error>(*std::move(error));
  auto got = real_.read_at(file, into, offset);
  count_read(file.path(), got);
  return got;
}
Result<void> TestFileSystem::write(fs::File& file, std::span<const std::byte> bytes) {
  PRECAST_PASS_ON("write", file.path(), real_.write(file, bytes));
}
Result<void> TestFileSystem::sync(fs::File& file) {
  PRECAST_PASS_ON("sync", file.path(), Result<void>{});
}
Result<void> TestFileSystem::sync_directory(const stdfs::path& directory) {
  PRECAST_PASS_ON("sync", directory, Result<void>{});
}
Result<void> TestFileSystem::close(fs::File& file) {
  PRECAST_PASS_ON("close", file.path(), real_.close(file));
}
Result<void> TestFileSystem::make_directory(const stdfs::path& path, std::uint32_t mode) {
  PRECAST_PASS_ON("make_directory", path, real_.make_directory(path, mode));
}
Result<void> TestFileSystem::rename(const stdfs::path& from, const stdfs::path& to) {
  PRECAST_PASS_ON("rename", to, real_.rename(from, to));
}
Result<void> TestFileSystem::rename_new(const stdfs::path& from, const stdfs::path& to) {
  PRECAST_PASS_ON("rename_new", to, real_.rename_new(from, to));
}
Result<bool> TestFileSystem::exchange(const stdfs::path& one, const stdfs::path& other) {
  PRECAST_PASS_ON("exchange", other, real_.exchange(one, other));
}
Result<void> TestFileSystem::unlink(const stdfs::path& path) {
  PRECAST_PASS_ON("unlink", path, real_.unlink(path));
}
Result<void> TestFileSystem::remove_directory(const stdfs::path& path) {
  PRECAST_PASS_ON("remove_directory", path, real_.remove_directory(path));
}
Result<void> TestFileSystem::change_mode(const stdfs::path& path, std::uint32_t mode) {
  PRECAST_PASS_ON("change_mode", path, real_.change_mode(path, mode));
}
Result<void> TestFileSystem::clone(const stdfs::path& from, const stdfs::path& to) {
  PRECAST_PASS_ON("clone", to, real_.clone(from, to));
}
Result<void> TestFileSystem::link(const stdfs::path& from, const stdfs::path& to) {
  PRECAST_PASS_ON("link", to, real_.link(from, to));
}
Result<void> TestFileSystem::symlink(const stdfs::path& target, const stdfs::path& link) {
  PRECAST_PASS_ON("symlink", link, real_.symlink(target, link));
}
Result<bool> TestFileSystem::try_lock(fs::File& file, fs::LockKind kind) {
  PRECAST_PASS_ON(kind == fs::LockKind::shared ? "share" : "exclude", file.path(), real_.try_lock(file, kind));
}
void TestFileSystem::unlock(fs::File& file) noexcept {
  real_.unlock(file);
}
TestFileSystem::WriterCheck TestFileSystem::check_writers(fs::File& file) {
  ++calls_;
  return writers_ ? *writers_ : real_.check_writers(file);
}
Result<fs::FileSystem::Volume> TestFileSystem::volume(const stdfs::path& path) {
  PRECAST_PASS_ON("volume", path, volume_);
}

#undef PRECAST_PASS_ON

Marker marker_for(const std::string& name, const std::string& model) {
  Marker marker;
  marker.identity = R"({"schema":1,"test":")" + name + "\"}";
  marker.key = util::sha256_hex(marker.identity);
  marker.compatibility = "fake;1";
  marker.compile_seconds = 1.5;
  marker.precast_version = "0.1.0";
  marker.model = model;
  marker.ep = "FakeExecutionProvider";
  marker.device = "npu";
  marker.source_sha256 = util::sha256_hex("source of " + name);
  return marker;
}

std::string key_for(const std::string& name) {
  return marker_for(name).key;
}

std::unique_ptr<Store> open_store(fs::FileSystem& fs, const stdfs::path& root, const util::Clock* clock,
                                  std::uint32_t keep) {
  auto store = Store::open(fs, {.root = root, .allow_network = false, .keep = keep, .clock = clock});
  if (!store) {
    ADD_FAILURE() << store.error().message;
    return nullptr;
  }
  return *std::move(store);
}

Result<Store::Committed> commit_entry(Store& store, const Marker& marker, const Bytes& bytes) {
  auto work = store.begin_work();
  if (!work) return std::unexpected<Error>(work.error());
  put(work->output_folder() / kModelName, bytes.model);
  put(work->output_folder() / "npu.bin", bytes.binary);
  put(work->output_folder() / kLogName, "said by the compiler\n");
  return store.commit(*std::move(work), marker);
}

Marker must_commit(Store& store, const Marker& marker, const Bytes& bytes) {
  auto committed = commit_entry(store, marker, bytes);
  if (!committed) {
    ADD_FAILURE() << committed.error().message;
    return {};
  }
  EXPECT_FALSE(committed->marker_error.has_value());
  return committed->hit.marker;
}

int in_child(const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) _exit(act());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace precast::store::testing
