// The note in a lock file, for people who wait:
//
//   pid 4711
//   since 1764434315000000000     (nanoseconds since 1970)
//   note compiling resnet50.onnx
//
// A reader may meet a half-written one or the rest of a longer one: only the first three lines count.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fs/lock.hpp"

namespace precast::fs {

[[nodiscard]] std::string format_lock_holder(const LockHolder& holder);
[[nodiscard]] std::optional<LockHolder> parse_lock_holder(std::string_view text);

}  // namespace precast::fs
