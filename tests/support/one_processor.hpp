// As under `taskset`: fewer processors than the machine has.
#pragma once

#include <cstddef>

#include <gtest/gtest.h>
#include <sched.h>

namespace precast::testing {

// Programs that this thread starts get one processor.
class OneProcessor {
 public:
  OneProcessor() {
    EXPECT_EQ(::sched_getaffinity(0, sizeof before_, &before_), 0);
    for (std::size_t i = 0; i < CPU_SETSIZE; ++i) {
      if (!CPU_ISSET(i, &before_)) continue;
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(i, &one);
      EXPECT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
      return;
    }
  }
  ~OneProcessor() { (void)::sched_setaffinity(0, sizeof before_, &before_); }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;

 private:
  cpu_set_t before_{};
};

}  // namespace precast::testing
