// Facts as text: a head line with the version, then one line per fact with fields separated by tabs, then "end".
//
//   precast-facts 2
//   model <ir_version> <node_count> <producer>
//   opset <domain> <version>
//   meta <key> <value>
//   in|out <name> <element_type> <has_shape> <dim>...
//   data <location> <first_tensor> <bytes_needed>
//   context <source> <embedded> <reference> <inline_bytes> <main> <sdk> <partition>
//   weights <element_type> <tensors> <elements>
//   precision <weight_precision>
//   end
//
// Inside a field, control characters and backslashes are \xNN, and so is every byte past ASCII when the field is not
// UTF-8: the text is always UTF-8, and what is read back equals what was written.
#include <array>
#include <charconv>
#include <concepts>
#include <functional>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "model/model_facts.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::model {
namespace {

constexpr std::string_view kHead = "precast-facts 2";

std::string escape(std::string_view text) {
  const bool utf8 = util::is_utf8(text);
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F || c == '\\' || (byte >= 0x80 && !utf8)) {
      escaped += fmt::format("\\x{:02x}", byte);
    } else {
      escaped += c;
    }
  }
  return escaped;
}

class Lines {
 public:
  template <typename... Fields>
  void add(std::string_view kind, const Fields&... fields) {
    text_ += kind;
    (field(fields), ...);
    text_ += '\n';
  }
  void add(const std::string& kind, const ValueInfo& info) {
    text_ += kind;
    field(info.name);
    field(info.element_type);
    field(info.has_shape);
    for (const std::string& dim : info.shape) field(dim);
    text_ += '\n';
  }
  std::string take() { return std::move(text_); }

 private:
  void field(const std::string& value) { text_ += '\t' + escape(value); }
  void field(std::integral auto value) { text_ += fmt::format("\t{:d}", value); }

  std::string text_;
};

// One line's fields, taken from the left; `ok` tells whether every one was there and made sense.
class Fields {
 public:
  explicit Fields(std::string_view line) : parts_(util::split(line, '\t')) {}

  void take(std::string& into) {
    const std::string_view part = next();
    into.clear();
    for (std::size_t i = 0; i < part.size(); ++i) {
      if (part[i] != '\\') {
        into += part[i];
        continue;
      }
      unsigned byte = 0;
      const std::string_view digits = part.substr(i + 1, 3);
      ok_ = ok_ && digits.size() == 3 && digits[0] == 'x' && util::is_hex(digits.substr(1), 2);
      if (!ok_) return;
      std::from_chars(digits.data() + 1, digits.data() + 3, byte, 16);  // cannot fail: two hex digits
      into += static_cast<char>(byte);
      i += 3;
    }
  }
  template <std::integral Number>
    requires(!std::same_as<Number, bool>)
  void take(Number& into) {
    const std::string_view part = next();
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), into);
    ok_ = ok_ && error == std::errc() && end == part.data() + part.size();
  }
  void take(bool& into) {
    const std::string_view part = next();
    ok_ = ok_ && (part == "0" || part == "1");
    into = part == "1";
  }
  template <typename... Rest>
  [[nodiscard]] bool all(Rest&... into) {
    (take(into), ...);
    return complete();
  }
  [[nodiscard]] std::string_view next() {
    if (position_ == parts_.size()) {
      ok_ = false;
      return {};
    }
    return parts_[position_++];
  }
  [[nodiscard]] bool more() const { return position_ < parts_.size(); }
  [[nodiscard]] bool complete() const { return ok_ && !more(); }

 private:
  std::vector<std::string> parts_;
  std::size_t position_ = 0;
  bool ok_ = true;
};

bool read_value(Fields& fields, std::vector<ValueInfo>& into) {
  ValueInfo& info = into.emplace_back();
  fields.take(info.name);
  fields.take(info.element_type);
  fields.take(info.has_shape);
  while (fields.more()) fields.take(info.shape.emplace_back());
  return fields.complete();
}

bool read_line(std::string_view line, ModelFacts& facts) {
  Fields fields(line);
  const std::string kind(fields.next());
  if (kind == "model") return fields.all(facts.ir_version, facts.node_count, facts.producer);
  if (kind == "opset") {
    std::string domain;
    std::int64_t version = 0;
    return fields.all(domain, version) && facts.opsets.emplace(domain, version).second;
  }
  if (kind == "meta") {
    std::string key;
    std::string value;
    return fields.all(key, value) && facts.metadata.emplace(key, value).second;
  }
  if (kind == "in") return read_value(fields, facts.inputs);
  if (kind == "out") return read_value(fields, facts.outputs);
  if (kind == "data") {
    ExternalFile& file = facts.external_files.emplace_back();
    return fields.all(file.location, file.first_tensor, file.bytes_needed);
  }
  if (kind == "context") {
    EpContextNode& node = facts.ep_context_nodes.emplace_back();
    return fields.all(node.source, node.embedded, node.reference, node.inline_bytes, node.main, node.sdk,
                      node.partition_name);
  }
  if (kind == "weights") {
    StoredWeights& weights = facts.stored_weights.emplace_back();
    return fields.all(weights.element_type, weights.tensors, weights.elements);
  }
  if (kind == "precision") return fields.all(facts.weight_precision);
  return false;
}

std::unexpected<Error> corrupt(std::string message) {
  return fail(ErrorCode::corrupt, std::move(message), {}, "read the model again");
}

}  // namespace

std::string serialize_facts(const ModelFacts& facts) {
  Lines lines;
  lines.add(kHead);
  lines.add("model", facts.ir_version, facts.node_count, facts.producer);
  for (const auto& [domain, version] : facts.opsets) lines.add("opset", domain, version);
  for (const auto& [key, value] : facts.metadata) lines.add("meta", key, value);
  for (const ValueInfo& info : facts.inputs) lines.add("in", info);
  for (const ValueInfo& info : facts.outputs) lines.add("out", info);
  for (const ExternalFile& file : facts.external_files) {
    lines.add("data", file.location, file.first_tensor, file.bytes_needed);
  }
  for (const EpContextNode& node : facts.ep_context_nodes) {
    lines.add("context", node.source, node.embedded, node.reference, node.inline_bytes, node.main, node.sdk,
              node.partition_name);
  }
  for (const StoredWeights& one : facts.stored_weights) {
    lines.add("weights", one.element_type, one.tensors, one.elements);
  }
  lines.add("precision", facts.weight_precision);
  lines.add("end");
  return lines.take();
}

Result<ModelFacts> parse_facts(std::string_view text) {
  const std::vector<std::string> lines = util::split(text, '\n');
  if (lines.front() != kHead) {
    return corrupt(fmt::format("remembered model facts begin with '{}', not with '{}'",
                               util::escape_invalid_utf8(lines.front().substr(0, 40)), kHead));
  }
  // "end" and the newline after it: a text that was cut off anywhere lacks one of them.
  if (lines.size() < 4 || !lines.back().empty() || lines[lines.size() - 2] != "end" ||
      !lines[1].starts_with("model\t")) {
    return corrupt("remembered model facts are incomplete");
  }
  ModelFacts facts;
  for (std::size_t i = 1; i + 2 < lines.size(); ++i) {
    if (!read_line(lines[i], facts)) {
      return corrupt(fmt::format("line {} of the remembered model facts makes no sense", i + 1));
    }
  }
  return facts;
}

}  // namespace precast::model
