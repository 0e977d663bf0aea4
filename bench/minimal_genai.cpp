// What precast is measured against: the least that a C++ program can do with onnxruntime-genai alone.
//
//   precast-bench-minimal-genai ORT GENAI FOLDER PROMPT TOKENS ROUNDS CONTEXT [EP LIBRARY]
//
// Registers the EP, loads the folder, and ROUNDS times generates TOKENS tokens after PROMPT (the first round does not
// count). Prints one line of JSON: what loading took, and the tokens per second after the first token.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <onnxruntime_cxx_api.h>
#include <unistd.h>

#include "genai/library_posix.hpp"
#include "ort/cpu_vendor.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

class Minimal {
 public:
  Minimal(const char* ort, const char* genai, const char* ep, const char* library) {
    void* const handle = ::dlopen(ort, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw std::runtime_error(::dlerror());
    const auto base = reinterpret_cast<const OrtApiBase* (*)()>(::dlsym(handle, "OrtGetApiBase"));
    Ort::InitApi(base()->GetApi(ORT_API_VERSION));
    auto* const env = new Ort::Env(ORT_LOGGING_LEVEL_ERROR, "minimal");  // stays until _exit
    if (const char* vendor = std::getenv("PRECAST_ASSUME_CPU_VENDOR"); vendor != nullptr) {
      if (!precast::ort::assume_cpu_vendor(Ort::GetApi(), vendor))
        throw std::runtime_error("cannot assume a CPU vendor");
    }
    if (ep != nullptr) env->RegisterExecutionProviderLibrary(ep, library);
    const auto api = precast::genai::open_library(genai);
    if (!api) throw std::runtime_error(api.error().message);
    api_ = *api;
  }

  void load(const char* folder) {
    OgaConfig* config = nullptr;
    check(api_.OgaCreateConfig(folder, &config));
    check(api_.OgaCreateModelFromConfig(config, &model_));
    check(api_.OgaCreateTokenizer(model_, &tokenizer_));
  }

  // Tokens per second after the first.
  double generate(const char* prompt, int tokens, int context) {
    OgaSequences* sequences = nullptr;
    check(api_.OgaCreateSequences(&sequences));
    check(api_.OgaTokenizerEncode(tokenizer_, prompt, sequences));
    const std::size_t count = api_.OgaSequencesGetSequenceCount(sequences, 0);
    OgaGeneratorParams* params = nullptr;
    check(api_.OgaCreateGeneratorParams(model_, &params));
    OgaGenerator* generator = nullptr;
    check(api_.OgaGeneratorParamsSetSearchNumber(params, "max_length", context));
    check(api_.OgaGeneratorParamsSetSearchNumber(params, "min_length", context));
    check(api_.OgaCreateGenerator(model_, params, &generator));
    check(api_.OgaGenerator_AppendTokens(generator, api_.OgaSequencesGetSequenceData(sequences, 0), count));
    check(api_.OgaGenerator_GenerateNextToken(generator));
    const auto start = Clock::now();
    for (int i = 1; i < tokens; ++i) check(api_.OgaGenerator_GenerateNextToken(generator));
    const double ms = ms_since(start);
    api_.OgaDestroyGenerator(generator);
    api_.OgaDestroyGeneratorParams(params);
    api_.OgaDestroySequences(sequences);
    return (tokens - 1) * 1000 / ms;
  }

 private:
  void check(OgaResult* result) const {
    if (result != nullptr) throw std::runtime_error(api_.OgaResultGetError(result));
  }
  precast::genai::Api api_;
  OgaModel* model_ = nullptr;
  OgaTokenizer* tokenizer_ = nullptr;
};

int run(int argc, char** argv) {
  const auto start = Clock::now();
  Minimal minimal(argv[1], argv[2], argc > 9 ? argv[8] : nullptr, argc > 9 ? argv[9] : nullptr);
  minimal.load(argv[3]);
  const double load = ms_since(start);
  double rate = 0;
  const int rounds = std::atoi(argv[6]);
  for (int i = 0; i < rounds; ++i) {
    const double one = minimal.generate(argv[4], std::atoi(argv[5]), std::atoi(argv[7]));
    if (i > 0) rate += one / (rounds - 1);
  }
  std::fprintf(stderr, "{\"load\":%.3f,\"decode\":%.3f}\n", load, rate);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int code = 1;
  try {
    if (argc < 8) throw std::runtime_error("see the head of bench/minimal_genai.cpp for the arguments");
    code = run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "minimal: %s\n", e.what());
  }
  std::fflush(nullptr);
  ::_exit(code);
}
