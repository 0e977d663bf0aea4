#include "process/pidfd_linux.hpp"

#include <sys/syscall.h>

#include <unistd.h>

namespace precast::process {

int open_pidfd(int pid) noexcept {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U));
}

bool send_signal(int pidfd, int signal) noexcept {
  return ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0U) == 0;
}

}  // namespace precast::process
