// Collects a graph whose large weights exist only as a recipe until they are written.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/onnx.pb.h"

namespace precast::model_generator {

// A float32 initialiser: `fill` everywhere, or uniform in [-bound, bound] from (seed, name) when bound > 0.
struct Weight {
  std::string name;
  std::vector<std::int64_t> dims;
  float fill = 0.0F;
  float bound = 0.0F;
  [[nodiscard]] std::uint64_t elements() const;
  [[nodiscard]] std::uint64_t bytes() const { return elements() * sizeof(float); }
};

// Writes elements [first, first + into.size()) of a weight in turn: SplitMix64 seeded by the model's seed and the
// tensor's name, so that a tensor does not depend on its neighbours. Only exact operations and one rounding, hence the
// same bits on every machine.
class WeightStream {
 public:
  WeightStream(const Weight& weight, std::uint64_t seed);
  void next(std::span<float> into);

 private:
  std::uint64_t state_;
  float fill_;
  float bound_;
};

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string_view name);

  // Dimensions: positive numbers, or 0 for the symbolic dimension "batch".
  std::string input(const std::string& name, std::span<const std::int64_t> dims);
  void output(const std::string& name, std::span<const std::int64_t> dims);

  // Standard deviation of a uniform distribution; returns the name.
  std::string random(const std::string& name, std::vector<std::int64_t> dims, double deviation);
  std::string filled(const std::string& name, std::vector<std::int64_t> dims, float value);
  std::string scalar(const std::string& name, float value);                             // always inline
  std::string integers(const std::string& name, std::span<const std::int64_t> values);  // always inline

  // Adds a node called `name` with the output `<name>_out`; the caller may add attributes to node().
  std::string add(const std::string& op, const std::string& name, std::span<const std::string> inputs);
  std::string add(const std::string& op, const std::string& name, std::initializer_list<std::string> inputs) {
    return add(op, name, std::span<const std::string>(inputs.begin(), inputs.size()));
  }
  onnx::NodeProto& node() { return *last_; }
  void attribute(const std::string& name, std::int64_t value);  // of the last node
  void attribute(const std::string& name, float value);
  void attribute(const std::string& name, std::span<const std::int64_t> values);
  void domain(const std::string& domain, std::int64_t version);         // of the last node; imported once
  void import_domain(const std::string& domain, std::int64_t version);  // for nodes of subgraphs; once

  [[nodiscard]] const onnx::ModelProto& model() const { return model_; }
  [[nodiscard]] const std::vector<Weight>& weights() const { return weights_; }

 private:
  void value_info(onnx::ValueInfoProto& info, const std::string& name, std::span<const std::int64_t> dims);

  onnx::ModelProto model_;
  onnx::NodeProto* last_ = nullptr;
  std::vector<Weight> weights_;
};

}  // namespace precast::model_generator
