// What a model is compiled for, and how.
//
//   precast::CompileOptions options;
//   options.ep = "openvino";
//   options.device = "cpu";
//   options.provider_options = {{"num_streams", "1"}};
//
// Plain data. What can influence the compiled bytes is part of the identity (docs/architecture.md); two values give two
// entries that live side by side.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace precast {

enum class Isolation : std::uint8_t {
  process,  // in precast-worker: an EP that crashes or hangs ends that, not the caller
  // In the calling process, for hosts that cannot ship precast-worker. The EP's crash is the host's, `compile_timeout`
  // and stopping do not end its call, and what it prints goes to the host's descriptors. Stored apart from the others.
  in_process,
};

struct CompileOptions {
  std::string ep = "auto";      // alias or ORT's name, any case; "name@source" pins where it comes from
  std::string device = "auto";  // "auto", "cpu", "gpu", "npu"
  std::map<std::string, std::string> provider_options;
  std::map<std::string, std::string> session_options;   // ORT's session configuration entries
  std::optional<int> optimization_level;                // of the compile: 0 (the default), 1, 2, 99
  std::map<std::string, std::int64_t> free_dimensions;  // by symbolic name
  bool embed = false;                                   // context binary inside the model file
  bool strict_options = false;                          // run-time-only options are part of the identity too
  std::vector<std::string> option_files;                // provider options that name a file whose bytes matter
  std::vector<std::filesystem::path> extra_files;       // that belong to the EP's identity
  std::vector<std::string> worker_environment;          // names of variables that the compiling process gets

  // Run what was compiled (or hit) once, on made-up inputs, beside the source on ORT's CPU EP: an output that is not
  // finite where the source's is, or a cosine below 0.99, is a failed compile. What cannot be run, or takes longer than
  // a minute, counts as good, and CompiledModel::validation() says so.
  bool validate = false;
  Isolation isolation = Isolation::process;

  bool count_nodes = false;  // a Session asks ORT which EP got how many nodes, which makes opening a little slower

  bool rebuild = false;       // no look-up, no remembered failure; a failure leaves the stored entry
  bool no_cache = false;      // neither reads nor writes the store
  bool retry_failed = false;  // compile in spite of a remembered failure
  std::chrono::milliseconds compile_timeout = std::chrono::minutes(30);
  std::optional<std::chrono::milliseconds> lock_timeout;  // for another's compile of the same; not given: until it ends
  std::chrono::seconds retry_failed_after = std::chrono::hours(24);
};

}  // namespace precast
