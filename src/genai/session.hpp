// A bundle that is loaded into onnxruntime-genai, prepared by the compile cache. One thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "genai/generate.hpp"
#include "genai/prepare.hpp"
#include "precast/genai_session.hpp"

namespace precast::genai {

struct LoadOptions {
  std::filesystem::path bundle;
  PrepareOptions prepare;
  std::optional<std::int64_t> context_length;  // instead of the bundle's own
  LibraryOptions library;
};

using LoadTimings = precast::GenaiLoadTimings;

class Session {
 public:
  Session(compile::Resolver& resolver, LoadOptions options);
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // Loading what is loaded does nothing. After an error nothing is loaded, and load() may be called again. Errors:
  // those of reading and preparing; ep_unavailable (onnxruntime-genai or ORT missing or not usable); compile_failed
  // with genai's words, naming the bundle.
  [[nodiscard]] Result<void> load(const StageObserver& observer = {}, const MonotonicClock& clock = {});
  [[nodiscard]] bool is_loaded() const;
  void unload();

  // While loaded:
  [[nodiscard]] const Bundle& bundle() const;
  [[nodiscard]] const PreparedBundle& prepared() const;
  [[nodiscard]] const LoadTimings& load_timings() const;
  [[nodiscard]] std::int64_t context_length() const;
  [[nodiscard]] const LibraryLocation& library() const;
  // What a private view needs to be gone with this object, for a caller that never destroys it.
  [[nodiscard]] std::vector<std::shared_ptr<void>> take_private_owners();

  // They load first if that was not done.
  [[nodiscard]] Result<std::vector<std::int32_t>> encode(const std::string& text);
  [[nodiscard]] Result<std::string> decode(std::span<const std::int32_t> ids);
  [[nodiscard]] Result<std::string> apply_chat_template(const std::vector<ChatMessage>& messages,
                                                        bool add_generation_prompt);
  [[nodiscard]] Result<TimedGeneration> generate(const GenerationRequest& request);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace precast::genai
