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
    } else if (!value.is_null()) {
      const std::string shown = shown_value(field, value);
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

}  // namespace

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

std::string print_markdown(const std::vector<Field>& fields, const Json& document) {
  Row head;
  Row rule;
  Row row;
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
  Row head;
  Row row;
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
