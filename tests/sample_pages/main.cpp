// Writes pages of every kind of report into a folder, for html_page_test.sh.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "bench/html_page.hpp"
#include "support/html_reports.hpp"

namespace {

using namespace precast::bench;

bool write(const std::filesystem::path& path, const SampleReport& report) {
  const auto page = print_html(report.fields, report.json);
  if (!page) {
    std::cerr << page.error().message << '\n';
    return false;
  }
  std::ofstream file(path, std::ios::binary);
  file << *page;
  return file.flush().good();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::filesystem::path folder = arguments[1];
  const bool written =
      write(folder / "model.html", model_report(1000)) && write(folder / "traced.html", traced_report()) &&
      write(folder / "comparison.html", comparison_report()) && write(folder / "bundle.html", bundle_report(10, 127)) &&
      write(folder / "bundle_bare.html",
            {descriptions(genai_fields()), to_json(genai_fields(), bare_genai_report())}) &&
      write(folder / "one_sample.html", model_report(1)) && write(folder / "void.html", void_report()) &&
      write(folder / "nothing.html", {{}, nullptr}) && write(folder / "not_finite.html", not_finite_report()) &&
      write(folder / "huge.html", model_report(1000000)) && write(folder / "hostile.html", hostile_report());
  return written ? 0 : 1;
}
