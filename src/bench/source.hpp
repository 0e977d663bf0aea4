// Where an array's bytes come from, and how errors name that place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fs/file_system.hpp"
#include "precast/error.hpp"

namespace precast::bench {

struct Place {
  std::filesystem::path path;
  std::string shown;  // "'x.npy'", "entry 'x.npy' of 'a.npz'"
};

// bad_input: "<place> <what>".
[[nodiscard]] std::unexpected<Error> bad(const Place& place, std::string_view what, std::string hint);
// For what was cut off or changed since it was written.
[[nodiscard]] std::unexpected<Error> damaged(const Place& place, std::string_view what);
// Text from a file as a message shows it: one line, the rest of a long one left out.
[[nodiscard]] std::string shown_text(std::string_view text);
[[nodiscard]] std::string shown_shape(std::span<const std::int64_t> shape);

// Bytes that are read once, from first to last.
class ByteSource {
 public:
  ByteSource() = default;
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  [[nodiscard]] virtual const Place& place() const = 0;
  // Fewer than asked for only at the end.
  [[nodiscard]] virtual Result<std::size_t> read(std::span<std::byte> into) = 0;
  // How many more the file's own size vouches for, so that memory may be taken for them; 0 where only reading can tell.
  [[nodiscard]] virtual std::uint64_t vouched() const = 0;
};

// Exactly `size` bytes, else damaged: "ends after 3 of its 8 bytes". Takes no more memory than that, and no more than
// twice what there is.
[[nodiscard]] Result<std::vector<std::byte>> read_exactly(ByteSource& source, std::uint64_t size);

// An open regular file.
class OpenedFile {
 public:
  fs::File file;
  std::uint64_t size = 0;
};
// bad_input for a folder, a pipe and the like.
[[nodiscard]] Result<OpenedFile> open_regular(const std::filesystem::path& path);

class FileSource : public ByteSource {
 public:
  FileSource(OpenedFile opened, const std::filesystem::path& path);

  [[nodiscard]] const Place& place() const override { return place_; }
  [[nodiscard]] Result<std::size_t> read(std::span<std::byte> into) override;
  [[nodiscard]] std::uint64_t vouched() const override { return opened_.size - position_; }

 private:
  OpenedFile opened_;
  Place place_;
  std::uint64_t position_ = 0;
};

}  // namespace precast::bench
