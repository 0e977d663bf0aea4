// The walk over a ModelProto (field numbers of onnx.proto): collects facts, skips payloads.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_set>

#include "model/model_facts.hpp"
#include "model/weight_use.hpp"
#include "model/wire_reader.hpp"

namespace precast::model {

class ModelWalk {
 public:
  explicit ModelWalk(WireReader& in) : in_(in) {}

  // False: the reader's flaw() says why, or complaint() does.
  [[nodiscard]] bool run();
  [[nodiscard]] ModelFacts take_facts();

  [[nodiscard]] bool saw_ir_version() const { return facts_.ir_version > 0; }
  [[nodiscard]] bool saw_graph() const { return saw_graph_; }
  [[nodiscard]] bool saw_opset() const { return !facts_.opsets.empty(); }
  // About a well-formed message that makes no sense, e.g. "tensor 'w' has the external data offset 'x'".
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
  using Field = WireReader::Field;
  struct Tensor;
  struct Attribute;
  struct Node;
  static constexpr int kLongestName = 1 << 20;
  static constexpr std::size_t kEntryCost = 128;          // of a container's element, beside its text
  enum class Scope : std::uint8_t { main_graph, inner };  // inner: a subgraph or a function

  bool model_field(const Field& field);
  bool graph_field(const Field& field, Scope scope);
  bool function_field(const Field& field);
  bool node(const Field& field);
  bool node_input(const Field& field, NodeUse& use);
  bool context_node(EpContextNode facts);
  bool attribute(const Field& field, Node& node);
  bool attribute_field(const Field& field, Attribute& attribute);
  bool tensor(const Field& field, Tensor& tensor);
  bool external_entry(const Field& field, Tensor& tensor);
  bool sparse_tensor(const Field& field, Tensor& values, Tensor& indices);
  bool initializer(const Field& field, Scope scope, bool sparse);
  bool finish(const Tensor& tensor);
  bool value_info(const Field& field, std::vector<ValueInfo>& into);
  bool type(const Field& field, ValueInfo& info);
  bool dimension(const Field& field, ValueInfo& info);
  bool opset(const Field& field);
  bool metadata(const Field& field);
  bool key_and_value(const Field& field, std::string& key, std::string& value);
  bool name(const Field& field, std::string& into);
  bool complain(std::string text);

  WireReader& in_;
  ModelFacts facts_;
  bool saw_graph_ = false;
  std::unordered_set<std::string> initializers_;  // of the main graph
  std::map<std::string, ExternalFile> external_;
  WeightUse weights_;
  std::string complaint_;
};

}  // namespace precast::model
