// Where the reports of `perf` go: files and stdout.
#pragma once

#include <string>
#include <vector>

#include "bench/fields.hpp"
#include "bench/report_file.hpp"
#include "cli/context.hpp"
#include "cli/perf_options.hpp"

namespace precast::cli {

struct PerfReport {
  std::string name;                  // of the model or bundle: the default file's folder
  bench::Json document;              // all of it: what is printed and drawn is made of this
  std::vector<bench::Field> fields;  // that describe the document
  bool comparison = false;
  [[nodiscard]] std::string print(bench::ReportFormat format) const;
};

class PerfOutput {
 public:
  PerfOutput(Context& context, const PerfOptions& options) : context_(context), options_(options) {}

  // Before a measurement that would be in vain: formats and places. Writing looks again.
  [[nodiscard]] Result<void> check();
  // Writes the files, says where they are, and shows the report on stdout whether or not they could be written: then
  // it is an error too, and its exit code comes back, else 0. `error`: of a part of the measurement, for the JSON.
  [[nodiscard]] int show(const PerfReport& report, const std::optional<Error>& error = {});

 private:
  [[nodiscard]] bench::ReportPlace place(const std::string& name) const;
  [[nodiscard]] bench::ReportPlace html_place(const std::string& name) const;
  [[nodiscard]] Result<std::filesystem::path> write(const PerfReport& report);
  [[nodiscard]] Result<std::filesystem::path> write_html(const PerfReport& report);
  void print(const PerfReport& report, const Result<std::filesystem::path>& written,
             const Result<std::filesystem::path>& html, const std::optional<Error>& error);

  Context& context_;
  const PerfOptions& options_;
  bench::ReportFormat format_ = bench::ReportFormat::text;  // on stdout
};

}  // namespace precast::cli
