// How many compiles the machine takes at once.
#pragma once

#include <cstdint>

namespace precast::store {

// Two per core, as long as each has 4 GiB of the machine's memory; at least one.
[[nodiscard]] std::uint32_t compile_slots(std::uint32_t cores, std::uint64_t memory_bytes);
// The same for this machine.
[[nodiscard]] std::uint32_t compile_slots();

}  // namespace precast::store
