// A report as one HTML page that holds all it needs: what ran, the tables that the text has, and charts to read values
// from. It loads nothing (its Content-Security-Policy forbids it), so it opens from a disk without a network.
//
//   PRECAST_TRY_ASSIGN(const std::string page, print_html(descriptions(genai_fields()), to_json(genai_fields(),
//   report)));
//
// The page of the report's runtime, or of a comparison, is told by what the report holds
// (docs/perf-report.schema.json); a chart whose numbers are not there is left out. Functions are free-threaded.
#pragma once

#include <string>
#include <vector>

#include "bench/fields.hpp"
#include "precast/error.hpp"

namespace precast::bench {

// False in a build with PRECAST_HTML=OFF.
[[nodiscard]] bool has_html();
// unsupported, with how to get it: !has_html().
[[nodiscard]] Result<void> check_html();

// The page has `report` in it, whole, as JSON in the element "report". `fields` describe it: tables, headlines and the
// labels of bars are made of them. Any text is harmless in it; what is not UTF-8 is replaced. Errors: check_html()'s.
[[nodiscard]] Result<std::string> print_html(const std::vector<Field>& fields, const Json& report);

}  // namespace precast::bench
