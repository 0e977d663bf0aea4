#include "bench/report_tables.hpp"

#include <algorithm>
#include <ranges>

#include <fmt/format.h>

namespace precast::bench {
namespace {

TableRows list_table(const Field& list, const Json& array) {
  const auto visible = [](const Field& field) { return field.shown != Shown::data && !is_list(field); };
  TableRows rows(1);
  for (const Field& field : list.elements | std::views::filter(visible)) {
    rows.front().push_back(with_unit(field.label, field));
  }
  for (const Json& element : array) {
    TableRow& row = rows.emplace_back();
    for (const Field& field : list.elements | std::views::filter(visible)) {
      row.push_back(or_dash(shown_value(field, at_path(element, field.path))));
    }
  }
  return rows;
}

void add_cell(TableRows& table, const Field& field, const Json& value) {
  if (table.empty()) table.push_back({""});
  const std::string label = with_unit(field.label, field);
  if (table.size() == 1 || table.back().front() != label) table.push_back({label});
  if (table.size() == 2) table.front().push_back(field.column);
  table.back().push_back(or_dash(shown_value(field, value)));
}

void add(ReportSection& section, const Field& field, const Json& value) {
  if (field.kind == FieldKind::rows) {
    if (!value.empty()) section.lists.emplace_back(field.caption, list_table(field, value));
  } else if (!field.column.empty()) {
    add_cell(section.columns, field, value);
  } else if (const std::string shown = shown_value(field, value); !value.is_null() && !shown.empty()) {
    section.lines.emplace_back(field.label, field.unit.empty() ? shown : shown + " " + field.unit);
  }
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

void drop_what_is_not_known(TableRows& columns) {
  if (columns.empty()) return;
  const auto unknown = [](const TableRow& row) {
    return std::ranges::all_of(row | std::views::drop(1), [](const std::string& cell) { return cell == "-"; });
  };
  columns.erase(std::remove_if(columns.begin() + 1, columns.end(), unknown), columns.end());
  if (columns.size() == 1) columns.clear();
}

}  // namespace

std::vector<ReportSection> sections_of(const std::vector<Field>& fields, const Json& document) {
  std::vector<ReportSection> sections;
  for (const Field& field : fields) {
    if (field.shown == Shown::data) continue;
    if (sections.empty() || sections.back().heading != field.section) sections.push_back({.heading = field.section});
    add(sections.back(), field, at_path(document, field.path));
  }
  for (ReportSection& section : sections) drop_what_is_not_known(section.columns);
  std::erase_if(sections, [](const ReportSection& section) {
    return section.lines.empty() && section.columns.empty() && section.lists.empty();
  });
  return sections;
}

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

std::string or_dash(const std::string& value) {
  return value.empty() ? "-" : value;
}

}  // namespace precast::bench
