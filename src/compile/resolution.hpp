// What is asked of the compile cache, and what it answers. Plain data and the leases that go with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ort/session_call.hpp"
#include "precast/outcome.hpp"
#include "store/orphan.hpp"
#include "store/store.hpp"
#include "util/cancel.hpp"

namespace precast::compile {

// A model that is in no file. The bytes must stay as they are until the request, and a session on its answer, is done.
struct MemoryModel {
  std::string_view bytes;
  std::filesystem::path external_folder;  // of its external data; may be empty
};

struct Request {
  std::filesystem::path model;  // the file; ignored with `memory`
  std::optional<MemoryModel> memory;
  ort::TargetRequest target;
  ort::SessionSettings session;
  bool embed = false;
  // Run what was compiled once against ORT's CPU EP on the source; what computes something else is not used.
  bool validate = false;
  std::chrono::milliseconds validation_limit = std::chrono::seconds(60);
  // Compile in this process: crashes are the caller's, and neither time-out nor cancellation ends the EP's call. So it
  // is too when `session` has options of the caller's own.
  bool in_process = false;
  bool strict_options = false;
  std::vector<std::string> extra_file_options;     // --ep-option-file KEY
  std::vector<std::filesystem::path> extra_files;  // --ep-extra-file
  std::vector<std::string> worker_environment;     // --worker-env NAME
  bool rebuild = false;                            // no look-up, no remembered failure; a failure leaves the old entry
  bool no_cache = false;                           // neither reads nor writes the store
  bool retry_failed = false;                       // compile again in spite of a remembered failure
  // The caller keeps the answer alive (a session, --exec): where the store cannot serve, a private compile is worth it.
  bool accept_private = false;
  // A session on the source runs on the EP asked for or is an error: never on ORT's CPU EP instead.
  bool forbid_cpu_instead = false;
  std::chrono::milliseconds compile_timeout = std::chrono::minutes(30);
  std::optional<std::chrono::milliseconds> lock_timeout;
  std::chrono::seconds retry_failed_after = std::chrono::hours(24);

  [[nodiscard]] bool compiles_here() const { return in_process || session.base != nullptr; }
};

using precast::Outcome;
using precast::to_string;

struct Timings {  // milliseconds
  double ep_registration = 0;
  double identity = 0;
  double lookup = 0;
  double lock_wait = 0;
  double worker_start = 0;  // starting the worker, loading ORT and the EP in it
  double compile = 0;       // the EP's compile call
  double check = 0;         // opening the result once, in the worker, and the checks
  double store = 0;         // hashing the result and putting it in place
  double sync = 0;          // of `store`: what the disk took to make it durable
};

class WorkFolder;

struct Resolution {
  Outcome outcome = Outcome::uncached;
  std::string reason;          // why a miss, uncacheable or failed; empty on a hit
  std::optional<Error> error;  // of outcome failed, nothing_to_compile and uncached: what a strict caller reports
  std::string log_tail;        // of a failed compile
  std::string validation;      // with Request::validate: "agrees ...", or why that could not be found out
  std::string key;             // empty when there is none
  std::string generation;      // likewise
  std::filesystem::path path;  // of what loads: compiled model, or the source; empty: the source, which is in memory
  std::vector<store::Artifact> artifacts;
  std::string compile_level;  // ORT's graph optimization level of the compile; a source session has ORT's default
  std::vector<std::filesystem::path> source_files;  // the model, then its external data
  ort::Target target;
  Timings timings;
  bool private_generation = false;            // compiled for this caller alone, and not kept
  store::Lease lease;                         // keeps the generation alive
  std::shared_ptr<WorkFolder> private_owner;  // deletes a private generation when the last copy goes
  std::shared_ptr<store::Orphan> orphan;      // the same of one that lies in the store, with its lease
  // Of a source: its EP crashed or hung on it, so it is not opened on that in this process.
  bool unsafe_to_open = false;
  [[nodiscard]] bool compiled_model() const {
    return outcome == Outcome::hit || outcome == Outcome::compiled || outcome == Outcome::precompiled ||
           private_generation;
  }
};

// The answer of a caller that cannot keep `resolution`'s private generation: the source, uncached, for the same reason.
[[nodiscard]] Resolution source_instead(const Resolution& resolution, const std::filesystem::path& source);

// What the work is at, for people. Called from the resolving thread when a stage begins (and, for waiting, as the
// holder becomes known).
enum class Stage : std::uint8_t { reading, waiting, waiting_for_slot, compiling, checking, storing, opening };
struct Progress {
  Stage stage = Stage::reading;
  std::optional<double> estimate_seconds;  // from an earlier compile of this source
  std::optional<fs::LockHolder> holder;    // of the lock that is waited for
};
using Observer = std::function<void(const Progress&)>;

}  // namespace precast::compile
