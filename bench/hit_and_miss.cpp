// precast against ORT alone: hits, misses, and many hits at once. Prints Markdown tables; never fails on a number.
//
//   build/bin/precast-bench [--pairs 31] [--misses 9] [--small] [--only hits|together|misses] [FOLDER]
//
// FOLDER (default build/bench) gets the generated models, the store and what the minimal programs compile.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <stdexcept>

#include <sys/mman.h>

#include <unistd.h>

#include "measure.hpp"
#include "model_generator/model_generator.hpp"
#include "places.hpp"

namespace precast::bench {
namespace {

namespace stdfs = std::filesystem;
using Options = std::map<std::string, std::string>;

struct Ep {
  std::string alias;
  std::string name;
  stdfs::path library;
  Options options;
};

struct Source {
  std::string label;
  stdfs::path model;
};

struct Settings {
  stdfs::path folder = stdfs::path(PRECAST_BINARY_DIR) / "bench";
  int pairs = 31;
  int misses = 9;
  bool small = false;
  std::string only;  // one of hits, together, misses; empty: all
};

Options environment(const Settings& settings) {
  return {{"ORT_DISABLE_TELEMETRY", "1"},
          {"PRECAST_ASSUME_CPU_VENDOR", "intel"},
          {"PRECAST_CACHE_DIR", (settings.folder / "store").native()}};
}

Ep openvino() {
  return {"openvino", "OpenVINOExecutionProvider", kOpenvinoLibrary, {}};
}

Ep qnn() {
  return {"qnn",
          "QNNExecutionProvider",
          kQnnLibrary,
          {{"soc_model", "60"},
           {"htp_arch", "73"},
           {"enable_htp_fp16_precision", "1"},
           {"htp_graph_finalization_optimization_mode", "0"},
           {"backend_path", (kQnnFolder / "libQnnHtp.so").native()}}};
}

Program resolve(const Settings& settings, const Ep& ep, const stdfs::path& model, bool rebuild) {
  Program program{{(kBin / "precast").native(), "-q", "--json", "resolve", model.native(), "--open",
                   "--require-compiled", "--ep", ep.alias},
                  environment(settings)};
  for (const auto& [key, value] : ep.options) {
    program.command.insert(program.command.end(), {"--ep-options", key + "=" + value});
  }
  if (rebuild) program.command.emplace_back("--rebuild");
  return program;
}

Program minimal(const Settings& settings, const Ep& ep, const std::string& action, std::vector<std::string> paths) {
  Program program{
      {(kBin / "precast-bench-minimal").native(), action, ort_library().native(), ep.name, ep.library.native()},
      environment(settings)};
  for (std::string& path : paths) program.command.push_back(std::move(path));
  for (const auto& [key, value] : ep.options) program.command.push_back(key + "=" + value);
  return program;
}

// The compiled model that both open: what precast stored.
std::string stored_model(const Settings& settings, const Ep& ep, const stdfs::path& model) {
  Program program = resolve(settings, ep, model, false);
  std::erase(program.command, "--json");
  std::erase(program.command, "--open");
  std::string text;
  std::string command;
  for (const auto& [name, value] : program.environment) command += name + "='" + value + "' ";
  for (const std::string& argument : program.command) command += "'" + argument + "' ";
  FILE* const pipe = ::popen((command + "2>/dev/null").c_str(), "r");
  char block[4096];
  while (pipe != nullptr && std::fgets(block, sizeof block, pipe) != nullptr) text += block;
  if (pipe == nullptr || ::pclose(pipe) != 0 || text.empty())
    throw std::runtime_error("precast could not compile " + model.native());
  text.pop_back();
  return text;
}

Source transformer(const Settings& settings, const std::string& label, std::int64_t layers, std::int64_t hidden) {
  model_generator::Options options;
  options.kind = model_generator::Kind::transformer;
  options.layers = layers;
  options.hidden = hidden;
  const stdfs::path folder = settings.folder / ("source-" + std::to_string(layers) + "x" + std::to_string(hidden));
  options.output = folder / "model.onnx";
  if (!stdfs::exists(options.output)) {
    stdfs::create_directories(folder);
    const auto made = model_generator::generate(options);
    if (!made) throw std::runtime_error(made.error().message);
  }
  return {label, options.output};
}

std::vector<Source> sources(const Settings& settings, const Ep& ep) {
  std::vector<Source> all{transformer(settings, "1 MB", 1, 128), transformer(settings, "100 MB", 4, 704)};
  if (settings.small) return all;
  all.push_back(transformer(settings, "340 MB", 12, 768));
  if (ep.alias == "openvino") all.push_back(transformer(settings, "1 GB", 20, 1024));
  return all;
}

void print_row(const std::string& ep, const std::string& label, const char* what, const Comparison& r, double memory) {
  std::printf("| %s | %s | %s | %.1f | %.1f | %.3f | %.3f-%.3f | %+.1f | %+.1f |\n", ep.c_str(), label.c_str(), what,
              r.theirs, r.ours, r.ratio, r.low, r.high, r.extra, memory);
  std::fflush(stdout);
}

void hits(const Settings& settings, const Ep& ep) {
  for (const Source& source : sources(settings, ep)) {
    const std::string model = stored_model(settings, ep, source.model);
    const Program ours = resolve(settings, ep, source.model, false);
    const Program theirs = minimal(settings, ep, "open", {model});
    std::vector<double> a, b, a_open, b_open, a_memory, b_memory;
    (void)run(ours);
    (void)run(theirs);
    for (int i = 0; i < settings.pairs; ++i) {
      // Who goes first alternates: the second of a pair finds warmer caches.
      Sample x = i % 2 == 0 ? run(ours) : Sample{};
      const Sample y = run(theirs);
      if (i % 2 != 0) x = run(ours);
      a.push_back(x.wall_ms);
      b.push_back(y.wall_ms);
      a_open.push_back(x.parts.at("session_open"));
      b_open.push_back(y.parts.at("open_ms"));
      a_memory.push_back(x.peak_mb);
      b_memory.push_back(y.peak_mb);
    }
    const double memory = median(a_memory) - median(b_memory);
    print_row(ep.alias, source.label, "whole process", compare(a, b), memory);
    print_row(ep.alias, source.label, "session alone", compare(a_open, b_open), memory);
  }
}

// Every run begins with the disk at rest: what the run before wrote must not be written back during this one.
void clear(const stdfs::path& folder) {
  stdfs::remove_all(folder);
  ::sync();
}

// A virtual machine gives pages that stay free for some seconds back to its host, and gets them again slowly (on the
// reference machine a 1 GB compile takes 1.4 s or 3.0 s by that alone). Whoever is measured finds them at hand.
void touch_free_memory() {
  constexpr std::size_t bytes = std::size_t{6} << 30U;
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory != MAP_FAILED) ::munmap(memory, bytes);
}

// A store that knows ORT and the EP, as after any earlier compile, and nothing of the source.
void make_store(const Settings& settings, const Ep& ep) {
  clear(settings.folder / "miss-store");
  Program warm = resolve(settings, ep, transformer(settings, "", 1, 64).model, false);
  warm.environment["PRECAST_CACHE_DIR"] = (settings.folder / "miss-store").native();
  (void)run(warm);
  ::sync();
}

void misses(const Settings& settings, const Ep& ep) {
  const stdfs::path output = settings.folder / "minimal-output";
  for (const Source& source : sources(settings, ep)) {
    Program miss = resolve(settings, ep, source.model, false);
    miss.environment["PRECAST_CACHE_DIR"] = (settings.folder / "miss-store").native();
    const Program alone = minimal(settings, ep, "compile", {source.model.native(), (output / "model.onnx").native()});
    std::vector<double> ours, budget, sync;
    const auto run_ours = [&] {
      make_store(settings, ep);
      touch_free_memory();
      const Sample x = run(miss);
      // From the request to the stored entry, without opening it again and without the disk's own time.
      ours.push_back(x.parts.at("total") - x.parts.at("session_open") - x.parts.at("sync"));
      sync.push_back(x.parts.at("sync"));
      clear(settings.folder / "miss-store");
    };
    const auto run_alone = [&] {
      clear(output);
      stdfs::create_directories(output);
      touch_free_memory();
      const Sample y = run(alone);
      budget.push_back(y.parts.at("compile_ms") + y.parts.at("open_ms") + y.parts.at("hash_ms"));
      clear(output);
    };
    for (int i = 0; i < settings.misses; ++i) {
      if (i % 2 == 0) run_ours();
      run_alone();
      if (i % 2 != 0) run_ours();
    }
    const double allowed = 1.10 * median(budget) + 150;
    std::printf("| %s | %s | %.0f | %.0f | %.0f | %.2f | %.0f |\n", ep.alias.c_str(), source.label.c_str(),
                median(budget), allowed, median(ours), median(ours) / allowed, median(sync));
    std::fflush(stdout);
  }
}

void together(const Settings& settings, const Ep& ep) {
  const Source source = sources(settings, ep)[1];
  const Program ours = resolve(settings, ep, source.model, false);
  const Program theirs = minimal(settings, ep, "open", {stored_model(settings, ep, source.model)});
  std::vector<double> a, b;
  for (int i = 0; i < settings.pairs; ++i) {
    if (i % 2 == 0) a.push_back(run_at_once(ours, 8));
    b.push_back(run_at_once(theirs, 8));
    if (i % 2 != 0) a.push_back(run_at_once(ours, 8));
  }
  const Comparison r = compare(a, b);
  std::printf("| %s | %s | %.1f | %.1f | %.3f | %.3f-%.3f |\n", ep.alias.c_str(), source.label.c_str(), r.theirs,
              r.ours, r.ratio, r.low, r.high);
}

void help(const Settings& settings) {
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(settings.pairs));
  for (int i = 0; i < settings.pairs; ++i) times.push_back(run({{(kBin / "precast").native(), "--help"}, {}}).wall_ms);
  std::printf("\n`precast --help`: median %.1f ms of %d runs\n", median(times), settings.pairs);
}

void everything(const Settings& settings) {
  stdfs::create_directories(settings.folder);
  const auto wanted = [&](const char* part) { return settings.only.empty() || settings.only == part; };
  std::printf(
      "Medians of %d interleaved pairs (hits) and %d runs (misses); interval: 95 %% bootstrap of the ratio.\n\n",
      settings.pairs, settings.misses);
  if (wanted("hits")) {
    std::printf(
        "Hit against a minimal C++ program that opens the same compiled model:\n\n"
        "| EP | source | part | ORT alone ms | precast ms | ratio | interval | extra ms | extra peak MB "
        "|\n|---|---|---|---|---|---|---|---|---|\n");
    for (const Ep& ep : {openvino(), qnn()}) hits(settings, ep);
  }
  if (wanted("together")) {
    std::printf(
        "\nEight hits at once against eight minimal programs at once:\n\n"
        "| EP | source | ORT alone ms | precast ms | ratio | interval |\n|---|---|---|---|---|---|\n");
    for (const Ep& ep : {openvino(), qnn()}) together(settings, ep);
  }
  if (wanted("misses")) {
    std::printf(
        "\nMiss of a source not seen before, until stored; ORT alone = compile + one open + SHA-256 of source and "
        "result; allowed = 1.10 x that + 150 ms:\n\n"
        "| EP | source | ORT alone ms | allowed ms | precast ms | of allowed | disk's own ms "
        "|\n|---|---|---|---|---|---|---|\n");
    for (const Ep& ep : {openvino(), qnn()}) misses(settings, ep);
  }
  help(settings);
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--pairs" && i + 1 < argc) {
      settings.pairs = std::atoi(argv[++i]);
    } else if (argument == "--misses" && i + 1 < argc) {
      settings.misses = std::atoi(argv[++i]);
    } else if (argument == "--small") {
      settings.small = true;
    } else if (argument == "--only" && i + 1 < argc) {
      settings.only = argv[++i];
      if (settings.only != "hits" && settings.only != "together" && settings.only != "misses")
        throw std::runtime_error("--only wants hits, together or misses, not " + settings.only);
    } else if (argument.starts_with("--")) {
      throw std::runtime_error("unknown option " + argument +
                               "; there are --pairs N, --misses N, --small, --only PART");
    } else {
      settings.folder = argument;
    }
  }
  if (settings.pairs < 1 || settings.misses < 1)
    throw std::runtime_error("--pairs and --misses want a positive number");
  return settings;
}

}  // namespace
}  // namespace precast::bench

int main(int argc, char** argv) {
  return precast::bench::run_to_end("precast-bench",
                                    [=] { precast::bench::everything(precast::bench::parse(argc, argv)); });
}
