#include "model/file_stream.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "util/text.hpp"

namespace precast::model {
namespace {

constexpr std::size_t kSmallestBlock = 4096;
constexpr std::size_t kLargestBlock = std::size_t{64} * 1024;

}  // namespace

FileStream::FileStream(fs::FileSystem& fs, fs::File& file, std::uint64_t size)
    : fs_(fs), file_(file), size_(size), block_(kSmallestBlock), buffer_(kLargestBlock) {}

bool FileStream::Next(const void** data, int* size) {
  if (error_ || position_ >= size_) return false;
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(block_, size_ - position_));
  const Result<std::size_t> got = fs_.read_at(file_, std::span(buffer_).first(wanted), position_);
  if (!got) {
    error_ = got.error();
    return false;
  }
  if (*got == 0) {
    error_ = Error{ErrorCode::bad_input, fmt::format("{} became shorter while it was read", util::quoted(file_.path())),
                   file_.path(), "wait until nothing writes it, then try again"};
    return false;
  }
  position_ += *got;
  block_ = std::min(block_ * 2, kLargestBlock);
  *data = buffer_.data();
  *size = static_cast<int>(*got);
  return true;
}

void FileStream::BackUp(int count) {
  position_ -= static_cast<std::uint64_t>(count);
}

bool FileStream::Skip(int count) {
  const std::uint64_t left = size_ - position_;
  const std::uint64_t step = std::min(static_cast<std::uint64_t>(count), left);
  position_ += step;
  block_ = kSmallestBlock;
  return step == static_cast<std::uint64_t>(count);
}

std::int64_t FileStream::ByteCount() const {
  return static_cast<std::int64_t>(position_);
}

}  // namespace precast::model
