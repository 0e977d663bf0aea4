#include <algorithm>

#include <unistd.h>

#include "store/machine.hpp"

namespace precast::store {

std::uint32_t compile_slots(std::uint32_t cores, std::uint64_t memory_bytes) {
  constexpr std::uint64_t kMemoryEach = std::uint64_t{4} << 30U;
  const std::uint64_t slots = std::min<std::uint64_t>(std::uint64_t{cores} * 2, memory_bytes / kMemoryEach);
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(slots, 1));
}

std::uint32_t compile_slots() {
  // Each answers -1 when it does not know, which counts as nothing.
  const long cores = std::max(sysconf(_SC_NPROCESSORS_ONLN), 0L);
  const long pages = std::max(sysconf(_SC_PHYS_PAGES), 0L);
  const long page_bytes = std::max(sysconf(_SC_PAGESIZE), 0L);
  return compile_slots(static_cast<std::uint32_t>(cores),
                       static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes));
}

}  // namespace precast::store
