// A regular file as protobuf's input stream, read through the FileSystem seam. What protobuf skips is never read: a
// block after a skip is small and grows while reading stays sequential.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <google/protobuf/io/zero_copy_stream.h>

#include "fs/file_system.hpp"

namespace precast::model {

class FileStream : public google::protobuf::io::ZeroCopyInputStream {
 public:
  // `size` is where the file ends; it and `file` must outlive the stream.
  FileStream(fs::FileSystem& fs, fs::File& file, std::uint64_t size);

  bool Next(const void** data, int* size) override;       // NOLINT(readability-identifier-naming): protobuf's names
  void BackUp(int count) override;                        // NOLINT(readability-identifier-naming)
  bool Skip(int count) override;                          // NOLINT(readability-identifier-naming)
  [[nodiscard]] std::int64_t ByteCount() const override;  // NOLINT(readability-identifier-naming)

  // Why Next said false before the end, if it did: the system's refusal, or a file that became shorter.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  fs::FileSystem& fs_;
  fs::File& file_;
  std::uint64_t size_;
  std::uint64_t position_ = 0;
  std::size_t block_;
  std::vector<std::byte> buffer_;
  std::optional<Error> error_;
};

}  // namespace precast::model
