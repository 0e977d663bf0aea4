// What the parent and precast-worker say to each other.
//
// Request: 4 bytes length (little-endian) and that many bytes of JSON, on the pipe that the parent then keeps open for
// as long as the work shall go on. Report: one JSON object per line on the result descriptor; nothing is ever read from
// stdout. The events of a compile, in order: ready, compiled, checked, done; of a validation: ready, validated, done.
// failed may come after any of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ort/target.hpp"
#include "precast/error.hpp"

namespace precast::compile {

inline constexpr int kPipeDescriptor = 3;
inline constexpr int kResultDescriptor = 4;
inline constexpr int kSupervisorStopped = 75;  // exit code: a signal ended the supervisor, or its parent went away
inline constexpr std::uint32_t kMaximumRequestBytes = 16U << 20U;

enum class WorkerAction : std::uint8_t {
  compile,          // compile `model` to `output`, then open the result
  open,             // open `output` only: the reload check after a worker that crashed late
  validate,         // run `output` once, and `model` on ORT's CPU EP with the same made-up inputs
  compile_sharing,  // each of `sharing` in order, sharing what the EP can share; then open each
};

struct SharingModel {
  std::filesystem::path model;
  std::filesystem::path output;  // all in one folder
};

struct WorkerRequest {
  std::string precast_version;
  WorkerAction action = WorkerAction::compile;
  std::filesystem::path ort_library;
  std::string ep_name;
  std::string ep_source;
  std::filesystem::path ep_library;
  ort::DeviceInfo device;  // the one to bind
  std::map<std::string, std::string> provider_options;
  std::map<std::string, std::string> session_config;
  std::optional<int> optimization_level;
  std::map<std::string, std::int64_t> free_dimensions;
  std::filesystem::path model;
  std::filesystem::path output;
  bool embed = false;
  std::vector<SharingModel> sharing;
  bool open_sharing = true;  // false: what they share loads on another machine only
};

// A file mapped with execute permission into the worker, outside the system's library folders.
struct MappedLibrary {
  std::filesystem::path path;
  std::uint64_t inode = 0;
  friend bool operator==(const MappedLibrary&, const MappedLibrary&) = default;
};

enum class WorkerEventKind : std::uint8_t { ready, compiled, checked, validated, done, failed };

// One line of the report. Which fields mean something depends on the kind.
struct WorkerEvent {
  WorkerEventKind kind = WorkerEventKind::failed;
  double ms = 0;                         // ready: start-up; compiled: the compile call; checked: opening the result
  std::string ort_version;               // ready
  std::string ort_build;                 // ready
  std::string ep_version;                // ready
  std::string ep_vendor;                 // ready
  ort::DeviceInfo device;                // ready: as the worker sees it
  std::vector<MappedLibrary> libraries;  // done
  ErrorCode code = ErrorCode::internal;  // failed
  std::string message;                   // failed; validated: in what the outputs differ, empty if they agree
  std::string hint;                      // failed
};

[[nodiscard]] std::string serialize(const WorkerRequest& request);
[[nodiscard]] Result<WorkerRequest> parse_request(std::string_view text);
[[nodiscard]] std::string serialize_line(const WorkerEvent& event);
[[nodiscard]] Result<WorkerEvent> parse_event_line(std::string_view line);

}  // namespace precast::compile
