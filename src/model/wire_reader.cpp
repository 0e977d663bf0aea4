#include "model/wire_reader.hpp"

#include <limits>

#include <google/protobuf/wire_format_lite.h>

namespace precast::model {

using google::protobuf::internal::WireFormatLite;

WireReader::WireReader(google::protobuf::io::ZeroCopyInputStream& stream, int size) : input_(&stream) {
  input_.SetTotalBytesLimit(std::numeric_limits<int>::max());
  input_.PushLimit(size);  // so that BytesUntilLimit() always says what is left
}

bool WireReader::next(Field& field) {
  if (flaw_ != Flaw::none) return false;
  field = Field{};
  field.tag = input_.ReadTag();
  if (field.tag == 0) {
    if (!input_.ConsumedEntireMessage()) fail_here();
    return false;
  }
  field.number = WireFormatLite::GetTagFieldNumber(field.tag);
  if (field.number == 0) return fail(Flaw::malformed);
  if (WireFormatLite::GetTagWireType(field.tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) return true;
  field.length_at = input_.CurrentPosition();
  if (!input_.ReadVarintSizeAsInt(&field.length)) return fail_here();
  field.payload_at = input_.CurrentPosition();
  if (field.length > input_.BytesUntilLimit()) return fail(depth_ == 0 ? Flaw::truncated : Flaw::malformed);
  return true;
}

bool WireReader::skip(const Field& field) {
  const bool whole = field.delimited() ? input_.Skip(field.length) : WireFormatLite::SkipField(&input_, field.tag);
  return whole || fail_here();
}

bool WireReader::text(const Field& field, std::string& into, int limit) {
  if (!field.delimited()) return skip(field);
  if (field.length > limit) return fail(Flaw::long_text);
  return input_.ReadString(&into, field.length) || fail_here();
}

bool WireReader::integer(const Field& field, std::int64_t& into) {
  return is_varint(field) ? read_varint(into) : skip(field);
}

bool WireReader::read_varint(std::int64_t& into) {
  std::uint64_t raw = 0;
  if (!input_.ReadVarint64(&raw)) return fail_here();
  into = static_cast<std::int64_t>(raw);
  return true;
}

bool WireReader::is_varint(const Field& field) {
  return WireFormatLite::GetTagWireType(field.tag) == WireFormatLite::WIRETYPE_VARINT;
}

bool WireReader::keep(std::size_t bytes) {
  kept_ += bytes;
  return kept_ <= kTextBudget || fail(Flaw::much_text);
}

bool WireReader::fail(Flaw flaw) {
  if (flaw_ == Flaw::none) {
    flaw_ = flaw;
    flaw_depth_ = depth_;
  }
  return false;
}

bool WireReader::fail_here() {
  return fail(depth_ == 0 && input_.BytesUntilLimit() <= 0 ? Flaw::truncated : Flaw::malformed);
}

}  // namespace precast::model
