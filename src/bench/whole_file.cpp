#include "bench/whole_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>
#include <utility>

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

StagedFile::StagedFile(StagedFile&& other) noexcept
    : temporary_(std::exchange(other.temporary_, {})), path_(std::move(other.path_)) {}

StagedFile::~StagedFile() {
  // Often not even made; and a second failure would only hide the first one.
  if (!temporary_.empty()) (void)fs::FileSystem::posix().unlink(temporary_);
}

Result<void> StagedFile::commit() {
  PRECAST_TRY(fs::FileSystem::posix().rename(temporary_, path_));
  temporary_.clear();
  return {};
}

Result<StagedFile> stage_whole(const std::filesystem::path& path, const MakeFile& make) {
  StagedFile staged(fs::new_temporary(path.parent_path()), path);
  PRECAST_TRY(make(staged.temporary()));
  return staged;
}

Result<void> write_whole(const std::filesystem::path& path, const MakeFile& make) {
  PRECAST_TRY_ASSIGN(StagedFile staged, stage_whole(path, make));
  return staged.commit();
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
