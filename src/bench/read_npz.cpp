#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <minizip/unzip.h>

#include "bench/npy.hpp"
#include "bench/npz.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::bench {
namespace {

constexpr std::string_view kArraySuffix = ".npy";
constexpr std::uint64_t kLongestRead = std::uint64_t{1} << 30U;
constexpr uLong kEncrypted = 1;
constexpr std::string_view kNoArchive = "is not a NumPy archive (.npz), or is cut off";
constexpr std::string_view kEndMark = "PK\5\6";
constexpr std::size_t kEndBytes = 22;  // of the record at the end of an archive, without the comment behind it
constexpr uLong kStored = 0;
// zlib 1.2.13's minizip compares Zip64's mark with a 64-bit -1 and so never sees the sizes behind it.
constexpr std::uint64_t kZip64 = 0xFFFF'FFFF;

struct CloseArchive {
  void operator()(unzFile archive) const { unzClose(archive); }
};
using Archive = std::unique_ptr<std::remove_pointer_t<unzFile>, CloseArchive>;

// The entry that the archive stands at, opened.
class EntrySource : public ByteSource {
 public:
  EntrySource(unzFile archive, const unz_file_info64& info, std::uint64_t archive_bytes, Place place)
      : archive_(archive), info_(info), archive_bytes_(archive_bytes), place_(std::move(place)) {}
  ~EntrySource() override { (void)unzCloseCurrentFile(archive_); }  // finish() has asked it for its opinion

  [[nodiscard]] const Place& place() const override { return place_; }
  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> into) override;
  // The size of a deflated entry is a claim.
  [[nodiscard]] std::uint64_t vouched() const override {
    if (info_.compression_method != kStored) return 0;
    return std::min<std::uint64_t>(info_.uncompressed_size, archive_bytes_) - position_;
  }
  // Whether all of it was there, with the sum that the archive keeps.
  [[nodiscard]] Result<void> finish();

 private:
  unzFile archive_;
  unz_file_info64 info_;
  std::uint64_t archive_bytes_;
  Place place_;
  std::uint64_t position_ = 0;
};

Result<std::size_t> EntrySource::read(std::span<std::byte> into) {
  std::size_t filled = 0;
  while (filled < into.size()) {
    const auto step = static_cast<unsigned>(std::min<std::uint64_t>(into.size() - filled, kLongestRead));
    const int got = unzReadCurrentFile(archive_, into.data() + filled, step);
    if (got < 0) return damaged(place_, "is damaged: its bytes cannot be unpacked");
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
    position_ += static_cast<std::uint64_t>(got);
  }
  return filled;
}

Result<void> EntrySource::finish() {
  if (position_ != info_.uncompressed_size) return damaged(place_, "is shorter than its archive says");
  if (unzCloseCurrentFile(archive_) != UNZ_OK) return damaged(place_, "is damaged: its checksum does not match");
  return {};
}

std::unexpected<Error> too_large(const Place& place) {
  return bad(place, "is of 4 GiB or more, which is not read from an archive",
             "save the arrays as NAME.npy in a folder: there they may be of any size");
}

class NpzReader {
 public:
  NpzReader(unzFile archive, const std::filesystem::path& path, std::uint64_t archive_bytes)
      : archive_(archive), path_(path), place_{path, util::quoted(path)}, archive_bytes_(archive_bytes) {}

  Result<StoredTensors> read_all();

 private:
  Result<void> read_entry();
  Result<std::string> entry_name(const unz_file_info64& info);
  Result<void> check(const unz_file_info64& info, const Place& entry);

  unzFile archive_;
  const std::filesystem::path& path_;
  Place place_;
  std::uint64_t archive_bytes_;
  std::uint64_t packed_bytes_ = 0;  // of the entries so far
  StoredTensors tensors_;
};

Result<StoredTensors> NpzReader::read_all() {
  int at = unzGoToFirstFile(archive_);
  while (at == UNZ_OK) {
    PRECAST_TRY(read_entry());
    at = unzGoToNextFile(archive_);
  }
  if (at != UNZ_END_OF_LIST_OF_FILE) return damaged(place_, "is damaged: its directory is broken");
  return std::move(tensors_);
}

Result<std::string> NpzReader::entry_name(const unz_file_info64& info) {
  std::string name(info.size_filename, '\0');
  const int got = unzGetCurrentFileInfo64(archive_, nullptr, name.data(), name.size(), nullptr, 0, nullptr, 0);
  if (got != UNZ_OK) return damaged(place_, "is damaged: its directory is broken");
  if (!util::is_utf8(name) || name.contains('\0')) {
    return bad(place_, fmt::format("has an entry whose name is not UTF-8 text: {}", shown_text(name)),
               "save it again under a plain name");
  }
  return name;
}

Result<void> NpzReader::check(const unz_file_info64& info, const Place& entry) {
  if ((info.flag & kEncrypted) != 0) return bad(entry, "is encrypted", "write the archive without a password");
  if (info.compression_method != kStored && info.compression_method != Z_DEFLATED) {
    return bad(entry, fmt::format("is compressed by method {}, neither stored nor deflated", info.compression_method),
               "write it with numpy.savez or numpy.savez_compressed");
  }
  if (info.uncompressed_size >= kZip64) return too_large(entry);
  // Entries that share their bytes would let a small archive unpack to any size.
  if (info.compressed_size > archive_bytes_ - packed_bytes_) {
    return damaged(entry, "reaches past the end of the archive, or overlaps another");
  }
  packed_bytes_ += info.compressed_size;
  return {};
}

Result<void> NpzReader::read_entry() {
  unz_file_info64 info{};
  if (unzGetCurrentFileInfo64(archive_, &info, nullptr, 0, nullptr, 0, nullptr, 0) != UNZ_OK) {
    return damaged(place_, "is damaged: its directory is broken");
  }
  PRECAST_TRY_ASSIGN(std::string name, entry_name(info));
  Place entry{path_, fmt::format("entry {} of {}", shown_text(name), util::quoted(path_))};
  if (!name.ends_with(kArraySuffix)) {
    return bad(entry, "is no array: its name does not end in .npy", "leave only arrays in the archive");
  }
  PRECAST_TRY(check(info, entry));
  name.resize(name.size() - kArraySuffix.size());
  if (tensors_.contains(name)) return bad(entry, "is there twice", "keep one array of each name");
  if (unzOpenCurrentFile(archive_) != UNZ_OK) return damaged(entry, "is damaged: its head is broken");
  EntrySource source(archive_, info, archive_bytes_, std::move(entry));
  PRECAST_TRY_ASSIGN(StoredTensor stored, read_npy(source));
  PRECAST_TRY(source.finish());
  tensors_.emplace(std::move(name), std::move(stored));
  return {};
}

std::size_t read16(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]) | std::size_t{static_cast<unsigned char>(bytes[at + 1])} << 8U;
}

// Where the end record stands: the last one whose comment ends with the file.
std::optional<std::size_t> find_end(std::string_view tail) {
  for (std::size_t after = tail.size() < kEndBytes ? 0 : tail.size() - kEndBytes + 1; after > 0; --after) {
    const std::size_t at = after - 1;
    const bool mark = tail.substr(at).starts_with(kEndMark);
    if (mark && at + kEndBytes + read16(tail, at + 20) == tail.size()) return at;
  }
  return std::nullopt;
}

// The archive's end record stands at the very end; minizip takes what is cut off from it for zeros, and an archive
// without entries for none.
Result<void> check_end(OpenedFile& opened, const Place& place) {
  constexpr std::uint64_t longest_comment = 0xFFFF;
  std::string tail(static_cast<std::size_t>(std::min(opened.size, kEndBytes + longest_comment)), '\0');
  const std::uint64_t start = opened.size - tail.size();
  PRECAST_TRY_ASSIGN(const std::size_t got,
                     fs::FileSystem::posix().read_at(opened.file, std::as_writable_bytes(std::span(tail)), start));
  tail.resize(got);
  const auto end = find_end(tail);
  if (!end) return damaged(place, kNoArchive);
  if (read16(tail, *end + 10) > 0) return {};
  return bad(place, "has no arrays", "write it with numpy.savez(path, NAME=array, ...)");
}

}  // namespace

Result<StoredTensors> read_npz(const std::filesystem::path& path) {
  // minizip would hang on a pipe, and has no words for what it cannot open.
  PRECAST_TRY_ASSIGN(OpenedFile opened, open_regular(path));
  if (opened.size >= kZip64) return too_large({path, util::quoted(path)});
  PRECAST_TRY(check_end(opened, {path, util::quoted(path)}));
  const Archive archive(unzOpen64(path.c_str()));
  if (!archive) return damaged({path, util::quoted(path)}, kNoArchive);
  return NpzReader(archive.get(), path, opened.size).read_all();
}

}  // namespace precast::bench
