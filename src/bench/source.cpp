#include "bench/source.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "tensor/tensor.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::bench {
namespace {

constexpr std::size_t kShownText = 60;
constexpr std::size_t kShownRank = 12;
constexpr std::uint64_t kFirstStep = std::uint64_t{64} << 10U;

}  // namespace

std::unexpected<Error> bad(const Place& place, std::string_view what, std::string hint) {
  return fail(ErrorCode::bad_input, fmt::format("{} {}", place.shown, what), place.path, std::move(hint));
}

std::unexpected<Error> damaged(const Place& place, std::string_view what) {
  return bad(place, what, "copy or make the file again: it was cut off, or changed since it was written");
}

std::string shown_text(std::string_view text) {
  if (text.size() <= kShownText) return fmt::format("'{}'", util::escape_to_line(text));
  return fmt::format("'{}...'", util::escape_to_line(text.substr(0, kShownText)));
}

std::string shown_shape(std::span<const std::int64_t> shape) {
  if (shape.size() <= kShownRank) return tensor::shape_text(shape);
  return fmt::format("of {} dimensions", shape.size());
}

Result<std::vector<std::byte>> read_exactly(ByteSource& source, std::uint64_t size) {
  std::vector<std::byte> bytes;
  while (bytes.size() < size) {
    const std::size_t filled = bytes.size();
    const std::uint64_t step = std::max<std::uint64_t>({filled, kFirstStep, source.vouched()});
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(step, size - filled));
    bytes.reserve(filled + wanted);  // resize alone might take twice that
    bytes.resize(filled + wanted);
    PRECAST_TRY_ASSIGN(const std::size_t got, source.read(std::span(bytes).subspan(filled)));
    if (got < wanted) {
      return damaged(source.place(), fmt::format("ends after {} of the {} bytes of its values", filled + got, size));
    }
  }
  return bytes;
}

Result<OpenedFile> open_regular(const std::filesystem::path& path) {
  fs::FileSystem& fs = fs::FileSystem::posix();
  PRECAST_TRY_ASSIGN(fs::File file, fs.open(path, fs::OpenMode::read));
  PRECAST_TRY_ASSIGN(const fs::FileStat stat, fs.stat(file));
  if (stat.kind != fs::FileKind::regular) {
    return fail(ErrorCode::bad_input, fmt::format("{} is not a regular file", util::quoted(path)), path,
                "name a file; a pipe or a device must be copied into one first");
  }
  return OpenedFile{std::move(file), stat.size};
}

FileSource::FileSource(OpenedFile opened, const std::filesystem::path& path)
    : opened_(std::move(opened)), place_{path, util::quoted(path)} {}

// No further than the size that was seen at first, whoever may be writing to it.
Result<std::size_t> FileSource::read(std::span<std::byte> into) {
  into = into.first(static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), opened_.size - position_)));
  std::size_t filled = 0;
  while (filled < into.size()) {
    PRECAST_TRY_ASSIGN(const std::size_t got, fs::FileSystem::posix().read(opened_.file, into.subspan(filled)));
    if (got == 0) break;
    filled += got;
  }
  position_ += filled;
  return filled;
}

}  // namespace precast::bench
