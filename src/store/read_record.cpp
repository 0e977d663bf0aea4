#include "store/read_record.hpp"

#include <span>
#include <utility>

#include <fmt/format.h>

#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::store {
namespace {

constexpr std::size_t kBlock = std::size_t{64} << 10U;

Error too_large(const std::filesystem::path& path, std::uint64_t limit) {
  return {ErrorCode::corrupt, fmt::format("{} is larger than {} bytes", util::quoted(path), limit), path, {}};
}

// No stat: a regular file gives less than was asked for only at its end, and whatever else is opened here does not
// parse.
Result<std::string> read_all(fs::FileSystem& fs, const std::filesystem::path& path, std::uint64_t limit) {
  PRECAST_TRY_ASSIGN(fs::File file, fs.open(path, fs::OpenMode::read));
  std::string bytes;
  for (;;) {
    const std::size_t filled = bytes.size();
    bytes.resize(filled + kBlock);
    PRECAST_TRY_ASSIGN(const std::size_t got, fs.read(file, std::as_writable_bytes(std::span(bytes).subspan(filled))));
    bytes.resize(filled + got);
    if (bytes.size() > limit) return std::unexpected<Error>(too_large(path, limit));
    if (got < kBlock) return bytes;
  }
}

}  // namespace

Result<std::optional<std::string>> read_record(fs::FileSystem& fs, const std::filesystem::path& path,
                                               std::uint64_t limit) {
  auto bytes = read_all(fs, path, limit);
  if (bytes) return std::optional<std::string>(*std::move(bytes));
  if (fs::is_not_found(bytes.error())) return std::nullopt;
  // A folder or a socket under the name of a record is damage of this record, not trouble of the disk.
  if (const auto stat = fs.stat(path); stat && stat->kind != fs::FileKind::regular) {
    return fail(ErrorCode::corrupt, fmt::format("{} is not a regular file", util::quoted(path)), path);
  }
  return std::unexpected<Error>(std::move(bytes).error());
}

}  // namespace precast::store
