#include "model/rewrite_references.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "model/file_stream.hpp"
#include "model/model_facts.hpp"
#include "model/reference_walk.hpp"
#include "util/sha256.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::model {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 20U;
constexpr std::int64_t kProtobufLimit = std::numeric_limits<std::int32_t>::max();

std::unexpected<Error> changed_meanwhile(const std::filesystem::path& path) {
  return fail(ErrorCode::corrupt, util::quoted(path) + " changed while its references were rewritten", path);
}

Result<std::vector<Edit>> find_edits(fs::FileSystem& fs, fs::File& file, std::uint64_t size,
                                     const ReferenceNames& names) {
  FileStream stream(fs, file, size);
  WireReader reader(stream, static_cast<int>(size));
  ReferenceWalk walk(reader, names);
  const bool whole = walk.run();
  if (const std::optional<Error>& error = stream.error()) return std::unexpected(*error);
  const auto& path = file.path();
  if (!walk.complaint().empty()) {
    return fail(ErrorCode::bad_input, fmt::format("{}: {}", util::quoted(path), walk.complaint()), path);
  }
  if (reader.flaw() == Flaw::much_text) {
    return fail(ErrorCode::bad_input, util::quoted(path) + " has too many references to other files", path);
  }
  if (!whole) return changed_meanwhile(path);  // read_model has just read it
  if (static_cast<std::int64_t>(size) + walk.growth() > kProtobufLimit) {
    return fail(ErrorCode::bad_input,
                util::quoted(path) + " would be larger than 2 GiB with the new names of its binaries", path,
                "publish it under a shorter name");
  }
  return walk.take_edits();
}

// From one file to another, with the digests of what is read and of what is written.
class Copy {
 public:
  Copy(fs::FileSystem& fs, fs::File& from, fs::File& to, const util::CancelToken* cancel)
      : fs_(fs), from_(from), to_(to), cancel_(cancel), block_(std::make_unique_for_overwrite<std::byte[]>(kBlock)) {}

  Result<void> copy_until(std::uint64_t end) {
    while (position_ < end) {
      PRECAST_TRY_ASSIGN(const auto bytes, next(end));
      PRECAST_TRY(put(bytes));
    }
    return {};
  }
  Result<void> replace(const Edit& edit) {
    while (position_ < edit.offset + edit.size) PRECAST_TRY(next(edit.offset + edit.size));
    return put(std::as_bytes(std::span(edit.bytes)));
  }
  Rewritten finish() { return {read_.finish_hex(), written_.finish_hex(), size_}; }

 private:
  Result<std::span<const std::byte>> next(std::uint64_t end) {
    if (cancel_ != nullptr && cancel_->cancelled()) {
      return fail(ErrorCode::cancelled, "interrupted while copying " + util::quoted(from_.path()), from_.path());
    }
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, end - position_));
    PRECAST_TRY_ASSIGN(const std::size_t got, fs_.read_at(from_, {block_.get(), wanted}, position_));
    if (got == 0) return changed_meanwhile(from_.path());
    position_ += got;
    const std::span<const std::byte> bytes(block_.get(), got);
    read_.update(bytes);
    return bytes;
  }
  Result<void> put(std::span<const std::byte> bytes) {
    written_.update(bytes);
    size_ += bytes.size();
    return fs_.write(to_, bytes);
  }

  fs::FileSystem& fs_;
  fs::File& from_;
  fs::File& to_;
  const util::CancelToken* cancel_;
  std::unique_ptr<std::byte[]> block_;
  std::uint64_t position_ = 0;
  std::uint64_t size_ = 0;
  util::Sha256 read_;
  util::Sha256 written_;
};

}  // namespace

Result<Rewritten> rewrite_references(fs::FileSystem& fs, const std::filesystem::path& from, const ReferenceNames& names,
                                     fs::File& to, const util::CancelToken* cancel) {
  PRECAST_TRY(read_model(fs, from));  // it has the words for whatever is no model
  PRECAST_TRY_ASSIGN(fs::File file, fs.open(from, fs::OpenMode::read));
  PRECAST_TRY_ASSIGN(const fs::FileStat before, fs.stat(file));
  if (before.size > static_cast<std::uint64_t>(kProtobufLimit)) return changed_meanwhile(from);
  PRECAST_TRY_ASSIGN(const std::vector<Edit> edits, find_edits(fs, file, before.size, names));
  Copy copy(fs, file, to, cancel);
  for (const Edit& edit : edits) {
    PRECAST_TRY(copy.copy_until(edit.offset));
    PRECAST_TRY(copy.replace(edit));
  }
  PRECAST_TRY(copy.copy_until(before.size));
  PRECAST_TRY_ASSIGN(const fs::FileStat after, fs.stat(file));
  // The edits were found in one pass and made in the other.
  if (after != before) return changed_meanwhile(from);
  return copy.finish();
}

}  // namespace precast::model
