#include "model/reference_walk.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "util/text.hpp"

namespace precast::model {
namespace {

constexpr int kLongestName = 1 << 20;
constexpr std::size_t kSiteCost = 512;  // of the edits of one reference, beside its text

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>((value & 0x7FU) | 0x80U);
  bytes += static_cast<char>(value);
  return bytes;
}

}  // namespace

struct ReferenceWalk::Attribute {
  Field field;  // the attribute itself
  std::string name;
  std::int64_t i = 0;
  Field s_field;
  std::string s;  // only if no longer than a name may be
  int s_count = 0;
  std::int64_t growth = 0;  // of what stands in it
};

struct ReferenceWalk::Node {
  std::string op_type;
  std::string domain;
  bool embedded = true;  // the operator's default
  bool main = true;
  std::optional<Attribute> context;  // what it becomes is known only once the whole node is read
  int context_count = 0;
};

bool ReferenceWalk::run() {
  return in_.root([this](const Field& field) { return model_field(field); });
}

std::vector<Edit> ReferenceWalk::take_edits() {
  std::ranges::sort(edits_, {}, &Edit::offset);
  return std::move(edits_);
}

template <typename Handler>
bool ReferenceWalk::nested(const Field& field, std::int64_t& growth, Handler&& handle) {
  std::int64_t inside = 0;
  if (!in_.message(field, [&](const Field& inner) { return handle(inner, inside); })) return false;
  growth += resize(field, inside);
  return true;
}

bool ReferenceWalk::model_field(const Field& field) {
  if (field.number == 7) return graph(field, growth_);
  return field.number == 25 ? function(field, growth_) : in_.skip(field);
}

bool ReferenceWalk::graph(const Field& field, std::int64_t& growth) {
  return nested(field, growth, [this](const Field& inner, std::int64_t& inside) {
    return inner.number == 1 ? node(inner, inside) : in_.skip(inner);
  });
}

bool ReferenceWalk::function(const Field& field, std::int64_t& growth) {
  return nested(field, growth, [this](const Field& inner, std::int64_t& inside) {
    if (inner.number == 7) return node(inner, inside);
    Node nobody;  // attributes with a default value
    if (inner.number != 11) return in_.skip(inner);
    return attribute(inner, nobody, inside) && settle(nobody, inside);
  });
}

bool ReferenceWalk::node(const Field& field, std::int64_t& growth) {
  Node node;
  std::int64_t inside = 0;
  const bool whole = in_.message(field, [&](const Field& inner) {
    switch (inner.number) {
      case 4:
        return in_.text(inner, node.op_type, kLongestName);
      case 7:
        return in_.text(inner, node.domain, kLongestName);
      case 5:
        return attribute(inner, node, inside);
      default:
        return in_.skip(inner);
    }
  });
  if (!whole || !settle(node, inside)) return false;
  growth += resize(field, inside);
  return true;
}

bool ReferenceWalk::attribute(const Field& field, Node& node, std::int64_t& growth) {
  Attribute attribute;
  attribute.field = field;
  if (!in_.message(field, [&](const Field& inner) { return attribute_field(inner, attribute); })) return false;
  if (attribute.name != "ep_cache_context") {
    if (attribute.name == "embed_mode") node.embedded = attribute.i == 1;
    if (attribute.name == "main_context") node.main = attribute.i != 0;
    growth += resize(field, attribute.growth);
    return true;
  }
  if (node.context) growth += resize(node.context->field, node.context->growth);
  node.context = std::move(attribute);
  ++node.context_count;
  return true;
}

bool ReferenceWalk::attribute_field(const Field& field, Attribute& attribute) {
  switch (field.number) {
    case 1:
      return in_.text(field, attribute.name, kLongestName);
    case 3:
      return in_.integer(field, attribute.i);
    case 4:
      if (!field.delimited()) return in_.skip(field);
      ++attribute.s_count;
      attribute.s_field = field;
      attribute.s.clear();
      return field.length <= kLongestName ? in_.text(field, attribute.s, kLongestName) : in_.skip(field);
    case 6:
    case 11:
      return graph(field, attribute.growth);
    default:
      return in_.skip(field);
  }
}

bool ReferenceWalk::settle(Node& node, std::int64_t& growth) {
  if (node.op_type == "EPContext" && node.domain == "com.microsoft" && !node.embedded && !rename(node)) return false;
  if (node.context) growth += resize(node.context->field, node.context->growth);
  return true;
}

bool ReferenceWalk::rename(Node& node) {
  if (!node.context || node.context->s.empty()) {
    return !node.main || complain("a main EPContext node names no file");
  }
  Attribute& context = *node.context;
  const std::string shown = util::escape_to_line(context.s);
  if (node.context_count > 1 || context.s_count > 1) {
    return complain(fmt::format("an EPContext node names a file twice, at last '{}'", shown));
  }
  const auto found = names_.find(context.s);
  if (found == names_.end()) return complain(fmt::format("there is no new name for its reference '{}'", shown));
  if (found->second == context.s) return true;
  if (!in_.keep(context.s.size() + found->second.size() + kSiteCost)) return false;
  const Field& field = context.s_field;
  edits_.push_back(
      {static_cast<std::uint64_t>(field.payload_at), static_cast<std::uint64_t>(field.length), found->second});
  const auto growth = static_cast<std::int64_t>(found->second.size()) - field.length;
  context.growth += resize(field, growth);
  return true;
}

// A length that stays is left as it is written: it may have more bytes than it needs.
std::int64_t ReferenceWalk::resize(const Field& field, std::int64_t growth) {
  if (growth == 0) return 0;
  const auto old_size = static_cast<std::int64_t>(field.payload_at) - field.length_at;
  std::string length = varint(static_cast<std::uint64_t>(field.length + growth));
  growth += static_cast<std::int64_t>(length.size()) - old_size;
  edits_.push_back(
      {static_cast<std::uint64_t>(field.length_at), static_cast<std::uint64_t>(old_size), std::move(length)});
  return growth;
}

bool ReferenceWalk::complain(std::string text) {
  complaint_ = std::move(text);
  return false;
}

}  // namespace precast::model
