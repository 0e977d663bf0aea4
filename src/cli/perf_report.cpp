#include "cli/perf_report.hpp"

#include <nlohmann/json.hpp>

#include "bench/html_page.hpp"
#include "bench/ort_report.hpp"
#include "bench/report_printer.hpp"
#include "cli/exit_code.hpp"
#include "cli/result_json.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::cli {

namespace {

// Of the report's file: -f, else the name's ending, else JSON.
Result<bench::ReportFormat> file_format(const PerfOptions& options) {
  if (options.output.empty()) return bench::ReportFormat::json;
  if (!options.format.empty()) return bench::parse_report_format(util::ascii_lower(options.format));
  const std::string ending = util::ascii_lower(std::filesystem::path(options.output).extension().native());
  if (ending == ".md") return bench::ReportFormat::md;
  if (ending == ".csv") return bench::ReportFormat::csv;
  if (ending == ".txt") return bench::ReportFormat::text;
  return bench::ReportFormat::json;
}

// Through links, and where neither is there yet.
bool same_place(const std::filesystem::path& left, const std::filesystem::path& right) {
  std::error_code ignored;  // what cannot be looked at is refused when its place is checked
  return std::filesystem::weakly_canonical(std::filesystem::absolute(left, ignored), ignored) ==
         std::filesystem::weakly_canonical(std::filesystem::absolute(right, ignored), ignored);
}

nlohmann::json path_or_null(const Result<std::filesystem::path>& path) {
  return path && !path->empty() ? nlohmann::json(path_text(*path)) : nlohmann::json(nullptr);
}

}  // namespace

std::string PerfReport::print(bench::ReportFormat format) const {
  return comparison ? bench::print_comparison(document, format) : bench::print(fields, document, format);
}

bench::ReportPlace PerfOutput::place(const std::string& name) const {
  bench::ReportPlace place = bench::place_from_environment();
  place.output = options_.output;
  place.overwrite = options_.overwrite;
  place.name = name;
  return place;
}

bench::ReportPlace PerfOutput::html_place(const std::string& name) const {
  bench::ReportPlace page = place(name);
  page.output = options_.html;
  page.option = "--html";
  return page;
}

Result<void> PerfOutput::check() {
  PRECAST_TRY_ASSIGN(format_,
                     bench::parse_report_format(options_.format.empty() ? "text" : util::ascii_lower(options_.format)));
  if (!options_.html.empty() && !options_.output.empty() && same_place(options_.output, options_.html)) {
    return fail(ErrorCode::bad_input, "--html and --output name the same file", options_.html, "give each its own");
  }
  if (util::ascii_lower(std::filesystem::path(options_.output).extension().native()) == ".html") {
    return fail(ErrorCode::bad_input, "--output writes no pages", options_.output,
                "write " + util::quoted(options_.output) + " with --html");
  }
  PRECAST_TRY(bench::check_report_place(context_.file_system(), place("model")));
  if (options_.html.empty()) return {};
  PRECAST_TRY(bench::check_html());
  return bench::check_report_place(context_.file_system(), html_place("model"));
}

Result<std::filesystem::path> PerfOutput::write(const PerfReport& report) {
  PRECAST_TRY_ASSIGN(const bench::ReportFormat format, file_format(options_));
  return bench::write_report(context_.file_system(), util::Clock::system(), place(report.name), report.print(format));
}

Result<std::filesystem::path> PerfOutput::write_html(const PerfReport& report) {
  if (options_.html.empty()) return std::filesystem::path();
  PRECAST_TRY_ASSIGN(const std::string page, bench::print_html(report.fields, report.document));
  return bench::write_report(context_.file_system(), util::Clock::system(), html_place(report.name), page);
}

void PerfOutput::print(const PerfReport& report, const Result<std::filesystem::path>& written,
                       const Result<std::filesystem::path>& html, const std::optional<Error>& error) {
  if (!context_.output.json) {
    context_.output.machine(report.print(format_));
    return;
  }
  nlohmann::json json = document("perf");
  json["report"] = report.document;
  json["report_path"] = path_or_null(written);
  json["html_path"] = path_or_null(html);
  for (const auto* file : {&written, &html}) {
    if (!*file) json["error"] = to_json(file->error());
  }
  if (error && !json.contains("error")) json["error"] = to_json(*error);
  context_.output.machine_json(json);
}

int PerfOutput::show(const PerfReport& report, const std::optional<Error>& error) {
  const auto written = write(report);
  if (written) context_.output.note("report: " + util::quoted(*written));
  const auto html = write_html(report);
  if (html && !html->empty()) context_.output.note("page: " + util::quoted(*html));
  print(report, written, html, error);
  int code = kDone;
  for (const auto* file : {&written, &html}) {
    if (*file) continue;
    context_.output.error(file->error());
    if (code == kDone) code = exit_code_of(file->error(), context_.options.strict);
  }
  return code;
}

}  // namespace precast::cli
