#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>

#include <fmt/format.h>
#include <minizip/zip.h>

#include "bench/npy.hpp"
#include "bench/npz.hpp"
#include "bench/whole_file.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::bench {
namespace {

constexpr std::size_t kLongestWrite = std::size_t{1} << 30U;
constexpr std::size_t kLongestName = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint64_t kLongestPlainEntry = 0xFFFF'FFFE;  // past it Zip64 is wanted
constexpr uLong kMadeOnUnix = 3U << 8U;
constexpr uLong kMode = 0644UL << 16U;
constexpr uLong kNameIsUtf8 = 1U << 11U;

struct CloseArchive {
  void operator()(zipFile archive) const { (void)zipClose(archive, nullptr); }  // a failure is on its way already
};
using Archive = std::unique_ptr<std::remove_pointer_t<zipFile>, CloseArchive>;

Result<void> check_name(const std::string& name, const std::filesystem::path& path) {
  if (!name.contains('\0') && util::is_utf8(name) && name.size() + std::string_view(".npy").size() <= kLongestName) {
    return {};
  }
  return bad({path, util::quoted(path)},
             fmt::format("cannot have an array of the name {}: an archive wants UTF-8 of at most 64 KiB without NUL",
                         shown_text(name)),
             "write into a folder instead");
}

int open_entry(zipFile archive, const std::string& name, bool large) {
  // No clock: the same tensors are the same file.
  const zip_fileinfo info{.tmz_date = {.tm_mday = 1, .tm_year = 1980}, .external_fa = kMode};
  constexpr int stored = 0;
  constexpr int level = 0;
  constexpr int raw = 0;
  return zipOpenNewFileInZip4_64(archive, name.c_str(), &info, nullptr, 0, nullptr, 0, nullptr, stored, level, raw,
                                 -MAX_WBITS, MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY, nullptr, 0, kMadeOnUnix, kNameIsUtf8,
                                 large ? 1 : 0);
}

int write_bytes(zipFile archive, std::span<const std::byte> bytes) {
  int result = ZIP_OK;
  while (!bytes.empty() && result == ZIP_OK) {
    const std::size_t step = std::min(bytes.size(), kLongestWrite);
    result = zipWriteInFileInZip(archive, bytes.data(), static_cast<unsigned>(step));
    bytes = bytes.subspan(step);
  }
  return result;
}

int write_image(zipFile archive, const std::string& name, const NpyImage& image) {
  const bool large = image.header().size() + image.values().size() > kLongestPlainEntry;
  int result = open_entry(archive, name + ".npy", large);
  if (result == ZIP_OK) result = write_bytes(archive, std::as_bytes(std::span(image.header())));
  if (result == ZIP_OK) result = write_bytes(archive, image.values());
  return result == ZIP_OK ? zipCloseFileInZip(archive) : result;
}

Result<void> write_archive(const std::filesystem::path& temporary, const std::filesystem::path& path,
                           const tensor::Tensors& tensors) {
  errno = 0;  // minizip leaves it as the system set it
  Archive archive(zipOpen64(temporary.c_str(), APPEND_STATUS_CREATE));
  if (!archive) return fail_write(path, errno);
  for (const auto& [name, tensor] : tensors) {
    PRECAST_TRY(check_name(name, path));
    PRECAST_TRY_ASSIGN(const NpyImage image, NpyImage::make(tensor, name));
    errno = 0;
    if (write_image(archive.get(), name, image) != ZIP_OK) return fail_write(path, errno);
  }
  errno = 0;
  if (zipClose(archive.release(), nullptr) != ZIP_OK) return fail_write(path, errno);
  return {};
}

}  // namespace

Result<void> write_npz(const std::filesystem::path& path, const tensor::Tensors& tensors) {
  return write_whole(path,
                     [&](const std::filesystem::path& temporary) { return write_archive(temporary, path, tensors); });
}

}  // namespace precast::bench
