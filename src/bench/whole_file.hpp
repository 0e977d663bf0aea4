// Files that are there whole or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>

#include "precast/error.hpp"

namespace precast::bench {

// A file that was made beside its place. Destroyed without commit() nothing is left of it.
class StagedFile {
 public:
  StagedFile(std::filesystem::path temporary, std::filesystem::path path)
      : temporary_(std::move(temporary)), path_(std::move(path)) {}
  ~StagedFile();
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  [[nodiscard]] const std::filesystem::path& temporary() const { return temporary_; }
  [[nodiscard]] Result<void> commit();  // renames it to its place, whatever is there

 private:
  std::filesystem::path temporary_;  // empty: it is in its place
  std::filesystem::path path_;
};

// `make` writes the file whose name it is given, a new one beside `path`, which is then renamed to `path`, whatever is
// there. On failure nothing is left of it. Its mode is what the process's umask leaves.
using MakeFile = std::function<Result<void>(const std::filesystem::path& temporary)>;
[[nodiscard]] Result<StagedFile> stage_whole(const std::filesystem::path& path, const MakeFile& make);
[[nodiscard]] Result<void> write_whole(const std::filesystem::path& path, const MakeFile& make);

// io, no_space or not_found: "cannot write 'a.npz': No space left on device". 0: no reason is known.
[[nodiscard]] std::unexpected<Error> fail_write(const std::filesystem::path& path, int error_number);

// `path` is for the message.
[[nodiscard]] Result<void> write_parts(const std::filesystem::path& temporary, const std::filesystem::path& path,
                                       std::span<const std::span<const std::byte>> parts);

}  // namespace precast::bench
