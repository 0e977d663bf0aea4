// onnxruntime-genai's objects as RAII handles, and its calls as Results. Not thread-safe, as genai is not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "genai/library.hpp"
#include "precast/generation.hpp"

namespace precast::genai {

template <typename T>
class Destroyer {
 public:
  explicit Destroyer(void (*destroy)(T*) = nullptr) : destroy_(destroy) {}
  void operator()(T* handle) const { destroy_(handle); }

 private:
  void (*destroy_)(T*);
};
template <typename T>
using Handle = std::unique_ptr<T, Destroyer<T>>;

using ConfigHandle = Handle<OgaConfig>;
using ModelHandle = Handle<OgaModel>;
using TokenizerHandle = Handle<OgaTokenizer>;
using TokenStreamHandle = Handle<OgaTokenizerStream>;
using GeneratorHandle = Handle<OgaGenerator>;

// What of a GenerationConfig genai is told.
struct Search {
  std::uint64_t max_length = 0;  // of prompt and answer
  std::uint64_t min_length = 0;
  GenerationConfig config;
};

class Native {
 public:
  explicit Native(std::shared_ptr<const Library> library) : library_(std::move(library)), api_(library_->api()) {}

  // compile_failed with genai's words, for all of them. Of a bundle's folder:
  [[nodiscard]] Result<ConfigHandle> create_config(const std::filesystem::path& folder) const;
  [[nodiscard]] Result<void> overlay(OgaConfig& config, const std::string& json) const;
  [[nodiscard]] Result<ModelHandle> create_model(const OgaConfig& config) const;
  [[nodiscard]] Result<TokenizerHandle> create_tokenizer(const OgaModel& model) const;

  [[nodiscard]] Result<std::vector<std::int32_t>> encode(const OgaTokenizer& tokenizer, const std::string& text) const;
  [[nodiscard]] Result<std::string> decode(const OgaTokenizer& tokenizer, std::span<const std::int32_t> ids) const;
  // `chat_template` empty: the tokenizer's own. `messages` is JSON.
  [[nodiscard]] Result<std::string> apply_chat_template(const OgaTokenizer& tokenizer, const std::string& chat_template,
                                                        const std::string& messages, bool add_generation_prompt) const;
  [[nodiscard]] Result<TokenStreamHandle> create_token_stream(const OgaTokenizer& tokenizer) const;
  // The bytes that this token adds; may be none, or a part of a character.
  [[nodiscard]] Result<std::string> stream_decode(OgaTokenizerStream& stream, std::int32_t id) const;

  [[nodiscard]] Result<GeneratorHandle> create_generator(const OgaModel& model, const Search& search) const;
  [[nodiscard]] Result<void> append_tokens(OgaGenerator& generator, std::span<const std::int32_t> ids) const;
  [[nodiscard]] Result<void> generate_next_token(OgaGenerator& generator) const;
  [[nodiscard]] bool is_done(const OgaGenerator& generator) const { return api_.OgaGenerator_IsDone(&generator); }
  [[nodiscard]] Result<std::int32_t> last_token(const OgaGenerator& generator) const;
  [[nodiscard]] std::vector<std::int32_t> sequence(const OgaGenerator& generator) const;  // prompt and answer

 private:
  [[nodiscard]] Result<void> check(OgaResult* result, std::string_view doing) const;
  std::shared_ptr<const Library> library_;
  const Api& api_;
};

}  // namespace precast::genai
