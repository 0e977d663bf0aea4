#include <string>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "fs/posix_calls.hpp"
#include "util/text.hpp"

namespace precast::fs::posix {
namespace {

ErrorCode code_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::not_found;
    case ENAMETOOLONG:
    case ELOOP:
      return ErrorCode::bad_input;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return ErrorCode::no_space;
    default:
      return ErrorCode::io;
  }
}

std::string hint_of(int error_number) {
  switch (error_number) {
    case ENOSPC:
      return "free some space on that disk";
    case EDQUOT:
      return "free some space or raise the disk quota";
    case EFBIG:
      return "raise the limit on file sizes (ulimit -f), or use a file system without such a limit";
    case EROFS:
      return "the file system is mounted read-only";
    case EMFILE:
      return "raise the limit on open files (ulimit -n)";
    default:
      return {};
  }
}

std::string shown(const stdfs::path& path) {
  return util::escape_to_line(path.native());
}

std::string words_of(int error_number) {
  return util::escape_invalid_utf8(std::generic_category().message(error_number));
}

}  // namespace

std::unexpected<Error> fail_call(int error_number, std::string_view action, const stdfs::path& path) {
  return fail(code_of(error_number), fmt::format("cannot {} '{}': {}", action, shown(path), words_of(error_number)),
              path, hint_of(error_number));
}

std::unexpected<Error> fail_call(int error_number, std::string_view action, const stdfs::path& from,
                                 const stdfs::path& to) {
  return fail(code_of(error_number),
              fmt::format("cannot {} '{}' to '{}': {}", action, shown(from), shown(to), words_of(error_number)), from,
              hint_of(error_number));
}

Result<void> write_all(const File& file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto written = retry_interrupted([&] { return ::write(file.descriptor(), bytes.data(), bytes.size()); });
    if (written < 0) return fail_call(errno, "write", file.path());
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace precast::fs::posix
