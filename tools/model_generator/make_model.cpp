// precast-make-model: writes one seeded ONNX model for tests and benchmarks.
#include <exception>
#include <iostream>
#include <map>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "model_generator/model_generator.hpp"

namespace {

using precast::model_generator::Kind;
using precast::model_generator::Options;
using precast::model_generator::Separator;

constexpr const char* kKinds = R"(Kinds:
  tiny           MatMul -> Add -> Relu on float32 [1,8], about 1 KB
  dynamic        the same with a symbolic first dimension
  resnet50       ResNet-50's shape, float32 [1,3,224,224], 102 MB
  transformer    encoder layers, float32 [1,SEQ,HIDDEN]; 340 MB of external data unless told otherwise
  two-partition  MatMul -> separator -> MatMul: two partitions (fastgelu: on OpenVINO and QNN, shrink: QNN only)
  unsupported    no node that OpenVINO or QNN can run
  branch         dynamic, then an If whose branches need weights of the outer graph
  empty          tiny, with no elements left before the last node

Examples:
  precast-make-model tiny -o tiny.onnx --external
  precast-make-model transformer -o encoder.onnx
  precast-make-model transformer -o 1mb.onnx --hidden 64 --layers 5 --inline
  precast-make-model transformer -o 100mb.onnx --hidden 512 --layers 8 --external
  precast-make-model transformer -o 1gb.onnx --hidden 1024 --layers 20 --inline
  precast-make-model two-partition -o split.onnx --separator shrink

The same options and seed give the same bytes on every machine.)";

int run(int argc, char** argv) {
  Options options;
  std::string output;
  bool external = false;
  bool inlined = false;
  CLI::App app("Write a small or large ONNX model with seeded random weights.", "precast-make-model");
  app.footer(kKinds);
  const std::map<std::string, Kind> kinds = {{"tiny", Kind::tiny},
                                             {"dynamic", Kind::dynamic},
                                             {"resnet50", Kind::resnet50},
                                             {"transformer", Kind::transformer},
                                             {"two-partition", Kind::two_partition},
                                             {"unsupported", Kind::unsupported},
                                             {"branch", Kind::branch},
                                             {"empty", Kind::empty}};
  const std::map<std::string, Separator> separators = {{"fastgelu", Separator::fastgelu},
                                                       {"shrink", Separator::shrink}};
  std::string kind;
  std::string separator = "fastgelu";
  app.add_option("KIND", kind, "What to write (see below)")->required()->check(CLI::IsMember(kinds));
  app.add_option("-o,--output", output, "The .onnx file to write; an existing one is replaced")->required();
  app.add_option("--seed", options.seed, "Seed of all weights")->capture_default_str();
  CLI::Option* outside = app.add_flag("--external", external, "Put the weights into <stem>.data beside the model");
  app.add_flag("--inline", inlined, "Put the weights into the model")->excludes(outside);
  app.add_option("--name-op", options.op, "tiny, dynamic, empty: operator of the last node (one float input)")
      ->capture_default_str();
  app.add_option("--separator", separator, "two-partition: fastgelu or shrink")
      ->check(CLI::IsMember(separators))
      ->capture_default_str();
  app.add_option("--layers", options.layers, "transformer: layers")->capture_default_str();
  app.add_option("--hidden", options.hidden, "transformer: width")->capture_default_str();
  app.add_option("--heads", options.heads, "transformer: attention heads; 0 = one per 64 of width")
      ->capture_default_str();
  app.add_option("--seq", options.sequence, "transformer: sequence length")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  options.kind = kinds.at(kind);
  options.separator = separators.at(separator);
  options.output = output;
  if (external || inlined) options.external = external;

  const auto made = precast::model_generator::generate(options);
  if (!made) {
    std::cerr << "precast-make-model: " << made.error().message << '\n';
    if (!made.error().hint.empty()) std::cerr << "hint: " << made.error().hint << '\n';
    return made.error().code == precast::ErrorCode::bad_input ? 2 : 1;
  }
  std::cout << fmt::format("wrote {} ({} bytes)\n", made->model.string(), made->model_bytes);
  if (const auto& data = made->data)
    std::cout << fmt::format("wrote {} ({} bytes)\n", data->string(), made->data_bytes);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "precast-make-model: " << error.what() << '\n';
    return 1;
  }
}
