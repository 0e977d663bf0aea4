// Writes reports of every kind into a folder, for perf_schema_test.sh.
#include <filesystem>
#include <fstream>

#include "support/genai_reports.hpp"
#include "support/ort_reports.hpp"

namespace {

template <typename Report>
bool write(const std::filesystem::path& path, const Report& report) {
  std::ofstream file(path, std::ios::binary);
  file << print_report(report, precast::bench::ReportFormat::json);
  return file.flush().good();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::filesystem::path folder = arguments[1];
  const bool written = write(folder / "genai_full.json", precast::bench::full_genai_report()) &&
                       write(folder / "genai_bare.json", precast::bench::bare_genai_report()) &&
                       write(folder / "genai_empty.json", precast::bench::GenaiReport()) &&
                       write(folder / "ort_full.json", precast::bench::full_ort_report()) &&
                       write(folder / "ort_empty.json", precast::bench::OrtReport()) &&
                       write(folder / "ort_comparison.json", precast::bench::sample_comparison());
  return written ? 0 : 1;
}
