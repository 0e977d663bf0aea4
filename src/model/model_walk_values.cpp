// ModelWalk: inputs and outputs, opsets, metadata.
#include <fmt/format.h>

#include "model/model_walk.hpp"
#include "util/text.hpp"

namespace precast::model {
namespace {

constexpr int kLongestMetadata = 16 << 20;
constexpr std::size_t kMostDimensions = 1024;

}  // namespace

bool ModelWalk::value_info(const Field& field, std::vector<ValueInfo>& into) {
  ValueInfo info;
  const bool whole = in_.message(field, [&](const Field& inner) {
    if (inner.number == 1) return name(inner, info.name);
    return inner.number == 2 ? type(inner, info) : in_.skip(inner);
  });
  if (!whole || !in_.keep(info.name.size() + kEntryCost)) return false;
  into.push_back(std::move(info));
  return true;
}

// TypeProto; only a dense tensor has an element type and a shape here.
bool ModelWalk::type(const Field& field, ValueInfo& info) {
  return in_.message(field, [&](const Field& kind) {
    if (kind.number != 1) return in_.skip(kind);
    return in_.message(kind, [&](const Field& inner) {
      if (inner.number == 1) {
        std::int64_t element_type = 0;
        if (!in_.integer(inner, element_type)) return false;
        info.element_type = static_cast<std::int32_t>(element_type);
        return true;
      }
      if (inner.number != 2) return in_.skip(inner);
      info.has_shape = info.has_shape || inner.delimited();
      return in_.message(inner,
                         [&](const Field& dim) { return dim.number == 1 ? dimension(dim, info) : in_.skip(dim); });
    });
  });
}

bool ModelWalk::dimension(const Field& field, ValueInfo& info) {
  std::string text;
  const bool whole = in_.message(field, [&](const Field& inner) {
    if (inner.number == 2) return name(inner, text);
    if (inner.number != 1) return in_.skip(inner);
    std::int64_t value = 0;
    if (!in_.integer(inner, value)) return false;
    text = value >= 0 ? std::to_string(value) : std::string();
    return true;
  });
  if (text.empty()) text.push_back('?');
  if (!whole || !in_.keep(text.size() + kEntryCost)) return false;
  if (info.shape.size() == kMostDimensions) {
    return complain(
        fmt::format("'{}' has more than {} dimensions", util::escape_invalid_utf8(info.name), kMostDimensions));
  }
  info.shape.push_back(std::move(text));
  return true;
}

bool ModelWalk::opset(const Field& field) {
  std::string domain;
  std::int64_t version = 0;
  const bool whole = in_.message(field, [&](const Field& inner) {
    if (inner.number == 1) return name(inner, domain);
    return inner.number == 2 ? in_.integer(inner, version) : in_.skip(inner);
  });
  if (!whole || !in_.keep(domain.size() + kEntryCost)) return false;
  if (domain == "ai.onnx") domain.clear();
  facts_.opsets.insert_or_assign(std::move(domain), version);
  return true;
}

bool ModelWalk::metadata(const Field& field) {
  std::string key;
  std::string value;
  if (!key_and_value(field, key, value) || !in_.keep(key.size() + value.size() + kEntryCost)) return false;
  facts_.metadata.insert_or_assign(std::move(key), std::move(value));
  return true;
}

bool ModelWalk::key_and_value(const Field& field, std::string& key, std::string& value) {
  return in_.message(field, [&](const Field& inner) {
    if (inner.number == 1) return name(inner, key);
    return inner.number == 2 ? in_.text(inner, value, kLongestMetadata) : in_.skip(inner);
  });
}

}  // namespace precast::model
