// The calls into ORT that compile a model and open one. Blocking; may crash or hang inside an EP: compiling belongs
// into the worker process.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ort/catalog.hpp"

namespace precast::ort {

// Everything of session options that the user can set.
struct SessionSettings {
  std::map<std::string, std::string> config_entries;    // --session-options K=V
  std::optional<int> optimization_level;                // 0 disable_all, 1 basic, 2 extended, 99 all; none = default
  std::map<std::string, std::int64_t> free_dimensions;  // by symbolic name
  // A caller's own, which come first; what is above is added to a copy of them.
  std::shared_ptr<const Ort::SessionOptions> base;
};

// 'disable', 'basic', 'extended', 'layout', 'all' or the number; anything else bad_input.
[[nodiscard]] Result<int> parse_optimization_level(std::string_view text);
[[nodiscard]] std::string_view optimization_level_name(int level);

// Session options bound to the target (AppendExecutionProvider_V2 with its device and options; CPU EP: nothing added).
[[nodiscard]] Result<Ort::SessionOptions> make_session_options(Catalog& catalog, const Target& target,
                                                               const SessionSettings& settings);

struct CompileCall {
  std::filesystem::path model;
  std::filesystem::path output;  // must not exist; its folder must
  bool embed = false;
};
// flags ERROR_IF_NO_NODES_COMPILED | ERROR_IF_OUTPUT_FILE_EXISTS; optimisation level DISABLE_ALL unless set.
// "No node runs on this EP" (ORT: "Unable to compile any nodes") while the EP logged no ERROR is
// ErrorCode::unsupported; a missing model not_found; options that ORT refuses bad_input; anything else compile_failed,
// with ORT's words and the first error that was logged.
[[nodiscard]] Result<void> compile_model(Catalog& catalog, const Target& target, const SessionSettings& settings,
                                         const CompileCall& call);

// The same for models that share what the EP can share between them (ep.share_ep_contexts): one set of session options
// for all, told at the last one that sharing ends there; it goes with the call. Each output must be in the same folder,
// and the EP writes what is shared there when it ends: an error at one of the models leaves nothing that can be used.
// Only for a process that ends afterwards: sharing that was begun and not ended makes QNN's library abort at exit.
[[nodiscard]] Result<void> compile_sharing_models(Catalog& catalog, const Target& target,
                                                  const SessionSettings& settings, std::span<const CompileCall> calls);

// {"OpenVINOExecutionProvider": 12, "CPUExecutionProvider": 3} from ORT's "nodes placed on" log lines; empty when ORT
// said nothing. Parsed from captured lines.
[[nodiscard]] std::map<std::string, std::uint64_t> parse_node_placement(const std::vector<LogLine>& lines);

struct OpenedSession {
  Ort::Session session{nullptr};
  std::map<std::string, std::uint64_t> provider_nodes;  // empty = not known
  std::string complaint;  // what was logged meanwhile: the first error, else the first warning; or empty
};

struct OpenCall {
  std::filesystem::path model;            // the file, or a name for `bytes`
  std::optional<std::string_view> bytes;  // a model in memory, whose external data lies in external_folder
  std::filesystem::path external_folder;
  bool compiled = false;  // session.disable_model_compile=1 and an absolute ep.context_file_path
  // Verbose logging, which goes nowhere but to the count. ORT keeps the level for the session's own logger: for its
  // runs set RunOptions::SetRunLogSeverityLevel(ORT_LOGGING_LEVEL_WARNING), else each of them makes log lines.
  bool want_node_counts = false;
  bool forbid_cpu_fallback = false;  // session.disable_cpu_ep_fallback=1
};
// Errors: not_found (no such model), bad_input (options that ORT refuses), else compile_failed with ORT's words: a
// source model with `compiled`, a compiled one that the EP refuses, an EP that cannot compile.
[[nodiscard]] Result<OpenedSession> open_session(Catalog& catalog, const Target& target,
                                                 const SessionSettings& settings, const OpenCall& call);

// GetModelCompatibilityForEpDevices. `compatibility` is the model's metadata entry "ep_compatibility_info.<EP>".
enum class Compatibility : std::uint8_t { not_applicable, optimal, prefer_recompilation, unsupported };
[[nodiscard]] Result<Compatibility> check_compatibility(Catalog& catalog, const Target& target,
                                                        const std::string& compatibility);

}  // namespace precast::ort
