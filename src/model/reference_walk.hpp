// The walk over a ModelProto that finds the references of its EPContext nodes, and says what to change in the file so
// that they become others: the references themselves and the lengths of all messages around them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/rewrite_references.hpp"
#include "model/wire_reader.hpp"

namespace precast::model {

// `size` bytes at `offset` become `bytes`.
struct Edit {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::string bytes;
};

class ReferenceWalk {
 public:
  ReferenceWalk(WireReader& in, const ReferenceNames& names) : in_(in), names_(names) {}

  // False: the reader's flaw() says why, or complaint() does.
  [[nodiscard]] bool run();
  [[nodiscard]] std::vector<Edit> take_edits();  // by offset; they do not overlap
  [[nodiscard]] std::int64_t growth() const { return growth_; }
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
  using Field = WireReader::Field;
  struct Attribute;
  struct Node;

  // `growth` is by how many bytes the message around grows.
  template <typename Handler>
  bool nested(const Field& field, std::int64_t& growth, Handler&& handle);
  bool model_field(const Field& field);
  bool graph(const Field& field, std::int64_t& growth);
  bool function(const Field& field, std::int64_t& growth);
  bool node(const Field& field, std::int64_t& growth);
  bool attribute(const Field& field, Node& node, std::int64_t& growth);
  bool attribute_field(const Field& field, Attribute& attribute);
  bool settle(Node& node, std::int64_t& growth);
  bool rename(Node& node);
  std::int64_t resize(const Field& field, std::int64_t growth);
  bool complain(std::string text);

  WireReader& in_;
  const ReferenceNames& names_;
  std::vector<Edit> edits_;
  std::int64_t growth_ = 0;
  std::string complaint_;
};

}  // namespace precast::model
