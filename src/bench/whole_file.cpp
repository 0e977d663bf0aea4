#include "bench/whole_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include <fmt/format.h>

#include "fs/file_system.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::bench {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { (void)std::fclose(file); }  // a failure is on its way already
};

ErrorCode code_of(int error_number) {
  if (error_number == ENOSPC || error_number == EDQUOT) return ErrorCode::no_space;
  return error_number == ENOENT ? ErrorCode::not_found : ErrorCode::io;
}

}  // namespace

Result<void> write_whole(const std::filesystem::path& path, const MakeFile& make) {
  fs::FileSystem& fs = fs::FileSystem::posix();
  const std::filesystem::path temporary = fs::new_temporary(path.parent_path());
  auto made = make(temporary);
  if (made) made = fs.rename(temporary, path);
  // Often not even made; and a second failure would only hide the first one.
  if (!made) (void)fs.unlink(temporary);
  return made;
}

std::unexpected<Error> fail_write(const std::filesystem::path& path, int error_number) {
  const std::string reason = error_number == 0 ? std::string("the system gave no reason")
                                               : std::error_code(error_number, std::generic_category()).message();
  return fail(code_of(error_number), fmt::format("cannot write {}: {}", util::quoted(path), reason), path,
              "check that its folder is there, may be written to, and has room");
}

Result<void> write_parts(const std::filesystem::path& temporary, const std::filesystem::path& path,
                         std::span<const std::span<const std::byte>> parts) {
  errno = 0;
  std::unique_ptr<std::FILE, CloseFile> file(std::fopen(temporary.c_str(), "wbxe"));
  if (!file) return fail_write(path, errno);
  for (const auto part : parts) {
    if (std::fwrite(part.data(), 1, part.size(), file.get()) != part.size()) return fail_write(path, errno);
  }
  if (std::fclose(file.release()) != 0) return fail_write(path, errno);
  return {};
}

}  // namespace precast::bench
