#include <csignal>

#include <fcntl.h>

#include "fs/posix_calls.hpp"

namespace precast::fs::posix {

FileSystem::WriterCheck take_read_lease(const File& file) {
  using enum FileSystem::WriterCheck;
  // Somebody who opens it for writing meanwhile makes the kernel send a signal. The usual one, SIGIO, ends a process
  // that does not expect it; SIGURG is ignored by default. So: no other signal, no lease.
  if (::fcntl(file.descriptor(), F_SETSIG, SIGURG) != 0) return unknown;
  if (retry_interrupted([&] { return ::fcntl(file.descriptor(), F_SETLEASE, F_RDLCK); }) == 0) return none;
  return errno == EAGAIN ? writable : unknown;
}

void give_back_lease(const File& file) {
  // Cannot fail for a lease that is ours; if it did, closing the file would give it back.
  retry_interrupted([&] { return ::fcntl(file.descriptor(), F_SETLEASE, F_UNLCK); });
}

FileSystem::WriterCheck check_writers(const File& file) {
  const FileSystem::WriterCheck check = take_read_lease(file);
  if (check == FileSystem::WriterCheck::none) give_back_lease(file);
  return check;
}

}  // namespace precast::fs::posix
