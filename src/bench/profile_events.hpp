// The events of the file that ORT's profiling writes (Ort::SessionOptions::EnableProfiling): a JSON array, an object
// for each event, written in the order in which the events ended; those that an EP adds of its own stand after all
// others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "precast/error.hpp"

namespace precast::bench {

// What an event lacks, or has in a form that says nothing, is empty.
struct ProfileEvent {
  std::string category;  // "Session", "Node"; an EP's own: "Kernel", "Api"
  std::string name;
  std::optional<double> begin_us;        // since the session began to be made
  std::optional<double> duration_us;     // finite, not negative
  std::optional<std::int64_t> thread;    // of an EP's events: one of its own numbers
  std::string op_type;                   // args: op_name; of OpenVINO's events ov_node_type
  std::string provider;                  // args: provider; of an EP's events ep
  std::optional<double> dropped_events;  // args: dropped_event_count, of the event profile_truncated alone
};

// Calls `take` for each event, in the file's order; the event is its own to change. No more than one event is in memory
// at a time, however large the file. Errors: not_found, io, bad_input (not a regular file), corrupt: not JSON, cut off,
// or no array. What was called before an error stays called.
[[nodiscard]] Result<void> read_profile_events(const std::filesystem::path& profile,
                                               const std::function<void(ProfileEvent&)>& take);

}  // namespace precast::bench
