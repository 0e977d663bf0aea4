#include "genai/native.hpp"

#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::genai {

Result<void> Native::check(OgaResult* result, std::string_view doing) const {
  if (result == nullptr) return {};
  const char* const words = api_.OgaResultGetError(result);  // a wrong chat template is quoted whole in them
  Error error{
      ErrorCode::compile_failed, std::string(doing) + ": " + util::one_line(words == nullptr ? "" : words), {}, {}};
  api_.OgaDestroyResult(result);
  return std::unexpected(std::move(error));
}

Result<ConfigHandle> Native::create_config(const std::filesystem::path& folder) const {
  OgaConfig* config = nullptr;
  PRECAST_TRY(check(api_.OgaCreateConfig(folder.c_str(), &config), "onnxruntime-genai refuses the configuration"));
  return ConfigHandle(config, Destroyer<OgaConfig>(api_.OgaDestroyConfig));
}

Result<void> Native::overlay(OgaConfig& config, const std::string& json) const {
  return check(api_.OgaConfigOverlay(&config, json.c_str()), "onnxruntime-genai refuses a change of the configuration");
}

Result<ModelHandle> Native::create_model(const OgaConfig& config) const {
  OgaModel* model = nullptr;
  PRECAST_TRY(check(api_.OgaCreateModelFromConfig(&config, &model), "onnxruntime-genai cannot load the model"));
  return ModelHandle(model, Destroyer<OgaModel>(api_.OgaDestroyModel));
}

Result<TokenizerHandle> Native::create_tokenizer(const OgaModel& model) const {
  OgaTokenizer* tokenizer = nullptr;
  PRECAST_TRY(check(api_.OgaCreateTokenizer(&model, &tokenizer), "onnxruntime-genai cannot load the tokenizer"));
  return TokenizerHandle(tokenizer, Destroyer<OgaTokenizer>(api_.OgaDestroyTokenizer));
}

Result<std::vector<std::int32_t>> Native::encode(const OgaTokenizer& tokenizer, const std::string& text) const {
  OgaSequences* made = nullptr;
  PRECAST_TRY(check(api_.OgaCreateSequences(&made), "onnxruntime-genai makes no sequences"));
  const Handle<OgaSequences> sequences(made, Destroyer<OgaSequences>(api_.OgaDestroySequences));
  PRECAST_TRY(check(api_.OgaTokenizerEncode(&tokenizer, text.c_str(), sequences.get()), "the text is not tokenized"));
  if (api_.OgaSequencesCount(sequences.get()) == 0) return std::vector<std::int32_t>();
  const std::size_t count = api_.OgaSequencesGetSequenceCount(sequences.get(), 0);
  const std::int32_t* const ids = api_.OgaSequencesGetSequenceData(sequences.get(), 0);
  return std::vector<std::int32_t>(ids, ids + count);
}

Result<std::string> Native::decode(const OgaTokenizer& tokenizer, std::span<const std::int32_t> ids) const {
  const char* text = nullptr;
  PRECAST_TRY(check(api_.OgaTokenizerDecode(&tokenizer, ids.data(), ids.size(), &text), "the tokens are not decoded"));
  std::string result = text == nullptr ? "" : text;
  api_.OgaDestroyString(text);
  return result;
}

Result<std::string> Native::apply_chat_template(const OgaTokenizer& tokenizer, const std::string& chat_template,
                                                const std::string& messages, bool add_generation_prompt) const {
  const char* text = nullptr;
  PRECAST_TRY(
      check(api_.OgaTokenizerApplyChatTemplate(&tokenizer, chat_template.empty() ? nullptr : chat_template.c_str(),
                                               messages.c_str(), nullptr, add_generation_prompt, &text),
            "the chat template is not applied"));
  std::string result = text == nullptr ? "" : text;
  api_.OgaDestroyString(text);
  return result;
}

Result<TokenStreamHandle> Native::create_token_stream(const OgaTokenizer& tokenizer) const {
  OgaTokenizerStream* stream = nullptr;
  PRECAST_TRY(check(api_.OgaCreateTokenizerStream(&tokenizer, &stream), "onnxruntime-genai makes no token stream"));
  return TokenStreamHandle(stream, Destroyer<OgaTokenizerStream>(api_.OgaDestroyTokenizerStream));
}

Result<std::string> Native::stream_decode(OgaTokenizerStream& stream, std::int32_t id) const {
  const char* text = nullptr;  // the stream's
  PRECAST_TRY(check(api_.OgaTokenizerStreamDecode(&stream, id, &text), "a token is not decoded"));
  return std::string(text == nullptr ? "" : text);
}

Result<GeneratorHandle> Native::create_generator(const OgaModel& model, const Search& search) const {
  OgaGeneratorParams* made = nullptr;
  PRECAST_TRY(check(api_.OgaCreateGeneratorParams(&model, &made), "onnxruntime-genai makes no generator"));
  const Handle<OgaGeneratorParams> params(made, Destroyer<OgaGeneratorParams>(api_.OgaDestroyGeneratorParams));
  const auto number = [&](const char* name, double value) {
    return check(api_.OgaGeneratorParamsSetSearchNumber(params.get(), name, value),
                 std::string("onnxruntime-genai refuses the search option ") + name);
  };
  const GenerationConfig& config = search.config;
  PRECAST_TRY(number("max_length", static_cast<double>(search.max_length)));
  PRECAST_TRY(number("min_length", static_cast<double>(search.min_length)));
  PRECAST_TRY(number("batch_size", 1));
  PRECAST_TRY(number("num_beams", 1));
  PRECAST_TRY(number("repetition_penalty", config.repetition_penalty));
  PRECAST_TRY(check(api_.OgaGeneratorParamsSetSearchBool(params.get(), "do_sample", config.do_sample),
                    "onnxruntime-genai refuses the search option do_sample"));
  if (config.do_sample) {
    PRECAST_TRY(number("temperature", config.temperature));
    PRECAST_TRY(number("top_p", config.top_p));
    PRECAST_TRY(number("top_k", config.top_k));
    if (config.seed) PRECAST_TRY(number("random_seed", *config.seed));
  }
  OgaGenerator* generator = nullptr;
  PRECAST_TRY(check(api_.OgaCreateGenerator(&model, params.get(), &generator), "onnxruntime-genai makes no generator"));
  return GeneratorHandle(generator, Destroyer<OgaGenerator>(api_.OgaDestroyGenerator));
}

Result<void> Native::append_tokens(OgaGenerator& generator, std::span<const std::int32_t> ids) const {
  return check(api_.OgaGenerator_AppendTokens(&generator, ids.data(), ids.size()), "the prompt is not computed");
}

Result<void> Native::generate_next_token(OgaGenerator& generator) const {
  return check(api_.OgaGenerator_GenerateNextToken(&generator), "no token is generated");
}

Result<std::int32_t> Native::last_token(const OgaGenerator& generator) const {
  const std::int32_t* ids = nullptr;
  std::size_t count = 0;
  PRECAST_TRY(check(api_.OgaGenerator_GetNextTokens(&generator, &ids, &count), "no token is given"));
  if (count == 0) return fail(ErrorCode::compile_failed, "onnxruntime-genai gave no token");
  return ids[0];
}

std::vector<std::int32_t> Native::sequence(const OgaGenerator& generator) const {
  const std::size_t count = api_.OgaGenerator_GetSequenceCount(&generator, 0);
  const std::int32_t* const ids = api_.OgaGenerator_GetSequenceData(&generator, 0);
  return ids == nullptr ? std::vector<std::int32_t>() : std::vector<std::int32_t>(ids, ids + count);
}

}  // namespace precast::genai
