// What a person is shown of a report, as tables of text: from its table of fields (fields.hpp) and its JSON. The text
// and the HTML page lay it out, each in its own way.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench/fields.hpp"

namespace precast::bench {

using TableRow = std::vector<std::string>;
using TableRows = std::vector<TableRow>;

// Neighbouring fields of one `section`. What is null is left out; in a table it is "-".
struct ReportSection {
  std::string heading;
  std::vector<std::pair<std::string, std::string>> lines;  // a label, a value with its unit
  TableRows columns;                                       // of fields with a `column`: the head first; or empty
  std::vector<std::pair<std::string, TableRows>> lists;    // of rows: a caption, or none; the head first
};

// Those that have something to show, of what is shown to people.
[[nodiscard]] std::vector<ReportSection> sections_of(const std::vector<Field>& fields, const Json& document);

// A value with the decimals of its kind, without its unit; "" for null and lists.
[[nodiscard]] std::string shown_value(const Field& field, const Json& value);
[[nodiscard]] bool is_list(const Field& field);
[[nodiscard]] bool is_words(const Field& field);                                    // its value is no number
[[nodiscard]] std::string with_unit(const std::string& label, const Field& field);  // "load (ms)"
[[nodiscard]] std::string or_dash(const std::string& value);

}  // namespace precast::bench
