// pidfd_open(2) and pidfd_send_signal(2) by number: glibc 2.36's <sys/pidfd.h> does not declare them for C++.
// A pidfd names one process for good, where a number may come to name another one.
#pragma once

namespace precast::process {

// Close-on-exec. -1 with errno set: ESRCH when there is no such process, ENOSYS before Linux 5.3.
[[nodiscard]] int open_pidfd(int pid) noexcept;
// false with errno set: ESRCH when the process has ended and was reaped.
bool send_signal(int pidfd, int signal) noexcept;

}  // namespace precast::process
