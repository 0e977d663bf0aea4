#include "bench/report_printer.hpp"

#include <ranges>

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
    for (const auto& [caption, list] : section.lists) {
      if (!caption.empty()) text += "  " + util::escape_to_line(caption) + ":\n";
      text += indented(list);
    }
  }
  return text;
}

std::string print_markdown(const std::vector<Field>& fields, std::span<const Json> documents) {
  const auto visible = [](const Field& field) { return field.shown == Shown::headline && !is_list(field); };
  TableRow head;
  TableRow rule;
  for (const Field& field : fields | std::views::filter(visible)) {
    const std::string label = field.column.empty() ? field.label : field.label + " " + field.column;
    head.push_back(markdown_cell(with_unit(label, field)));
    rule.emplace_back(is_words(field) ? "---" : "---:");
  }
  std::string text = markdown_row(head) + markdown_row(rule);
  for (const Json& document : documents) {
    TableRow row;
    for (const Field& field : fields | std::views::filter(visible)) {
      row.push_back(markdown_cell(or_dash(shown_value(field, at_path(document, field.path)))));
    }
    text += markdown_row(row);
  }
  return text;
}

std::string print_csv(const std::vector<Field>& fields, std::span<const Json> documents) {
  const auto visible = [](const Field& field) { return !is_list(field); };
  TableRow head;
  for (const Field& field : fields | std::views::filter(visible)) head.push_back(csv_cell(field.path));
  std::string text = fmt::format("{}\r\n", fmt::join(head, ","));
  for (const Json& document : documents) {
    TableRow row;
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
