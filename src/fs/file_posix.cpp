#include <utility>

#include <unistd.h>

#include "fs/file_system.hpp"

namespace precast::fs {

File::~File() {
  // What close(2) says matters only to writers, and they call FileSystem::close.
  if (descriptor_ >= 0) ::close(descriptor_);
}

File::File(File&& other) noexcept : descriptor_(other.release()), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  if (this != &other) {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = other.release();
    path_ = std::move(other.path_);
  }
  return *this;
}

int File::release() {
  return std::exchange(descriptor_, -1);
}

}  // namespace precast::fs
