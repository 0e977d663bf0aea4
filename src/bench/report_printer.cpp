#include "bench/report_printer.hpp"

#include <algorithm>
#include <ranges>
#include <span>

#include <fmt/format.h>

#include "util/text.hpp"

namespace precast::bench {
namespace {

using Row = std::vector<std::string>;
using Rows = std::vector<Row>;

bool is_list(const Field& field) {
  return field.kind == FieldKind::rows || field.kind == FieldKind::durations;
}

bool is_words(const Field& field) {
  return field.kind == FieldKind::text || field.kind == FieldKind::flag || field.kind == FieldKind::values ||
         field.kind == FieldKind::pairs;
}

std::string with_unit(const std::string& label, const Field& field) {
  return field.unit.empty() ? label : fmt::format("{} ({})", label, field.unit);
}

// Text of a report's own is kept to one line; a table escapes its cells itself.
std::string indented(Rows rows) {
  for (Row& row : rows) row.insert(row.begin(), "");
  return util::format_table(std::move(rows));
}

std::string or_dash(const std::string& value) {
  return value.empty() ? "-" : value;
}

std::string list_table(const Field& list, const Json& array) {
  const auto visible = [](const Field& field) { return field.shown != Shown::data && !is_list(field); };
  Rows rows(1);
  for (const Field& field : list.elements | std::views::filter(visible)) {
    rows.front().push_back(with_unit(field.label, field));
  }
  for (const Json& element : array) {
    Row& row = rows.emplace_back();
    for (const Field& field : list.elements | std::views::filter(visible)) {
      row.push_back(or_dash(shown_value(field, at_path(element, field.path))));
    }
  }
  return indented(std::move(rows));
}

// One section: lines first, then the table of what has columns, then the lists.
class SectionText {
 public:
  explicit SectionText(const Json& document) : document_(&document) {}

  void add(const Field& field) {
    const Json value = at_path(*document_, field.path);
    if (field.kind == FieldKind::rows) {
      if (!value.empty()) lists_ += list_table(field, value);
    } else if (!field.column.empty()) {
      add_cell(field, value);
    } else if (const std::string shown = shown_value(field, value); !value.is_null() && !value.empty()) {
      lines_.push_back({field.label, field.unit.empty() ? shown : shown + " " + field.unit});
    }
  }

  [[nodiscard]] std::string finish(const std::string& heading) {
    std::erase_if(table_, [](const Row& row) {
      return std::ranges::all_of(row | std::views::drop(1), [](const std::string& cell) { return cell == "-"; });
    });
    std::string text = indented(lines_);
    if (!table_.empty()) {
      table_.insert(table_.begin(), columns_);
      text += indented(table_);
    }
    text += lists_;
    return text.empty() ? text : heading + "\n" + text;
  }

 private:
  void add_cell(const Field& field, const Json& value) {
    const std::string label = with_unit(field.label, field);
    if (table_.empty() || table_.back().front() != label) table_.push_back({label});
    if (table_.size() == 1) columns_.push_back(field.column);
    table_.back().push_back(or_dash(shown_value(field, value)));
  }

  const Json* document_;
  Rows lines_;
  Row columns_ = {""};
  Rows table_;
  std::string lists_;
};

std::string markdown_cell(const std::string& value) {
  std::string cell;
  for (const char character : util::escape_to_line(value)) {
    if (character == '|') cell += '\\';
    cell += character;
  }
  return cell;
}

std::string markdown_row(const Row& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string csv_cell(const std::string& value) {
  if (value.find_first_of(",\"\r\n") == std::string::npos) return value;
  std::string cell = "\"";
  for (const char character : value) {
    if (character == '"') cell += '"';
    cell += character;
  }
  return cell + "\"";
}

// One of a list's values, or of an object's; what is open in a shape is null.
std::string shown_element(const Json& value) {
  if (value.is_null()) return "?";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::vector<std::string> inner;
  for (const Json& element : value) inner.push_back(shown_element(element));
  return fmt::format("[{}]", fmt::join(inner, ", "));
}

std::string shown_elements(FieldKind kind, const Json& value) {
  std::vector<std::string> parts;
  if (kind == FieldKind::values && value.is_array()) {
    for (const Json& element : value) parts.push_back(shown_element(element));
  } else if (kind == FieldKind::pairs && value.is_object()) {
    for (const auto& [name, element] : value.items()) parts.push_back(name + "=" + shown_element(element));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string shown_value(const Field& field, const Json& value) {
  if (value.is_structured()) return shown_elements(field.kind, value);
  if (value.is_null()) return {};
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  switch (field.kind) {
    case FieldKind::duration:
      return fmt::format("{:.3f}", value.get<double>());
    case FieldKind::rate:
    case FieldKind::megabytes:
    case FieldKind::percent:
      return fmt::format("{:.2f}", value.get<double>());
    case FieldKind::ratio:
      return fmt::format("{:.4f}", value.get<double>());
    case FieldKind::number:
      return value.is_number_float() ? fmt::format("{:.4g}", value.get<double>()) : value.dump();
    default:
      return value.dump();
  }
}

std::string print_json(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string print_text(const std::vector<Field>& fields, const Json& document) {
  std::vector<std::pair<std::string, SectionText>> sections;
  for (const Field& field : fields) {
    if (field.shown == Shown::data) continue;
    if (sections.empty() || sections.back().first != field.section) {
      sections.emplace_back(field.section, SectionText(document));
    }
    sections.back().second.add(field);
  }
  std::string text;
  for (auto& [heading, section] : sections) {
    const std::string part = section.finish(heading);
    if (!part.empty() && !text.empty()) text += '\n';
    text += part;
  }
  return text;
}

std::string print_markdown(const std::vector<Field>& fields, std::span<const Json> documents) {
  const auto visible = [](const Field& field) { return field.shown == Shown::headline && !is_list(field); };
  Row head;
  Row rule;
  for (const Field& field : fields | std::views::filter(visible)) {
    const std::string label = field.column.empty() ? field.label : field.label + " " + field.column;
    head.push_back(markdown_cell(with_unit(label, field)));
    rule.emplace_back(is_words(field) ? "---" : "---:");
  }
  std::string text = markdown_row(head) + markdown_row(rule);
  for (const Json& document : documents) {
    Row row;
    for (const Field& field : fields | std::views::filter(visible)) {
      row.push_back(markdown_cell(or_dash(shown_value(field, at_path(document, field.path)))));
    }
    text += markdown_row(row);
  }
  return text;
}

std::string print_csv(const std::vector<Field>& fields, std::span<const Json> documents) {
  const auto visible = [](const Field& field) { return !is_list(field); };
  Row head;
  for (const Field& field : fields | std::views::filter(visible)) head.push_back(csv_cell(field.path));
  std::string text = fmt::format("{}\r\n", fmt::join(head, ","));
  for (const Json& document : documents) {
    Row row;
    for (const Field& field : fields | std::views::filter(visible)) {
      row.push_back(csv_cell(shown_value(field, at_path(document, field.path))));
    }
    text += fmt::format("{}\r\n", fmt::join(row, ","));
  }
  return text;
}

std::string print(const std::vector<Field>& fields, const Json& document, ReportFormat format) {
  switch (format) {
    case ReportFormat::text:
      return print_text(fields, document);
    case ReportFormat::json:
      return print_json(document);
    case ReportFormat::md:
      return print_markdown(fields, std::span(&document, 1));
    case ReportFormat::csv:
      return print_csv(fields, std::span(&document, 1));
  }
  return {};
}

}  // namespace precast::bench
