#include "model/model_walk.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "model/dtype.hpp"
#include "util/text.hpp"

namespace precast::model {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> to_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

// Messages that protobuf merges when a singular field occurs twice are collected first and judged at the end.
struct ModelWalk::Tensor {
  std::string name;
  std::int64_t data_type = 0;
  std::int64_t data_location = 0;  // 1 = EXTERNAL
  std::string location;
  std::string offset;
  std::string length;
  std::optional<std::uint64_t> elements = 1;  // nothing: negative or past 64 bits

  void add_dimension(std::int64_t value) {
    if (!elements) return;
    const auto count = static_cast<std::uint64_t>(value);
    const bool fits = value >= 0 && (count == 0 || *elements <= kMost / count);
    elements = fits ? std::optional(*elements * count) : std::nullopt;
  }
  // What the shape and the type say.
  [[nodiscard]] std::optional<std::uint64_t> bytes() const {
    const std::uint64_t bits = element_bits(static_cast<std::int32_t>(data_type));
    if (!elements || bits == 0 || *elements > kMost / bits - 8) return std::nullopt;
    return (*elements * bits + 7) / 8;
  }
};

struct ModelWalk::Attribute {
  std::string name;
  std::int64_t i = 0;
  std::string s;               // only if no longer than a name may be
  std::uint64_t s_length = 0;  // always
  Tensor t;
  Tensor sparse_values;
  Tensor sparse_indices;
};

struct ModelWalk::Node {
  std::string op_type;
  std::string domain;
  EpContextNode facts;
  NodeUse use;

  Node() { facts.embedded = true; }  // the operator's default for embed_mode

  void take(Attribute& attribute) {
    if (attribute.name == "source") {
      facts.source = std::move(attribute.s);
    } else if (attribute.name == "ep_sdk_version") {
      facts.sdk = std::move(attribute.s);
    } else if (attribute.name == "partition_name") {
      facts.partition_name = std::move(attribute.s);
    } else if (attribute.name == "embed_mode") {
      facts.embedded = attribute.i == 1;
    } else if (attribute.name == "main_context") {
      facts.main = attribute.i != 0;
    } else if (attribute.name == "ep_cache_context") {
      facts.reference = std::move(attribute.s);
      facts.inline_bytes = attribute.s_length;
    } else if (attribute.name == "bits") {
      use.bits = attribute.i;
    } else if (attribute.name == "output_dtype") {
      use.output_type = attribute.i;
    } else if (attribute.name == "value") {
      use.constant_type = static_cast<std::int32_t>(attribute.t.data_type);
      use.constant_elements = attribute.t.elements.value_or(0);
    }
  }
};

bool ModelWalk::run() {
  return in_.root([this](const Field& field) { return model_field(field); });
}

ModelFacts ModelWalk::take_facts() {
  std::erase_if(facts_.inputs, [this](const ValueInfo& info) { return initializers_.contains(info.name); });
  for (auto& [location, file] : external_) facts_.external_files.push_back(std::move(file));
  facts_.stored_weights = weights_.stored();
  facts_.weight_precision = weights_.precision();
  return std::move(facts_);
}

bool ModelWalk::model_field(const Field& field) {
  if (field.number == 1) return in_.integer(field, facts_.ir_version);
  if (!field.delimited()) return in_.skip(field);  // of a wrong wire type: to protobuf an unknown field
  switch (field.number) {
    case 2:
      return name(field, facts_.producer);
    case 7:
      saw_graph_ = true;
      return in_.message(field, [this](const Field& inner) { return graph_field(inner, Scope::main_graph); });
    case 8:
      return opset(field);
    case 14:
      return metadata(field);
    case 25:
      return in_.message(field, [this](const Field& inner) { return function_field(inner); });
    default:
      return in_.skip(field);  // among them training_info, which ORT does not read either
  }
}

bool ModelWalk::graph_field(const Field& field, Scope scope) {
  if (!field.delimited()) return in_.skip(field);
  const bool main_graph = scope == Scope::main_graph;
  switch (field.number) {
    case 1:
      if (main_graph) ++facts_.node_count;
      return node(field);
    case 5:
      return initializer(field, scope, false);
    case 15:
      return initializer(field, scope, true);
    case 11:
      return main_graph ? value_info(field, facts_.inputs) : in_.skip(field);
    case 12:
      return main_graph ? value_info(field, facts_.outputs) : in_.skip(field);
    default:
      return in_.skip(field);
  }
}

bool ModelWalk::function_field(const Field& field) {
  if (field.number == 7) return node(field);
  Node nobody;
  return field.number == 11 ? attribute(field, nobody) : in_.skip(field);
}

bool ModelWalk::node(const Field& field) {
  Node node;
  const bool whole = in_.message(field, [&](const Field& inner) {
    switch (inner.number) {
      case 1:
        return node_input(inner, node.use);
      case 2:
        return node.use.output.empty() ? name(inner, node.use.output) : in_.skip(inner);
      case 4:
        return name(inner, node.op_type);
      case 7:
        return name(inner, node.domain);
      case 5:
        return attribute(inner, node);
      default:
        return in_.skip(inner);
    }
  });
  if (!whole || !in_.keep(weights_.add_node(node.op_type, node.domain, node.use))) return false;
  return node.op_type != "EPContext" || node.domain != "com.microsoft" || context_node(std::move(node.facts));
}

bool ModelWalk::node_input(const Field& field, NodeUse& use) {
  if (use.input_count == NodeUse::kInputs) return in_.skip(field);
  return name(field, use.inputs.at(use.input_count++));
}

bool ModelWalk::context_node(EpContextNode facts) {
  if (facts.embedded) {
    facts.reference.clear();
  } else {
    if (facts.inline_bytes > static_cast<std::uint64_t>(kLongestName)) {
      return complain(fmt::format("an EPContext node of '{}' has a file reference of {} bytes",
                                  util::escape_invalid_utf8(facts.source), facts.inline_bytes));
    }
    facts.inline_bytes = 0;
  }
  const std::size_t text =
      facts.source.size() + facts.reference.size() + facts.sdk.size() + facts.partition_name.size();
  if (!in_.keep(text + kEntryCost)) return false;
  facts_.ep_context_nodes.push_back(std::move(facts));
  return true;
}

bool ModelWalk::attribute(const Field& field, Node& node) {
  Attribute attribute;
  const auto each = [&](const Field& inner) { return attribute_field(inner, attribute); };
  if (!in_.message(field, each)) return false;
  if (!finish(attribute.t) || !finish(attribute.sparse_values) || !finish(attribute.sparse_indices)) return false;
  node.take(attribute);
  return true;
}

bool ModelWalk::attribute_field(const Field& field, Attribute& attribute) {
  switch (field.number) {
    case 1:
      return name(field, attribute.name);
    case 3:
      return in_.integer(field, attribute.i);
    case 4:
      if (!field.delimited()) return in_.skip(field);
      attribute.s_length = static_cast<std::uint64_t>(field.length);
      attribute.s.clear();
      return field.length <= kLongestName ? name(field, attribute.s) : in_.skip(field);
    case 5:
      return tensor(field, attribute.t);
    case 10: {
      Tensor one;
      return tensor(field, one) && finish(one);
    }
    case 6:
    case 11:
      return in_.message(field, [this](const Field& inner) { return graph_field(inner, Scope::inner); });
    case 22:
      return sparse_tensor(field, attribute.sparse_values, attribute.sparse_indices);
    case 23: {
      Tensor values;
      Tensor indices;
      return sparse_tensor(field, values, indices) && finish(values) && finish(indices);
    }
    default:
      return in_.skip(field);
  }
}

bool ModelWalk::tensor(const Field& field, Tensor& tensor) {
  return in_.message(field, [&](const Field& inner) {
    switch (inner.number) {
      case 1:
        return in_.integers(inner, [&](std::int64_t value) { tensor.add_dimension(value); });
      case 2:
        return in_.integer(inner, tensor.data_type);
      case 8:
        return name(inner, tensor.name);
      case 13:
        return external_entry(inner, tensor);
      case 14:
        return in_.integer(inner, tensor.data_location);
      default:
        return in_.skip(inner);
    }
  });
}

bool ModelWalk::external_entry(const Field& field, Tensor& tensor) {
  std::string key;
  std::string value;
  if (!key_and_value(field, key, value)) return false;
  if (key == "location") {
    tensor.location = std::move(value);
  } else if (key == "offset") {
    tensor.offset = std::move(value);
  } else if (key == "length") {
    tensor.length = std::move(value);
  }
  return true;
}

bool ModelWalk::sparse_tensor(const Field& field, Tensor& values, Tensor& indices) {
  return in_.message(field, [&](const Field& inner) {
    if (inner.number == 1) return tensor(inner, values);
    return inner.number == 2 ? tensor(inner, indices) : in_.skip(inner);
  });
}

bool ModelWalk::initializer(const Field& field, Scope scope, bool sparse) {
  Tensor values;
  Tensor indices;
  if (!(sparse ? sparse_tensor(field, values, indices) : tensor(field, values))) return false;
  if (!finish(values) || !finish(indices)) return false;
  const auto type = static_cast<std::int32_t>(values.data_type);
  if (!in_.keep(weights_.add_tensor(values.name, type, values.elements.value_or(0)))) return false;
  if (scope != Scope::main_graph) return true;
  if (!in_.keep(values.name.size() + kEntryCost)) return false;
  initializers_.insert(std::move(values.name));
  return true;
}

bool ModelWalk::finish(const Tensor& tensor) {
  if (tensor.data_location != 1) return true;
  const auto complain_of = [&](std::string_view key, const std::string& value) {
    return complain(fmt::format("tensor '{}' has the external data {} '{}', which is no number",
                                util::escape_invalid_utf8(tensor.name), key, util::escape_invalid_utf8(value)));
  };
  std::uint64_t offset = 0;
  if (!tensor.offset.empty()) {
    const auto number = to_number(tensor.offset);
    if (!number) return complain_of("offset", tensor.offset);
    offset = *number;
  }
  std::optional<std::uint64_t> length = tensor.bytes();
  if (!tensor.length.empty()) {
    length = to_number(tensor.length);
    if (!length) return complain_of("length", tensor.length);
  }
  if (length.value_or(0) > kMost - offset) {
    return complain(fmt::format("tensor '{}' has external data past 2^64 bytes (offset {}, length {})",
                                util::escape_invalid_utf8(tensor.name), offset, length.value_or(0)));
  }
  const auto [entry, fresh] = external_.try_emplace(tensor.location);
  ExternalFile& file = entry->second;
  if (fresh) {
    if (!in_.keep(2 * tensor.location.size() + tensor.name.size() + kEntryCost)) return false;
    file.location = tensor.location;
    file.first_tensor = tensor.name;
  }
  file.bytes_needed = std::max(file.bytes_needed, offset + length.value_or(0));
  return true;
}

bool ModelWalk::name(const Field& field, std::string& into) {
  return in_.text(field, into, kLongestName);
}

bool ModelWalk::complain(std::string text) {
  complaint_ = std::move(text);
  return false;
}

}  // namespace precast::model
