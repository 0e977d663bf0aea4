// Asking work to stop. One CancelToken is shared by whoever asks (a signal handler through the descriptor, an owner
// through cancel()) and whoever works (polls cancelled(), or waits on descriptor()). Thread-safe and signal-safe.
#pragma once

#include <atomic>

namespace precast::util {

class CancelToken {
 public:
  CancelToken();  // makes an eventfd
  ~CancelToken();
  CancelToken(const CancelToken&) = delete;
  CancelToken& operator=(const CancelToken&) = delete;

  void cancel() noexcept;  // async-signal-safe
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_.load(std::memory_order_acquire); }
  [[nodiscard]] int descriptor() const noexcept {
    return descriptor_;
  }  // readable once cancelled; -1 if none could be made

 private:
  std::atomic<bool> cancelled_{false};
  int descriptor_ = -1;
};

}  // namespace precast::util
