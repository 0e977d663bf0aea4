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
    if (!value.empty()) section.lists.push_back(list_table(field, value));
  } else if (!field.column.empty()) {
    add_cell(section.columns, field, value);
  } else if (!value.is_null()) {
    const std::string shown = shown_value(field, value);
    section.lines.emplace_back(field.label, field.unit.empty() ? shown : shown + " " + field.unit);
  }
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
  if (value.is_null() || value.is_structured()) return {};
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  switch (field.kind) {
    case FieldKind::duration:
      return fmt::format("{:.3f}", value.get<double>());
    case FieldKind::rate:
    case FieldKind::megabytes:
    case FieldKind::percent:
      return fmt::format("{:.2f}", value.get<double>());
    default:
      return value.dump();
  }
}

bool is_list(const Field& field) {
  return field.kind == FieldKind::rows || field.kind == FieldKind::durations;
}

std::string with_unit(const std::string& label, const Field& field) {
  return field.unit.empty() ? label : fmt::format("{} ({})", label, field.unit);
}

std::string or_dash(const std::string& value) {
  return value.empty() ? "-" : value;
}

}  // namespace precast::bench
