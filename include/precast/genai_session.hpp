// A language model in onnxruntime-genai, its stages compiled ahead of time through the compile cache.
//
//   const auto complain = [](const precast::Error& error) {
//     std::cerr << error.message << '\n' << error.hint << '\n';
//     return 1;
//   };
//   auto runtime = precast::Runtime::load();
//   if (!runtime) return complain(runtime.error());
//   auto cache = precast::CompileCache::open(*runtime);
//   if (!cache) return complain(cache.error());
//   precast::GenaiOptions options;
//   options.compile = true;
//   precast::GenaiSession session(*cache, "smollm2", options);
//   if (auto loaded = session.load(); !loaded) return complain(loaded.error());
//   for (const std::string& warning : session.warnings()) std::cerr << warning << '\n';
//
//   precast::Prompt prompt;
//   prompt.messages = {{"user", "What is the capital of France?"}};
//   auto answer = session.generate_streaming(prompt, {}, [](std::string_view text) {
//     std::cout << text << std::flush;
//     return true;                                           // false stops it
//   });
//   if (!answer) return complain(answer.error());
//
// A bundle is a folder with genai_config.json: flat (model.decoder) or a pipeline of stages (embeddings, context,
// iterator, lm_head). Stages that name an EP which makes EPContext models are compiled in precast-worker, side by side,
// each with its own deadline; a stage that fails runs its original (on ORT's CPU EP where its own crashed or hung on
// it), and stages() says why. The bundle's own folder is never written to. With everything compiled before, no model is
// hashed or copied and no worker is started.
//
// onnxruntime-genai is found and loaded at run time, after ORT: GenaiOptions::genai_library, PRECAST_GENAI_LIBRARY,
// beside the executable, a checkout's .deps, $VIRTUAL_ENV, $CONDA_PREFIX, the system. Missing or not usable ("genai not
// installed"): ErrorCode::ep_unavailable, with how to install it. What genai itself refuses of a bundle ("genai load
// error"): ErrorCode::compile_failed, naming the bundle, with genai's words.
//
// Decoding is one sequence at a time, each request with a native generator of its own. Not thread-safe: one thread at a
// time uses a session, and genai as a whole allows one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "precast/bundle_stage.hpp"
#include "precast/compile_cache.hpp"
#include "precast/generation.hpp"

namespace precast {

struct GenaiOptions {
  // Empty: the bundle's own routing. Else every stage that names an EP other than the CPU's gets this one (alias,
  // canonical name, name@source); "cpu" takes the EPs away. A flat decoder always gets it.
  std::string ep;
  std::string device;  // "", "config", "auto", "cpu", "gpu", "npu"
  bool compile = false;
  bool embed = false;     // context binaries inside the models instead of beside them
  bool validate = false;  // run each compiled stage beside its source before it is used
  std::chrono::milliseconds compile_timeout = std::chrono::seconds(300);  // of one stage
  std::optional<std::chrono::milliseconds> lock_timeout;
  unsigned jobs = 0;  // stages compiled at once; 0 = as many as cores
  bool rebuild = false;
  bool no_cache = false;
  bool retry_failed = false;
  std::chrono::seconds retry_failed_after = std::chrono::hours(24);
  std::vector<std::string> worker_environment;     // variables that the compiling process gets and that matter
  std::vector<std::filesystem::path> extra_files;  // that belong to the EP's identity
  bool forbid_cpu_fallback = false;                // session.disable_cpu_ep_fallback in every stage that names an EP
  bool require_compiled = false;                   // a stage that fails to compile is an error of load()
  bool require_effect = false;                     // an EP or device that has no effect is an error, not a warning
  std::optional<std::int64_t> context_length;      // tokens, instead of the bundle's model.context_length
  std::filesystem::path genai_library;             // libonnxruntime-genai.so; empty: searched
};

struct GenaiLoadTimings {      // milliseconds
  double ep_registration = 0;  // EPs and onnxruntime-genai loaded and registered
  double bundle_prepare = 0;   // the bundle read, its stages looked up or compiled, the folder put together
  double config_create = 0;
  double model_create = 0;
  double tokenizer_create = 0;
  double total = 0;
  [[nodiscard]] double native_load() const { return config_create + model_create + tokenizer_create; }
};

class PRECAST_API GenaiSession {
 public:
  // Nothing happens yet. `bundle` is the folder, or the genai_config.json in it.
  GenaiSession(CompileCache cache, const std::filesystem::path& bundle, const GenaiOptions& options = {});
  ~GenaiSession();
  GenaiSession(GenaiSession&&) noexcept;
  GenaiSession& operator=(GenaiSession&&) noexcept;

  // Loading what is loaded does nothing. Errors: not_found and bad_input (the bundle; each with file and key),
  // ep_unavailable (an EP, or onnxruntime-genai), cancelled, compile_failed; after one nothing is loaded. `clock` is
  // for the timings.
  [[nodiscard]] Result<void> load(const MonotonicClock& clock = {});
  [[nodiscard]] bool is_loaded() const;
  // Gives the models and their leases back; load() starts anew.
  void unload();

  // Empty or zero while nothing is loaded.
  [[nodiscard]] std::vector<StageInfo> stages() const;
  [[nodiscard]] std::vector<std::string> warnings() const;  // what did not take effect, fallbacks, likely mistakes
  [[nodiscard]] GenaiLoadTimings load_timings() const;
  [[nodiscard]] std::int64_t context_length() const;  // tokens of prompt and answer together
  // What really takes effect: "cpu", ORT's name of the EP, or "mixed"; "cpu", "gpu", "npu", or none if not provable.
  [[nodiscard]] std::string effective_ep() const;
  [[nodiscard]] std::optional<std::string> effective_device() const;
  [[nodiscard]] std::filesystem::path running_path() const;  // the folder that genai loaded

  // The following load first if that was not done.
  [[nodiscard]] Result<std::vector<std::int32_t>> encode(const std::string& text);
  [[nodiscard]] Result<std::string> decode(std::span<const std::int32_t> token_ids);
  // The bundle's chat_template.jinja, else the tokenizer's own. With `add_generation_prompt` an answer is to follow.
  [[nodiscard]] Result<std::string> apply_chat_template(const std::vector<ChatMessage>& messages,
                                                        bool add_generation_prompt = true);

  // bad_input: what is wrong with the prompt or the configuration; a prompt that leaves no room in the context, with
  // both numbers.
  [[nodiscard]] Result<Generation> generate(const Prompt& prompt, const GenerationConfig& config = {});
  [[nodiscard]] Result<Generation> generate_streaming(const Prompt& prompt, const GenerationConfig& config,
                                                      const TextCallback& on_text);
  // What each step took, by `clock`. Nothing is decoded while tokens come, unless there are stop texts.
  [[nodiscard]] Result<TimedGeneration> generate_timed(const Prompt& prompt, const GenerationConfig& config = {},
                                                       const MonotonicClock& clock = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace precast
