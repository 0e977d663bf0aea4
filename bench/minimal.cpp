// What precast is measured against: the least that a C++ program can do with ORT alone.
//
//   precast-bench-minimal open    ORT EP LIBRARY MODEL [KEY=VALUE...]          register the EP, open a compiled model
//   precast-bench-minimal compile ORT EP LIBRARY SOURCE OUTPUT [KEY=VALUE...]  compile, open the result, hash both
//
// Prints one line of JSON with the milliseconds of each part, and ends with _exit as precast does.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <unordered_map>
#include <vector>

#include <onnxruntime_cxx_api.h>
#include <openssl/evp.h>

#include "ort_alone.hpp"

namespace {

using precast::bench::Clock;
using precast::bench::load_ort;
using precast::bench::ms_since;
using precast::bench::register_ep;

Ort::SessionOptions options_for(Ort::Env& env, const std::string& ep,
                                const std::unordered_map<std::string, std::string>& values) {
  std::vector<Ort::ConstEpDevice> devices;
  for (const Ort::ConstEpDevice& device : env.GetEpDevices()) {
    if (ep == device.EpName()) devices.push_back(device);
    if (!devices.empty()) break;
  }
  if (devices.empty()) throw std::runtime_error("no device of " + ep);
  Ort::SessionOptions options;
  options.AppendExecutionProvider_V2(env, devices, values);
  return options;
}

double open_compiled(Ort::Env& env, const std::string& ep, const std::unordered_map<std::string, std::string>& values,
                     const char* model) {
  Ort::SessionOptions options = options_for(env, ep, values);
  options.AddConfigEntry("session.disable_model_compile", "1");
  options.AddConfigEntry("ep.context_file_path", model);
  const auto start = Clock::now();
  auto* const session = new Ort::Session(env, model, options);  // stays open until _exit
  if (session->GetInputCount() == 0) throw std::runtime_error("no inputs");
  return ms_since(start);
}

void hash_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EVP_MD_CTX* const context = EVP_MD_CTX_new();
  EVP_DigestInit_ex(context, EVP_sha256(), nullptr);
  std::vector<char> block(1U << 20U);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0) {
    EVP_DigestUpdate(context, block.data(), static_cast<std::size_t>(file.gcount()));
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  EVP_DigestFinal_ex(context, digest, nullptr);
  EVP_MD_CTX_free(context);
}

double hash_folder(const std::filesystem::path& folder) {
  const auto start = Clock::now();
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) hash_file(entry.path());
  }
  return ms_since(start);
}

int run(int argc, char** argv) {
  const auto start = Clock::now();
  const bool compile = std::strcmp(argv[1], "compile") == 0;
  load_ort(argv[2]);
  const std::string ep = argv[3];
  const int first_option = compile ? 7 : 6;
  if (argc < first_option) throw std::runtime_error("too few arguments");
  std::unordered_map<std::string, std::string> values;
  for (int i = first_option; i < argc; ++i) {
    const std::string pair = argv[i];
    values[pair.substr(0, pair.find('='))] = pair.substr(pair.find('=') + 1);
  }
  Ort::Env env(ORT_LOGGING_LEVEL_ERROR, "minimal");
  register_ep(env, argv[3], argv[4]);
  if (!compile) {
    const double open = open_compiled(env, ep, values, argv[5]);
    std::fprintf(stderr, "{\"open_ms\":%.3f,\"total_ms\":%.3f}\n", open, ms_since(start));
    return 0;
  }
  Ort::SessionOptions options = options_for(env, ep, values);
  Ort::ModelCompilationOptions compilation(env, options);
  compilation.SetInputModelPath(argv[5]);
  compilation.SetOutputModelPath(argv[6]);
  compilation.SetEpContextEmbedMode(false);
  const auto compile_start = Clock::now();
  if (const Ort::Status status = Ort::CompileModel(env, compilation); !status.IsOK())
    throw std::runtime_error(status.GetErrorMessage());
  const double compiled = ms_since(compile_start);
  const double open = open_compiled(env, ep, values, argv[6]);
  const double hash = hash_folder(std::filesystem::path(argv[5]).parent_path()) +
                      hash_folder(std::filesystem::path(argv[6]).parent_path());
  std::fprintf(stderr, "{\"compile_ms\":%.3f,\"open_ms\":%.3f,\"hash_ms\":%.3f,\"total_ms\":%.3f}\n", compiled, open,
               hash, ms_since(start));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  precast::bench::end_with([=] {
    if (argc < 6) throw std::runtime_error("see the head of bench/minimal.cpp for the arguments");
    return run(argc, argv);
  });
}
