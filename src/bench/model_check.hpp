// How far a model's outputs are from those that they should be: ORT's CPU EP's on the source, and those that a folder
// of test data has beside its inputs.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bench/model_run.hpp"
#include "tensor/compare.hpp"

namespace precast::bench {

struct CheckedOutput {
  std::string name;
  tensor::Difference difference;
};

struct ModelCheck {
  std::vector<CheckedOutput> outputs;                    // against the CPU EP
  std::optional<std::filesystem::path> expected_source;  // the folder that has expected outputs
  std::vector<CheckedOutput> expected_outputs;           // against those
  std::vector<std::string> not_compared;                 // outputs that are no tensors
  [[nodiscard]] bool ok() const;
};

// unsupported: `source` is empty, for the model is compiled already.
[[nodiscard]] Result<void> require_source(const std::filesystem::path& source, const std::filesystem::path& model);

// What the outputs are compared with, made once for any number of targets.
class References {
 public:
  // `data`: InputSource::data; a folder with output_0.pb, ... gives the expected outputs, each compared by name (or
  // position, where it has none). unsupported: no output of the model is a tensor.
  [[nodiscard]] static Result<References> make(ort::Catalog& catalog, const std::filesystem::path& source,
                                               const ort::SessionSettings& settings, tensor::Tensors& inputs,
                                               const std::filesystem::path& data);
  [[nodiscard]] ModelCheck check(const std::vector<ort::Output>& outputs) const;

 private:
  std::vector<ort::Output> cpu_;
  std::optional<std::filesystem::path> expected_source_;
  std::vector<ort::Output> expected_;
  std::vector<std::string> not_compared_;
};

}  // namespace precast::bench
