#include "bench/report_printer.hpp"

#include <fmt/format.h>

#include "bench/report_tables.hpp"
#include "util/text.hpp"

namespace precast::bench {
namespace {

// Text of a report's own is kept to one line; a table escapes its cells itself.
std::string indented(TableRows rows) {
  for (TableRow& row : rows) row.insert(row.begin(), "");
  return util::format_table(std::move(rows));
}

std::string markdown_cell(const std::string& value) {
  std::string cell;
  for (const char character : util::escape_to_line(value)) {
    if (character == '|') cell += '\\';
    cell += character;
  }
  return cell;
}

std::string markdown_row(const TableRow& cells) {
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

}  // namespace

std::string print_json(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string print_text(const std::vector<Field>& fields, const Json& document) {
  std::string text;
  for (const ReportSection& section : sections_of(fields, document)) {
    TableRows lines;
    for (const auto& [label, value] : section.lines) lines.push_back({label, value});
    if (!text.empty()) text += '\n';
    text += section.heading + "\n" + indented(std::move(lines)) + indented(section.columns);
    for (const TableRows& list : section.lists) text += indented(list);
  }
  return text;
}

std::string print_markdown(const std::vector<Field>& fields, const Json& document) {
  TableRow head;
  TableRow rule;
  TableRow row;
  for (const Field& field : fields) {
    if (field.shown != Shown::headline || is_list(field)) continue;
    const std::string label = field.column.empty() ? field.label : field.label + " " + field.column;
    head.push_back(markdown_cell(with_unit(label, field)));
    rule.emplace_back(field.kind == FieldKind::text || field.kind == FieldKind::flag ? "---" : "---:");
    row.push_back(markdown_cell(or_dash(shown_value(field, at_path(document, field.path)))));
  }
  return markdown_row(head) + markdown_row(rule) + markdown_row(row);
}

std::string print_csv(const std::vector<Field>& fields, const Json& document) {
  TableRow head;
  TableRow row;
  for (const Field& field : fields) {
    if (is_list(field)) continue;
    head.push_back(csv_cell(field.path));
    row.push_back(csv_cell(shown_value(field, at_path(document, field.path))));
  }
  return fmt::format("{}\r\n{}\r\n", fmt::join(head, ","), fmt::join(row, ","));
}

std::string print(const std::vector<Field>& fields, const Json& document, ReportFormat format) {
  switch (format) {
    case ReportFormat::text:
      return print_text(fields, document);
    case ReportFormat::json:
      return print_json(document);
    case ReportFormat::md:
      return print_markdown(fields, document);
    case ReportFormat::csv:
      return print_csv(fields, document);
  }
  return {};
}

}  // namespace precast::bench
