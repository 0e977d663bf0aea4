#include "bench/tensor_fields.hpp"

#include <limits>

#include "model/wire_reader.hpp"
#include "util/text.hpp"

namespace precast::bench {
namespace {

using Field = model::WireReader::Field;

constexpr int kLongestName = 1 << 16;
constexpr int kAnyLength = std::numeric_limits<int>::max();
constexpr std::int64_t kExternal = 1;  // TensorProto.DataLocation

class FieldsReader {
 public:
  explicit FieldsReader(model::WireReader& wire) : wire_(wire) {}

  bool run() {
    return wire_.root([this](const Field& field) { return take(field); });
  }
  TensorFields fields;
  std::string complaint;

 private:
  bool take(const Field& field);
  bool take_type(const Field& field);
  bool take_name(const Field& field);
  bool take_raw(const Field& field);
  bool take_string(const Field& field);
  bool take_location(const Field& field);
  bool packed(const Field& field, std::string& into);
  bool integers(const Field& field, std::vector<std::int64_t>& into) {
    return wire_.integers(field, [&](std::int64_t value) { into.push_back(value); });
  }

  model::WireReader& wire_;
};

bool FieldsReader::take(const Field& field) {
  switch (field.number) {
    case 1:
      return integers(field, fields.shape);
    case 2:
      return take_type(field);
    case 3:
      fields.segment = true;
      return wire_.skip(field);
    case 4:
      return packed(field, fields.float_data);
    case 5:
      return integers(field, fields.int32_data);
    case 6:
      return take_string(field);
    case 7:
      return integers(field, fields.int64_data);
    case 8:
      return take_name(field);
    case 9:
      return take_raw(field);
    case 10:
      return packed(field, fields.double_data);
    case 11:
      return integers(field, fields.uint64_data);
    case 13:
      fields.external = true;
      return wire_.skip(field);
    case 14:
      return take_location(field);
    default:
      return wire_.skip(field);
  }
}

bool FieldsReader::take_type(const Field& field) {
  std::int64_t type = 0;
  if (!wire_.integer(field, type)) return false;
  fields.element_type = type > 0 && type <= std::numeric_limits<std::int32_t>::max() ? static_cast<int>(type) : 0;
  return true;
}

bool FieldsReader::take_name(const Field& field) {
  if (!wire_.text(field, fields.name, kLongestName)) return false;
  if (util::is_utf8(fields.name)) return true;
  complaint = "is not an ONNX tensor (TensorProto): its name is not UTF-8";
  return false;
}

bool FieldsReader::take_raw(const Field& field) {
  std::string raw;
  if (!wire_.text(field, raw, kAnyLength)) return false;
  if (field.delimited()) fields.raw = std::move(raw);
  return true;
}

bool FieldsReader::take_string(const Field& field) {
  std::string text;
  if (!wire_.text(field, text, kAnyLength)) return false;
  if (field.delimited()) fields.strings.push_back(std::move(text));
  return true;
}

bool FieldsReader::take_location(const Field& field) {
  std::int64_t location = 0;
  if (!wire_.integer(field, location)) return false;
  fields.external = fields.external || location == kExternal;
  return true;
}

// Every writer packs them, as onnx.proto asks.
bool FieldsReader::packed(const Field& field, std::string& into) {
  if (!field.delimited()) {
    complaint = "has floats that are not packed, as onnx.proto wants them";
    return false;
  }
  std::string part;
  if (!wire_.text(field, part, kAnyLength)) return false;
  into += part;
  return true;
}

std::unexpected<Error> refuse(const FieldsReader& reader, model::Flaw flaw, const Place& place) {
  if (!reader.complaint.empty()) return damaged(place, reader.complaint);
  if (flaw == model::Flaw::truncated) return damaged(place, "is cut off, or not an ONNX tensor (TensorProto)");
  if (flaw == model::Flaw::long_text) return damaged(place, "is not an ONNX tensor: its name is longer than 64 KiB");
  return damaged(place, "is not an ONNX tensor (TensorProto), or is damaged");
}

}  // namespace

Result<TensorFields> read_tensor_fields(google::protobuf::io::ZeroCopyInputStream& stream, int size,
                                        const Place& place) {
  model::WireReader wire(stream, size);
  FieldsReader reader(wire);
  if (!reader.run()) return refuse(reader, wire.flaw(), place);
  return std::move(reader.fields);
}

}  // namespace precast::bench
