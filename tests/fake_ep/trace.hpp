#pragma once

#include <string_view>

#include <unistd.h>

namespace precast::fake_ep {

// Appends "<event> <pid> <CLOCK_MONOTONIC ns>" to FAKE_EP_TRACE with one write; does nothing without that variable.
void trace(std::string_view event, pid_t pid = ::getpid());

// <name>_begin now, <name>_end when it goes out of scope, however that happens.
class TraceInterval {
 public:
  explicit TraceInterval(std::string_view name);
  ~TraceInterval();
  TraceInterval(const TraceInterval&) = delete;
  TraceInterval& operator=(const TraceInterval&) = delete;

 private:
  std::string_view name_;
};

}  // namespace precast::fake_ep
