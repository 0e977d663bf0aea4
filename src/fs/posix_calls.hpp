// What the files of the POSIX implementation share. Not for other layers.
#pragma once

#include <cerrno>
#include <string_view>

#include "fs/file_system.hpp"

namespace precast::fs::posix {

// "cannot open '/x/y': Permission denied", with the code that belongs to `error_number`.
[[nodiscard]] std::unexpected<Error> fail_call(int error_number, std::string_view action, const stdfs::path& path);
// "cannot rename '/x' to '/y': ..."
[[nodiscard]] std::unexpected<Error> fail_call(int error_number, std::string_view action, const stdfs::path& from,
                                               const stdfs::path& to);

// Calls until a signal does not interrupt.
template <typename Call>
auto retry_interrupted(Call&& call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

// statx(2). `name` may be empty with AT_EMPTY_PATH in `flags`; `path` is for the message.
[[nodiscard]] Result<FileStat> stat_at(int directory, const char* name, int flags, const stdfs::path& path);
[[nodiscard]] Result<bool> has_no_links(const stdfs::path& path);
// The same where openat2(2) is missing or forbidden: one lstat for each component.
[[nodiscard]] Result<bool> has_no_links_stepwise(const stdfs::path& path);
[[nodiscard]] Result<void> clone(const stdfs::path& from, const stdfs::path& to);
// All of it; short writes are gone on with.
[[nodiscard]] Result<void> write_all(const File& file, std::span<const std::byte> bytes);
// Everything from where `in` stands, without reflink.
[[nodiscard]] Result<void> copy_bytes(const File& in, const File& out);
// `none` = taken. While it is held, whoever opens the file for writing waits.
[[nodiscard]] FileSystem::WriterCheck take_read_lease(const File& file);
void give_back_lease(const File& file);
[[nodiscard]] FileSystem::WriterCheck check_writers(const File& file);

}  // namespace precast::fs::posix
