// The Python literal in a .npy file: a dict of three keys, nothing evaluated.
#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "bench/npy_header.hpp"

namespace precast::bench {
namespace {

// The first complaint stands; every function then answers false or nullopt.
class DictParser {
 public:
  explicit DictParser(std::string_view text) : text_(text) {}

  std::optional<NpyHeader> parse();
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
  bool entry();
  bool value_of(std::string_view key);
  bool descr();
  bool fortran_order();
  bool shape();
  std::optional<std::string_view> string();
  std::optional<std::int64_t> size();

  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n\f", at_), text_.size()); }
  bool take(std::string_view token);  // blanks before it are skipped
  bool expect(std::string_view token) { return take(token) || complain(fmt::format("'{}' is missing", token)); }
  [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool complain(std::string_view what) {
    if (complaint_.empty()) complaint_ = fmt::format("has a malformed header: {} at its byte {}", what, at_);
    return false;
  }
  bool refuse(std::string what) {
    if (complaint_.empty()) complaint_ = std::move(what);
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string complaint_;
  NpyHeader header_;
  bool has_descr_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

std::optional<NpyHeader> DictParser::parse() {
  if (!expect("{")) return std::nullopt;
  bool closed = take("}");
  while (!closed) {
    if (!entry()) return std::nullopt;
    const bool comma = take(",");
    closed = take("}");
    if (!closed && !comma) {
      complain("',' or '}' is missing");
      return std::nullopt;
    }
  }
  skip_blanks();
  if (at_ < text_.size()) complain("there is something after '}'");
  if (!has_descr_ || !has_order_ || !has_shape_) {
    refuse(fmt::format("has a header without '{}'", !has_descr_ ? "descr" : !has_order_ ? "fortran_order" : "shape"));
  }
  if (!complaint_.empty()) return std::nullopt;
  return std::move(header_);
}

bool DictParser::entry() {
  const auto key = string();
  return key && expect(":") && value_of(*key);
}

bool DictParser::value_of(std::string_view key) {
  const auto first = [&](bool& seen) {
    if (seen) return complain(fmt::format("'{}' for the second time", key));
    seen = true;
    return true;
  };
  if (key == "descr") return first(has_descr_) && descr();
  if (key == "fortran_order") return first(has_order_) && fortran_order();
  if (key == "shape") return first(has_shape_) && shape();
  return complain(fmt::format("the key {} is not NumPy's", shown_text(key)));
}

// What NumPy writes of other dtypes needs no reading to be refused.
bool DictParser::descr() {
  skip_blanks();
  if (next() == '[') return refuse("is an array of a structured dtype (records of named fields)");
  if (next() == '(') return refuse("is an array of a sub-array dtype");
  const auto name = string();
  if (name) header_.descr = *name;
  return name.has_value();
}

bool DictParser::fortran_order() {
  header_.fortran_order = take("True");
  return header_.fortran_order || take("False") || complain("neither True nor False");
}

bool DictParser::shape() {
  if (!expect("(")) return false;
  bool comma = true;
  while (!take(")")) {
    if (!comma) return complain("',' or ')' is missing");
    const auto one = size();
    if (!one) return false;
    header_.shape.push_back(*one);
    comma = take(",");
  }
  // In Python (3) is a number.
  return header_.shape.size() != 1 || comma || complain("a tuple of one without its ','");
}

std::optional<std::string_view> DictParser::string() {
  skip_blanks();
  const bool quoted = next() == '\'' || next() == '"';
  const std::string_view stops = next() == '"' ? R"("\)" : R"('\)";
  const std::size_t end = quoted ? text_.find_first_of(stops, at_ + 1) : std::string_view::npos;
  if (end == std::string_view::npos || text_[end] == '\\') {
    complain("no string, or one with escapes,");
    return std::nullopt;
  }
  const std::string_view inner = text_.substr(at_ + 1, end - at_ - 1);
  at_ = end + 1;
  return inner;
}

std::optional<std::int64_t> DictParser::size() {
  skip_blanks();
  if (next() == '-') {
    refuse("has a negative size in its shape");
    return std::nullopt;
  }
  std::int64_t value = 0;
  const std::string_view rest = text_.substr(at_);
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error == std::errc::result_out_of_range) {
    refuse("has a shape that is larger than memory can hold");
    return std::nullopt;
  }
  const auto digits = static_cast<std::size_t>(end - rest.data());
  if (error != std::errc() || (digits > 1 && next() == '0')) {
    complain("no size");
    return std::nullopt;
  }
  at_ += digits;
  if (next() == 'L') ++at_;  // Python 2's
  return value;
}

bool DictParser::take(std::string_view token) {
  skip_blanks();
  if (!text_.substr(at_).starts_with(token)) return false;
  at_ += token.size();
  return true;
}

}  // namespace

Result<NpyHeader> parse_npy_dict(std::string_view text, const Place& place) {
  DictParser parser(text);
  if (auto header = parser.parse()) return std::move(*header);
  return bad(place, parser.complaint(), "save one plain array of numbers, truth values or text with numpy.save");
}

}  // namespace precast::bench
