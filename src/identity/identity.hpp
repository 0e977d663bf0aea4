// What a compile depends on (docs/architecture.md, "Identity"): canonical JSON with sorted keys and no white space, and
// its SHA-256, the key. Two requests have one key if and only if everything that can influence the compiled result is
// the same. No ORT header, no json header.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "identity/digester.hpp"
#include "model/model_facts.hpp"
#include "ort/target.hpp"

namespace precast::identity {

inline constexpr int kSchema = 1;

// The part of a request that is not the model: fixed once per process and target.
struct Settings {
  ort::Target target;
  std::filesystem::path ort_library;
  std::string ort_version;
  std::string ort_build;
  std::map<std::string, std::string> session_config;  // effective config entries
  int optimization_level = 0;                         // of the compile
  std::map<std::string, std::int64_t> free_dimensions;
  bool embed = false;
  bool in_process = false;                      // no worker between the EP and this process's environment and libraries
  bool strict_options = false;                  // run-time-only options enter too
  std::vector<std::string> extra_file_options;  // --ep-option-file KEY
  std::vector<std::filesystem::path> extra_files;                // --ep-extra-file
  std::vector<std::pair<std::string, std::string>> environment;  // of this process
  std::vector<std::string> worker_environment;                   // --worker-env NAME
};

// Evidence of the model: graph first, then its external files in the order of their sorted locations.
struct ModelEvidence {
  std::filesystem::path model;  // logical path, absolute, links not resolved
  model::ModelFacts facts;
  std::vector<FileEvidence> files;
  bool through_links = false;  // model or a data file is reached through a link: stage a copy for the EP
  friend bool operator==(const ModelEvidence& a, const ModelEvidence& b) { return a.files == b.files; }
};

// Reads and checks the model: missing, not ONNX, external data missing, short, outside the folder: each its own error.
[[nodiscard]] Result<ModelEvidence> take_model_evidence(fs::FileSystem& fs, Digester& digester,
                                                        const std::filesystem::path& model);

// The same for a model in memory, whose external data lies in `folder` (empty: it may have none). Its evidence is the
// digest of its bytes: `model` is a name in that folder that no file has. `known` is the evidence taken before of the
// same bytes, which are not hashed again then.
[[nodiscard]] Result<ModelEvidence> take_memory_evidence(fs::FileSystem& fs, Digester& digester, std::string_view bytes,
                                                         const std::filesystem::path& folder,
                                                         const ModelEvidence* known = nullptr);

// ORT's library, the plugin, its DT_NEEDED closure outside the system's directories, the EP table's dependent files,
// libraries named by options, extra files: name and SHA-256, equal digests once.
[[nodiscard]] Result<std::vector<FileEvidence>> take_library_evidence(fs::FileSystem& fs, Digester& digester,
                                                                      const Settings& settings);

struct Identity {
  std::string canonical;      // the JSON
  std::string key;            // 64 hex
  std::string source_sha256;  // of the source part alone: groups identities of one source ("earlier compiles")
  // Not empty: no entry of the store may serve this request, and why ("the driver version of ... is not known").
  std::string uncacheable;
};

[[nodiscard]] Result<Identity> make_identity(fs::FileSystem& fs, Digester& digester, const Settings& settings,
                                             const ModelEvidence& model, const std::vector<FileEvidence>& libraries);

// The first fields in which two canonical identities differ, as "field: a -> b" lines; for messages about a miss.
[[nodiscard]] std::vector<std::string> differences(const std::string& canonical_a, const std::string& canonical_b);

// What of the options reaches a compile: without run-time-only entries (all of them under strict_options). An option
// that is not part of the identity must not be able to make a compile fail either, or its failure would be remembered
// for requests without it.
[[nodiscard]] std::map<std::string, std::string> compile_provider_options(const Settings& settings);
[[nodiscard]] std::map<std::string, std::string> compile_session_config(const Settings& settings);

// The environment the worker gets: PATH, HOME, LANG, TMPDIR, LD_LIBRARY_PATH, PRECAST_*, the EP table's variables, and
// the names of --worker-env.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> worker_environment(const Settings& settings);

}  // namespace precast::identity
