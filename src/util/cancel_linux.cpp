#include <cerrno>
#include <cstdint>

#include <sys/eventfd.h>

#include <unistd.h>

#include "util/cancel.hpp"

namespace precast::util {

CancelToken::CancelToken() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

CancelToken::~CancelToken() {
  if (descriptor_ >= 0) close(descriptor_);
}

void CancelToken::cancel() noexcept {
  cancelled_.store(true, std::memory_order_release);
  if (descriptor_ < 0) return;
  const int saved = errno;  // a signal handler must not change what the interrupted code sees
  const std::uint64_t one = 1;
  ssize_t written = 0;
  do {
    written = write(descriptor_, &one, sizeof one);
  } while (written < 0 && errno == EINTR);
  // EAGAIN means that it is readable already, which is all that is wanted.
  errno = saved;
}

}  // namespace precast::util
