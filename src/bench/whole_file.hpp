// Files that are there whole or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>

#include "precast/error.hpp"

namespace precast::bench {

// `make` writes the file whose name it is given, a new one beside `path`, which is then renamed to `path`, whatever is
// there. On failure nothing is left of it. Its mode is what the process's umask leaves.
using MakeFile = std::function<Result<void>(const std::filesystem::path& temporary)>;
[[nodiscard]] Result<void> write_whole(const std::filesystem::path& path, const MakeFile& make);

// io, no_space or not_found: "cannot write 'a.npz': No space left on device". 0: no reason is known.
[[nodiscard]] std::unexpected<Error> fail_write(const std::filesystem::path& path, int error_number);

// `path` is for the message.
[[nodiscard]] Result<void> write_parts(const std::filesystem::path& temporary, const std::filesystem::path& path,
                                       std::span<const std::span<const std::byte>> parts);

}  // namespace precast::bench
