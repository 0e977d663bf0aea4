// The part of onnxruntime-genai's C ABI that precast calls, declared here because no package has its header, and found
// by name in the library. Every call returns null or an OgaResult with words (destroyers, IsDone and plain getters do
// not). Nothing in it is thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

struct OgaResult;
struct OgaConfig;
struct OgaModel;
struct OgaTokenizer;
struct OgaTokenizerStream;
struct OgaSequences;
struct OgaGeneratorParams;
struct OgaGenerator;

namespace precast::genai {

// PRECAST_OGA(return type, name, parameters)
#define PRECAST_OGA_FUNCTIONS(PRECAST_OGA)                                                                           \
  PRECAST_OGA(const char*, OgaResultGetError, (const OgaResult*))                                                    \
  PRECAST_OGA(void, OgaDestroyResult, (OgaResult*))                                                                  \
  PRECAST_OGA(void, OgaDestroyString, (const char*))                                                                 \
  PRECAST_OGA(OgaResult*, OgaCreateConfig, (const char* folder, OgaConfig**))                                        \
  PRECAST_OGA(OgaResult*, OgaConfigOverlay, (OgaConfig*, const char* json))                                          \
  PRECAST_OGA(void, OgaDestroyConfig, (OgaConfig*))                                                                  \
  PRECAST_OGA(OgaResult*, OgaCreateModelFromConfig, (const OgaConfig*, OgaModel**))                                  \
  PRECAST_OGA(void, OgaDestroyModel, (OgaModel*))                                                                    \
  PRECAST_OGA(OgaResult*, OgaCreateTokenizer, (const OgaModel*, OgaTokenizer**))                                     \
  PRECAST_OGA(void, OgaDestroyTokenizer, (OgaTokenizer*))                                                            \
  PRECAST_OGA(OgaResult*, OgaTokenizerEncode, (const OgaTokenizer*, const char*, OgaSequences*))                     \
  PRECAST_OGA(OgaResult*, OgaTokenizerDecode, (const OgaTokenizer*, const std::int32_t*, std::size_t, const char**)) \
  PRECAST_OGA(OgaResult*, OgaTokenizerApplyChatTemplate,                                                             \
              (const OgaTokenizer*, const char* chat_template, const char* messages, const char* tools,              \
               bool add_generation_prompt, const char**))                                                            \
  PRECAST_OGA(OgaResult*, OgaCreateTokenizerStream, (const OgaTokenizer*, OgaTokenizerStream**))                     \
  PRECAST_OGA(void, OgaDestroyTokenizerStream, (OgaTokenizerStream*))                                                \
  PRECAST_OGA(OgaResult*, OgaTokenizerStreamDecode, (OgaTokenizerStream*, std::int32_t, const char**))               \
  PRECAST_OGA(OgaResult*, OgaCreateSequences, (OgaSequences**))                                                      \
  PRECAST_OGA(void, OgaDestroySequences, (OgaSequences*))                                                            \
  PRECAST_OGA(std::size_t, OgaSequencesCount, (const OgaSequences*))                                                 \
  PRECAST_OGA(std::size_t, OgaSequencesGetSequenceCount, (const OgaSequences*, std::size_t))                         \
  PRECAST_OGA(const std::int32_t*, OgaSequencesGetSequenceData, (const OgaSequences*, std::size_t))                  \
  PRECAST_OGA(OgaResult*, OgaCreateGeneratorParams, (const OgaModel*, OgaGeneratorParams**))                         \
  PRECAST_OGA(void, OgaDestroyGeneratorParams, (OgaGeneratorParams*))                                                \
  PRECAST_OGA(OgaResult*, OgaGeneratorParamsSetSearchNumber, (OgaGeneratorParams*, const char*, double))             \
  PRECAST_OGA(OgaResult*, OgaGeneratorParamsSetSearchBool, (OgaGeneratorParams*, const char*, bool))                 \
  PRECAST_OGA(OgaResult*, OgaCreateGenerator, (const OgaModel*, const OgaGeneratorParams*, OgaGenerator**))          \
  PRECAST_OGA(void, OgaDestroyGenerator, (OgaGenerator*))                                                            \
  PRECAST_OGA(bool, OgaGenerator_IsDone, (const OgaGenerator*))                                                      \
  PRECAST_OGA(OgaResult*, OgaGenerator_AppendTokens, (OgaGenerator*, const std::int32_t*, std::size_t))              \
  PRECAST_OGA(OgaResult*, OgaGenerator_GenerateNextToken, (OgaGenerator*))                                           \
  PRECAST_OGA(OgaResult*, OgaGenerator_GetNextTokens, (const OgaGenerator*, const std::int32_t**, std::size_t*))     \
  PRECAST_OGA(std::size_t, OgaGenerator_GetSequenceCount, (const OgaGenerator*, std::size_t))                        \
  PRECAST_OGA(const std::int32_t*, OgaGenerator_GetSequenceData, (const OgaGenerator*, std::size_t))

struct Api {
#define PRECAST_OGA_MEMBER(type, name, parameters) type(*name) parameters = nullptr;  // NOLINT
  PRECAST_OGA_FUNCTIONS(PRECAST_OGA_MEMBER)
#undef PRECAST_OGA_MEMBER
};

}  // namespace precast::genai
