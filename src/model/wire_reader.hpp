// Protobuf's wire format, field by field, with the limits that hostile input needs. The first flaw stops the walk:
// every function then answers false.
#pragma once

#include <cstdint>
#include <string>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>

namespace precast::model {

enum class Flaw : std::uint8_t {
  none,
  truncated,  // the input ends inside a field
  malformed,  // not the wire format, or an inner length that leaves its message
  too_deep,   // messages nested past kMaxDepth
  long_text,  // one name, key or value past the caller's limit
  much_text,  // names, keys and values past kTextBudget in all
};

class WireReader {
 public:
  static constexpr int kMaxDepth = 100;  // protobuf's own default, hence ORT's
  static constexpr std::uint64_t kTextBudget = std::uint64_t{64} << 20U;

  // Exactly `size` bytes of `stream`, which must outlive the reader.
  WireReader(google::protobuf::io::ZeroCopyInputStream& stream, int size);

  struct Field {
    int number = 0;
    std::uint32_t tag = 0;
    int length = -1;     // -1: not length-delimited; else:
    int length_at = 0;   // where the length stands in the input
    int payload_at = 0;  // where the payload begins
    [[nodiscard]] bool delimited() const { return length >= 0; }
  };

  // Calls handle(const Field&) -> bool for each field of the outermost message; it consumes the field by one of the
  // functions below (skip if it does not want it). False: see flaw(), or the handler said false.
  template <typename Handler>
  bool root(Handler&& handle) {
    return fields(handle);
  }
  // The same for a field that is a message; one of another wire type is skipped, as protobuf does.
  template <typename Handler>
  bool message(const Field& field, Handler&& handle) {
    if (!field.delimited()) return skip(field);
    if (depth_ == kMaxDepth) return fail(Flaw::too_deep);
    const auto limit = input_.PushLimit(field.length);
    ++depth_;
    const bool whole = fields(handle);
    --depth_;
    input_.PopLimit(limit);
    return whole;
  }
  bool skip(const Field& field);
  bool text(const Field& field, std::string& into, int limit);
  bool integer(const Field& field, std::int64_t& into);
  // A repeated integer, packed or not: each(std::int64_t) for every value.
  template <typename Each>
  bool integers(const Field& field, Each&& each) {
    std::int64_t value = 0;
    if (!field.delimited()) {
      const bool varint = is_varint(field);
      if (!integer(field, value)) return false;
      if (varint) each(value);
      return true;
    }
    const auto limit = input_.PushLimit(field.length);
    bool whole = true;
    while (whole && input_.BytesUntilLimit() > 0) {
      whole = read_varint(value);
      if (whole) each(value);
    }
    input_.PopLimit(limit);
    return whole;
  }

  // Accounts for text that the caller keeps, so that memory does not follow the file's size.
  bool keep(std::size_t bytes);
  [[nodiscard]] Flaw flaw() const { return flaw_; }
  [[nodiscard]] int flaw_depth() const { return flaw_depth_; }  // 0 = in the outermost message

 private:
  template <typename Handler>
  bool fields(Handler& handle) {
    Field field;
    while (next(field)) {
      if (!handle(static_cast<const Field&>(field))) return false;
    }
    return flaw_ == Flaw::none;
  }
  bool next(Field& field);  // false at the end of the message, or at a flaw
  bool read_varint(std::int64_t& into);
  static bool is_varint(const Field& field);
  bool fail(Flaw flaw);
  bool fail_here();  // truncated at the end of the input, else malformed

  google::protobuf::io::CodedInputStream input_;
  int depth_ = 0;
  std::uint64_t kept_ = 0;
  Flaw flaw_ = Flaw::none;
  int flaw_depth_ = 0;
};

}  // namespace precast::model
