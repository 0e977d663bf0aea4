#include "identity/hashing_digester.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <system_error>
#include <thread>

#include "identity/links.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::identity {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20U;
constexpr std::uint64_t kWorthAThread = 4 * kBlock;  // less is hashed before a thread has started
constexpr std::size_t kMaxThreads = 8;
constexpr int kAttempts = 3;

Result<std::string> hash_stream(fs::FileSystem& fs, fs::File& file, const util::CancelToken* cancel) {
  const auto block = std::make_unique_for_overwrite<std::byte[]>(kBlock);
  util::Sha256 sha256;
  for (;;) {
    if (cancel != nullptr && cancel->cancelled()) {
      return fail(ErrorCode::cancelled, "interrupted while reading " + util::quoted(file.path()), file.path());
    }
    PRECAST_TRY_ASSIGN(const std::size_t count, fs.read(file, {block.get(), kBlock}));
    if (count == 0) return sha256.finish_hex();
    sha256.update({block.get(), count});
  }
}

// nullopt: the file or its links changed meanwhile.
Result<std::optional<FileEvidence>> try_hash(fs::FileSystem& fs, const std::filesystem::path& path,
                                             const util::CancelToken* cancel) {
  FileEvidence evidence;
  evidence.path = path;
  PRECAST_TRY_ASSIGN(evidence.links, links_on_path(fs, path));
  PRECAST_TRY_ASSIGN(fs::File file, fs.open(path, fs::OpenMode::read));
  PRECAST_TRY_ASSIGN(const fs::FileStat before, fs.stat(file));
  if (before.kind != fs::FileKind::regular) {
    return fail(ErrorCode::bad_input, util::quoted(path) + " is not a regular file", path,
                "give a regular file or a link to one");
  }
  PRECAST_TRY_ASSIGN(evidence.sha256, hash_stream(fs, file, cancel));
  PRECAST_TRY_ASSIGN(const fs::FileStat after, fs.stat(file));
  evidence.stat = evidence_stat(after);
  if (evidence_stat(before) != evidence.stat) return std::nullopt;
  if (!evidence.links.empty()) {
    PRECAST_TRY_ASSIGN(const std::vector<LinkEvidence> links, links_on_path(fs, path));
    if (links != evidence.links) return std::nullopt;
  }
  return evidence;
}

std::size_t thread_count(std::size_t large_files) {
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return std::min({large_files, cores, kMaxThreads});
}

}  // namespace

Result<FileEvidence> hash_file(fs::FileSystem& fs, const std::filesystem::path& path, const util::CancelToken* cancel) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    PRECAST_TRY_ASSIGN(std::optional<FileEvidence> evidence, try_hash(fs, path, cancel));
    if (evidence) return *std::move(evidence);
  }
  return fail(ErrorCode::busy, util::quoted(path) + " changes while it is read", path,
              "wait until nobody writes it any more");
}

Result<std::vector<FileEvidence>> hash_files(fs::FileSystem& fs, std::span<const std::filesystem::path> paths,
                                             const util::CancelToken* cancel) {
  std::vector<std::uint64_t> sizes;
  for (const auto& path : paths) {
    const auto stat = paths.size() > 1 ? fs.stat(path) : Result<fs::FileStat>{};
    sizes.push_back(stat ? stat->size : 0);  // what is wrong with it is said by hash_file
  }
  std::vector<std::size_t> order(paths.size());  // largest first, so that no thread ends with the largest file
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return sizes[a] != sizes[b] ? sizes[a] > sizes[b] : a < b; });

  std::vector<Result<FileEvidence>> results(paths.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < order.size(); i = next++)
      results[order[i]] = hash_file(fs, paths[order[i]], cancel);
  };
  const auto large = std::count_if(sizes.begin(), sizes.end(), [](std::uint64_t s) { return s >= kWorthAThread; });
  {
    std::vector<std::jthread> helpers;
    std::size_t threads = thread_count(static_cast<std::size_t>(large));
    try {
      while (helpers.size() + 1 < threads) helpers.emplace_back(work);
    } catch (const std::system_error&) {
      threads = helpers.size() + 1;  // no thread more to be had: those that run do the work, more slowly
    }
    work();
  }
  std::vector<FileEvidence> evidence;
  for (auto& result : results) {
    PRECAST_TRY_ASSIGN(FileEvidence one, std::move(result));
    evidence.push_back(std::move(one));
  }
  return evidence;
}

Result<std::vector<FileEvidence>> HashingDigester::digest(std::span<const std::filesystem::path> paths,
                                                          std::string_view /*group*/) {
  return hash_files(fs_, paths, cancel_);
}

}  // namespace precast::identity
