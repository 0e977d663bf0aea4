// A report as text, CSV and Markdown, from its table of fields (fields.hpp) and its JSON.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/fields.hpp"
#include "bench/report_file.hpp"

namespace precast::bench {

// Indented, with a newline at its end; what is not UTF-8 is replaced.
[[nodiscard]] std::string print_json(const Json& document);
// For people: a heading and aligned lines per section; what is null is left out.
[[nodiscard]] std::string print_text(const std::vector<Field>& fields, const Json& document);
// The headlines: a head, its rule, one row for each document.
[[nodiscard]] std::string print_markdown(const std::vector<Field>& fields, std::span<const Json> documents);
// RFC 4180: a row of paths, one of values for each document, every line ended by CR LF. Lists of objects and of
// durations are left out, nulls are empty.
[[nodiscard]] std::string print_csv(const std::vector<Field>& fields, std::span<const Json> documents);

[[nodiscard]] std::string print(const std::vector<Field>& fields, const Json& document, ReportFormat format);

}  // namespace precast::bench
