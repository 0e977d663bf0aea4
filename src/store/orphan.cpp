#include "store/orphan.hpp"

#include <exception>

#include "store/store_state.hpp"

namespace precast::store {

Orphan::~Orphan() {
  try {
    const std::string generation = lease_.generation();
    if (generation.empty()) return;
    lease_.release();
    auto lease = try_lock_lease(fs_, layout_, generation);
    if (!lease) return;
    const auto marker = read_marker(fs_, layout_, key_);
    if (marker && *marker && (*marker)->generation == generation) return;
    remove_generation(fs_, layout_, generation, *std::move(lease));
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    // No memory: a sweep finds it.
  }
}

}  // namespace precast::store
