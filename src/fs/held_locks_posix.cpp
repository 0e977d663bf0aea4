#include "fs/held_locks_posix.hpp"

#include <utility>

#include <pthread.h>
#include <unistd.h>

#include "fs/posix_calls.hpp"

namespace precast::fs::posix {
namespace {

// Neither is ever destroyed (both are trivially destructible), so that a lock of static storage duration may be
// released at any time during exit.
constinit std::mutex g_mutex;
constinit HeldFile* g_first = nullptr;

void before_fork() {
  g_mutex.lock();
}

void after_fork_in_parent() {
  g_mutex.unlock();
}

void after_fork_in_child() {
  for (HeldFile* held = std::exchange(g_first, nullptr); held != nullptr;) {
    ::close(held->file.release());
    held->previous = nullptr;
    held = std::exchange(held->next, nullptr);
  }
  g_mutex.unlock();
}

}  // namespace

Result<std::unique_lock<std::mutex>> forbid_fork() {
  static const int install_error = ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  if (install_error != 0) return fail(ErrorCode::io, "cannot lock files safely: no memory for a fork handler");
  return std::unique_lock(g_mutex);
}

void add_held(const std::unique_lock<std::mutex>& guard, HeldFile& held) {
  if (!guard.owns_lock()) std::terminate();
  held.next = g_first;
  if (g_first != nullptr) g_first->previous = &held;
  g_first = &held;
}

void remove_held(HeldFile& held) noexcept {
  const std::lock_guard guard(g_mutex);
  if (held.file.descriptor() < 0) return;
  (held.previous != nullptr ? held.previous->next : g_first) = held.next;
  if (held.next != nullptr) held.next->previous = held.previous;
  held.file = File();
}

}  // namespace precast::fs::posix
