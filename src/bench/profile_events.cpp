#include "bench/profile_events.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/source.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::bench {
namespace {

using PlainJson = nlohmann::json;
constexpr const char* kMeasureAgain = "free some space where TMPDIR points (or /tmp), and measure again";

// The parser takes iterators and knows no errors of reading: one ends the text, and is kept.
class Bytes {
 public:
  explicit Bytes(ByteSource& source) : source_(source) { fill(); }
  [[nodiscard]] bool at_end() const { return next_ == filled_; }
  [[nodiscard]] const char& current() const { return block_[next_]; }
  void advance() {
    if (++next_ == filled_) fill();
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  void fill() {
    next_ = filled_ = 0;
    auto got = source_.read(std::as_writable_bytes(std::span(block_)));
    if (got) {
      filled_ = *got;
    } else {
      error_ = std::move(got).error();
    }
  }

  ByteSource& source_;
  std::array<char, std::size_t{1} << 16U> block_{};
  std::size_t next_ = 0;
  std::size_t filled_ = 0;
  std::optional<Error> error_;
};

class ByteIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  ByteIterator() = default;  // the end
  explicit ByteIterator(Bytes& bytes) : bytes_(&bytes) {}
  reference operator*() const { return bytes_->current(); }
  ByteIterator& operator++() {
    bytes_->advance();
    return *this;
  }
  ByteIterator operator++(int) {
    ByteIterator before = *this;
    ++*this;
    return before;
  }
  // Only ever compared with the end.
  friend bool operator==(const ByteIterator& a, const ByteIterator& b) { return a.ended() == b.ended(); }

 private:
  [[nodiscard]] bool ended() const { return bytes_ == nullptr || bytes_->at_end(); }
  Bytes* bytes_ = nullptr;
};

// ORT writes some of its numbers as text.
std::optional<double> to_number(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<double> not_negative(std::optional<double> number) {
  return number && *number >= 0 ? number : std::nullopt;
}

class Handler final : public nlohmann::json_sax<PlainJson> {
 public:
  explicit Handler(const std::function<void(ProfileEvent&)>& take) : take_(take) {}

  bool null() override { return in_array(); }
  bool boolean(bool /*value*/) override { return in_array(); }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return number(value); }
  bool binary(binary_t& /*value*/) override { return in_array(); }

  bool string(string_t& value) override {
    if (depth_ == kInArgs && in_args_) {
      take_argument(value);
    } else if (depth_ == kInEvent && in_event_) {
      if (key_ == "cat")
        event_.category = std::move(value);
      else if (key_ == "name")
        event_.name = std::move(value);
      else
        take_number(to_number(value));
    }
    return in_array();
  }

  bool start_object(std::size_t /*elements*/) override {
    if (!in_array()) return false;
    ++depth_;
    if (depth_ == kInEvent) {
      event_ = {};
      in_event_ = true;
    } else if (depth_ == kInArgs) {
      in_args_ = in_event_ && key_ == "args";
    }
    return true;
  }
  bool key(string_t& name) override {
    if (depth_ == kInEvent || depth_ == kInArgs) key_ = std::move(name);
    return true;
  }
  bool end_object() override {
    if (depth_ == kInEvent && in_event_) {
      take_(event_);
      in_event_ = false;
    } else if (depth_ == kInArgs) {
      in_args_ = false;
    }
    --depth_;
    return true;
  }
  bool start_array(std::size_t /*elements*/) override {
    ++depth_;
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/, const PlainJson::exception& /*error*/) override {
    broken_at_ = position;
    return false;
  }

  // Where the text ceased to be JSON; nullopt: it is JSON, but no array.
  [[nodiscard]] std::optional<std::size_t> broken_at() const { return broken_at_; }

 private:
  static constexpr std::size_t kInEvent = 2;
  static constexpr std::size_t kInArgs = 3;

  [[nodiscard]] bool in_array() const { return depth_ > 0; }

  bool number(double value) {
    if (depth_ == kInEvent && in_event_) take_number(value);
    return in_array();
  }
  void take_number(std::optional<double> value) {
    if (key_ == "ts") event_.begin_us = value;
    if (key_ == "dur") event_.duration_us = not_negative(value);
    if (key_ == "tid" && value) event_.thread = to_id(*value);
  }
  static std::optional<std::int64_t> to_id(double value) {
    constexpr double limit = 9e15;  // whole numbers beyond are not told apart
    return std::abs(value) < limit ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
  }
  void take_argument(std::string& value) {
    if (key_ == "op_name" || key_ == "ov_node_type")
      event_.op_type = std::move(value);
    else if (key_ == "provider" || key_ == "ep")
      event_.provider = std::move(value);
    else if (key_ == "dropped_event_count")
      event_.dropped_events = not_negative(to_number(value));
  }

  const std::function<void(ProfileEvent&)>& take_;
  ProfileEvent event_;
  std::string key_;
  std::size_t depth_ = 0;  // of arrays and objects that are open
  bool in_event_ = false;
  bool in_args_ = false;
  std::optional<std::size_t> broken_at_;
};

}  // namespace

Result<void> read_profile_events(const std::filesystem::path& profile, const std::function<void(ProfileEvent&)>& take) {
  auto opened = open_regular(profile);
  if (!opened) {
    Error error = std::move(opened).error();
    if (error.code == ErrorCode::not_found) error.hint = "the session was not profiled, or has not ended its profile";
    return std::unexpected(std::move(error));
  }
  const std::uint64_t size = opened->size;
  FileSource source(std::move(*opened), profile);
  Bytes bytes(source);
  Handler handler(take);
  const bool whole = PlainJson::sax_parse(ByteIterator(bytes), ByteIterator(), &handler);
  if (bytes.error()) return std::unexpected(*bytes.error());
  if (whole) return {};
  std::string what = "is not a list of events";
  if (size == 0) {
    what = "is empty";
  } else if (handler.broken_at()) {
    what = *handler.broken_at() > size ? fmt::format("ends in the middle, after {} bytes", size)
                                       : fmt::format("is not JSON: byte {} does not belong", *handler.broken_at());
  }
  return fail(ErrorCode::corrupt, fmt::format("the profile {} {}", util::quoted(profile), what), profile,
              kMeasureAgain);
}

}  // namespace precast::bench
