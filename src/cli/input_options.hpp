// What a model is fed with: the options that commands which run one share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/model_run.hpp"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own name
class App;
}

namespace precast::cli {

struct InputOptions {
  std::string data;
  std::string shape_config;
  std::vector<std::string> dimensions;
  std::vector<std::string> value_ranges;
  std::int64_t batch = 1;
  std::uint64_t seed = 0;
};

void add_input_options(CLI::App& command, InputOptions& options);
// bad_input: options for made-up inputs beside --input-data; what the bench layer says of each.
[[nodiscard]] Result<bench::InputSource> make_input_source(const InputOptions& options);

}  // namespace precast::cli
