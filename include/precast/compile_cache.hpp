// The compile cache: from a model to one that loads at once.
//
//   const auto complain = [](const precast::Error& error) {
//     std::cerr << error.message << '\n' << error.hint << '\n';
//     return 1;
//   };
//   auto runtime = precast::Runtime::load();
//   if (!runtime) return complain(runtime.error());
//   auto cache = precast::CompileCache::open(*runtime);
//   if (!cache) return complain(cache.error());
//   precast::CompileOptions options;
//   options.ep = "openvino";
//   auto model = cache->resolve("model.onnx", options);
//   if (!model) return complain(model.error());          // bad input, no such EP, cancelled
//   if (!model->compiled()) {                            // the source model: runs, but compiles at each load
//     std::cerr << model->reason() << '\n';
//   }
//   std::cout << model->path() << '\n';                  // load this, and keep *model as long as it is loaded
//
// Compiling happens in the program precast-worker (CacheOptions::worker, PRECAST_WORKER, beside the executable, the
// installed libexec). Any number of threads and processes may use one store; equal requests wait for one compile,
// different ones never wait for each other. Copies of a CompileCache are the same cache. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "precast/compile_options.hpp"
#include "precast/error.hpp"
#include "precast/outcome.hpp"
#include "precast/runtime.hpp"

namespace precast {

struct CacheOptions {
  std::filesystem::path root;    // empty: PRECAST_CACHE_DIR, $XDG_CACHE_HOME/precast, ~/.cache/precast
  bool allow_network = false;    // a store on a network or FUSE file system
  bool verify_always = false;    // hash everything every time instead of trusting the kernel's time stamps
  std::uint32_t keep = 4;        // generations kept per model, EP and device class
  bool strict = false;           // a store that cannot be used is an error of open(), else resolve() works uncached
  std::filesystem::path worker;  // precast-worker; empty: searched
  bool allow_telemetry = false;  // false: the worker sets ORT_DISABLE_TELEMETRY
  std::stop_token stop;          // ends whatever waits, hashes or compiles, with `cancelled`
};

// A model in memory. Its identity is that of its bytes: the same bytes in a file are the same model. The bytes must
// stay as they are until the call, and a Session on them, is done. External data is looked for in `external_folder`.
struct ModelBytes {
  std::span<const std::byte> bytes;
  std::filesystem::path external_folder;  // empty: the model has no external data
};

struct Artifact {
  std::string path;  // relative to the folder of the model
  std::uint64_t size = 0;
  std::string sha256;
};

// The answer, and the lease that keeps it: while the object lives nobody deletes the generation. Not copyable.
class PRECAST_API CompiledModel {
 public:
  ~CompiledModel();
  CompiledModel(CompiledModel&&) noexcept;
  CompiledModel& operator=(CompiledModel&&) noexcept;

  [[nodiscard]] const std::filesystem::path& path() const;  // absolute: of the compiled model, or of the source
  [[nodiscard]] bool compiled() const;                      // false: path() is the source
  [[nodiscard]] Outcome outcome() const;
  [[nodiscard]] const std::string& reason() const;               // why a miss, uncached or failed; empty on a hit
  [[nodiscard]] const std::optional<Error>& error() const;       // the same, with its code and hint
  [[nodiscard]] const std::string& validation() const;           // with CompileOptions::validate: what it showed
  [[nodiscard]] const std::string& key() const;                  // 64 hex, or empty
  [[nodiscard]] const std::string& generation() const;           // UUID, or empty
  [[nodiscard]] const std::vector<Artifact>& artifacts() const;  // of a stored generation, the model first
  [[nodiscard]] const std::string& ep() const;                   // that was chosen
  [[nodiscard]] const std::string& device() const;               // "cpu", "gpu", "npu"

  struct State;  // for precast's own files
  explicit CompiledModel(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
};

class PRECAST_API CompileCache {
 public:
  // A store that cannot be used (another user's, read-only and new, of another version) is an error with `strict` only;
  // else problem() says why, and resolve() answers with the source model.
  [[nodiscard]] static Result<CompileCache> open(const Runtime& runtime, const CacheOptions& options = {});

  // Errors: bad_input, not_found (model, option, option file), ep_unavailable (EP, device), cancelled. Whatever else
  // goes wrong gives the source model, and says why.
  [[nodiscard]] Result<CompiledModel> resolve(const std::filesystem::path& model, const CompileOptions& options) const;
  // With session options of the caller's own, to which those of `options` are added. Nobody can tell what is in them,
  // so nothing is looked up or stored: the model is compiled in this process (Isolation::in_process), for this answer
  // alone, and deleted with it. They must not name an EP: `options` does. They are copied.
  [[nodiscard]] Result<CompiledModel> resolve(const std::filesystem::path& model, const CompileOptions& options,
                                              const Ort::SessionOptions& session_options) const;
  // For a model in memory there is no source path to give: path() is empty where it would be the source.
  [[nodiscard]] Result<CompiledModel> resolve(const ModelBytes& model, const CompileOptions& options) const;
  [[nodiscard]] Result<CompiledModel> resolve(const ModelBytes& model, const CompileOptions& options,
                                              const Ort::SessionOptions& session_options) const;

  [[nodiscard]] const std::string& problem() const;         // why the store cannot be used; empty = it can
  [[nodiscard]] const std::filesystem::path& root() const;  // of the store
  [[nodiscard]] const Runtime& runtime() const;

  struct State;  // for precast's own files
  [[nodiscard]] const std::shared_ptr<State>& state() const { return state_; }

 private:
  explicit CompileCache(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace precast
