#include <cstddef>
#include <memory>
#include <utility>

#include <linux/fs.h>
#include <sys/ioctl.h>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "fs/posix_calls.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::fs::posix {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} * 1024;

Result<File> open_source(const stdfs::path& path) {
  const int descriptor =
      retry_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY); });
  if (descriptor < 0) return fail_call(errno, "open", path);
  File file(descriptor, path);
  PRECAST_TRY_ASSIGN(const FileStat stat, stat_at(descriptor, "", AT_EMPTY_PATH, path));
  if (stat.kind != FileKind::regular) {
    return fail(ErrorCode::bad_input, fmt::format("{} is not a regular file", util::quoted(path)), path);
  }
  return file;
}

Result<void> fill(const File& in, File& out) {
  // FICLONE fails in more ways than it has meanings (other file system, no reflinks, a swap file, an old kernel); to
  // all of them copying is the answer, and copying has its own words for what is really wrong.
  if (retry_interrupted([&] { return ::ioctl(out.descriptor(), FICLONE, in.descriptor()); }) != 0) {
    PRECAST_TRY(copy_bytes(in, out));
  }
  if (::close(out.release()) != 0 && errno != EINTR) return fail_call(errno, "close", out.path());
  return {};
}

}  // namespace

Result<void> copy_bytes(const File& in, const File& out) {
  // Let the kernel copy as far as it can. Both file positions move along, so that whatever stops it (another file
  // system, a kernel without the call, a file whose size is not known beforehand) the loop below goes on from there.
  constexpr std::size_t step = std::size_t{1} << 30U;
  while (retry_interrupted(
             [&] { return ::copy_file_range(in.descriptor(), nullptr, out.descriptor(), nullptr, step, 0); }) > 0) {
  }
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(kBufferBytes);
  for (;;) {
    const auto got = retry_interrupted([&] { return ::read(in.descriptor(), buffer.get(), kBufferBytes); });
    if (got < 0) return fail_call(errno, "read", in.path());
    if (got == 0) return {};
    PRECAST_TRY(write_all(out, {buffer.get(), static_cast<std::size_t>(got)}));
  }
}

Result<void> clone(const stdfs::path& from, const stdfs::path& to) {
  PRECAST_TRY_ASSIGN(const File in, open_source(from));
  const int descriptor =
      retry_interrupted([&] { return ::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); });
  if (descriptor < 0) return fail_call(errno, "create", to);
  File out(descriptor, to);
  auto filled = fill(in, out);
  // A second failure would only hide the first; a leftover is for the sweep.
  if (!filled) ::unlink(to.c_str());
  return filled;
}

}  // namespace precast::fs::posix
