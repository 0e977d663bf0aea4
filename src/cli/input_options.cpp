#include "cli/input_options.hpp"

#include <CLI/CLI.hpp>

#include "bench/shape_config.hpp"
#include "cli/validators.hpp"
#include "util/try.hpp"

namespace precast::cli {

void add_input_options(CLI::App& command, InputOptions& options) {
  command
      .add_option("--input-data", options.data,
                  "Inputs from FILE.npz, or a folder of NAME.npy or ONNX's input_0.pb, ...; else they are made up")
      ->type_name("FILE|DIR");
  command
      .add_option("--shape-config", options.shape_config,
                  "JSON: {\"input\": [1, 3, 224, 224], \"symbolic dimension\": 128}")
      ->type_name("FILE");
  command.add_option("--dim", options.dimensions, "Size of a symbolic dimension; may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME=N");
  command
      .add_option("--value-range", options.value_ranges,
                  "Made-up values of this input are in [LOW, HIGH); may be repeated")
      ->allow_extra_args(false)
      ->type_name("NAME=LOW:HIGH");
  command.add_option("--batch-size", options.batch, "Size of axis 0 where the model leaves it open")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 31))
      ->capture_default_str();
  command.add_option("--seed", options.seed, "The same seed gives the same inputs, anywhere")
      ->check(whole_number)
      ->capture_default_str();
}

Result<bench::InputSource> make_input_source(const InputOptions& options) {
  bench::InputSource source;
  source.data = options.data;
  const bool shaped = !options.shape_config.empty() || !options.dimensions.empty() || !options.value_ranges.empty() ||
                      options.batch != InputOptions().batch;
  if (!options.data.empty() && shaped) {
    return fail(ErrorCode::bad_input, "--input-data gives the inputs, so nothing is made up for them", {},
                "leave out --shape-config, --dim, --value-range and --batch-size");
  }
  source.wanted.seed = options.seed;
  source.wanted.batch = options.batch;
  if (!options.shape_config.empty()) PRECAST_TRY(bench::read_shape_config(options.shape_config, source.wanted));
  for (const std::string& text : options.dimensions) PRECAST_TRY(bench::add_dimension(text, source.wanted));
  for (const std::string& text : options.value_ranges) PRECAST_TRY(bench::add_value_range(text, source.wanted));
  return source;
}

}  // namespace precast::cli
