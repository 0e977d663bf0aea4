// The report of a single model: its formats, its files, and what stands in it.
#include <gmock/gmock.h>

#include "bench/html_page.hpp"
#include "cli/perf_support.hpp"

namespace precast::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace stdfs = std::filesystem;
using model_generator::Kind;

using PerfModelReport = PerfOnFake;

TEST_F(PerfModelReport, EachFormatIsOnStdoutAlone) {
  const auto model = tiny();
  EXPECT_THAT(precast_.run(on_fake(model)).out, AllOf(StartsWith("Benchmark\n"), HasSubstr("\nLatency\n")));
  EXPECT_THAT(precast_.run(on_fake(model, {"-f", "md"})).out, StartsWith("| model |"));
  EXPECT_THAT(precast_.run(on_fake(model, {"-f", "csv"})).out, StartsWith("schema_version,benchmark_info.runtime,"));
  const json document = json::parse(precast_.run(on_fake(model, {"-f", "json"})).out, nullptr, false);
  EXPECT_EQ(document["benchmark_info"]["runtime"], "ort");
}

TEST_F(PerfModelReport, TheReportIsAFileThatIsNeverReplacedUnasked) {
  const auto model = tiny();
  const Ran ran = precast_.run(on_fake(model));
  EXPECT_THAT(ran.err, HasSubstr("report: '" + (folder_ / "state/precast/perf/tiny/").native()));
  const stdfs::path file = folder_ / "report.json";
  EXPECT_EQ(precast_.run(on_fake(model, {"-o", file.native()})).code, 0);
  const std::string before = read_file(file);
  const std::size_t ran_before = runs();
  EXPECT_EQ(precast_.run(on_fake(model, {"-o", file.native()})).code, 2);
  EXPECT_EQ(read_file(file), before);
  EXPECT_EQ(runs(), ran_before) << "refused before anything was measured";
  EXPECT_EQ(precast_.run(on_fake(model, {"-o", file.native(), "--overwrite"})).code, 0);
  EXPECT_NE(read_file(file), before);
}

TEST_F(PerfModelReport, AReportGoesWhereALinkLeadsAndNeverInItsPlace) {
  const auto model = tiny();
  stdfs::create_symlink(folder_ / "real.json", folder_ / "link.json");
  expect_error(on_fake(model, {"-o", (folder_ / "link.json").native()}), 2, {"leads nowhere"});
  EXPECT_EQ(runs(), 0U) << "refused before anything was measured";
  write_file(folder_ / "real.json", "old");
  EXPECT_EQ(precast_.run(on_fake(model, {"-o", (folder_ / "link.json").native(), "--overwrite"})).code, 0);
  EXPECT_TRUE(stdfs::is_symlink(folder_ / "link.json"));
  EXPECT_NE(read_file(folder_ / "real.json"), "old");
  for (const char* system : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    expect_error(on_fake(model, {"-o", system, "--overwrite"}), 2, {"is not a regular file"});
  }
  expect_error(on_fake(model, {"-o", (folder_ / "page.html").native()}), 2, {"with --html"});
}

TEST_F(PerfModelReport, WhatTheReportIsOfStandsInIt) {
  const json one = report(on_fake(tiny(Kind::dynamic), {"--batch-size", "3", "--session-options", "a.b=c"}));
  EXPECT_EQ(one["model_info"]["fed_shapes"], json::parse("[[3, 8]]"));
  EXPECT_EQ(one["benchmark_info"]["session_options"], json({{"a.b", "c"}}));
  EXPECT_EQ(one["benchmark_info"]["model_path"], (folder_ / "tiny.onnx").native());
}

TEST_F(PerfModelReport, SamplesAreLeftOutOnRequest) {
  EXPECT_TRUE(report(on_fake(tiny(), {"--no-raw"}))["raw_samples_ms"].is_null());
}

TEST_F(PerfModelReport, MonitorsAreLeftOutOnRequest) {
  const json with = report(on_fake(tiny()));
  EXPECT_EQ(with["hw_monitor"]["monitor"], "proc");
  EXPECT_GT(with["memory"]["rss_after_inference_mb"].get<double>(), 0);
  EXPECT_GT(with["memory"]["rss_peak_first_run_mb"].get<double>(), 0);
  EXPECT_GT(with["memory"]["rss_peak_steady_mb"].get<double>(), 0);
  const json without = report(on_fake(tiny(), {"--no-monitor", "--no-memory"}));
  EXPECT_TRUE(without["hw_monitor"]["monitor"].is_null());
  for (const auto& value : without["memory"]) EXPECT_TRUE(value.is_null()) << without["memory"].dump(2);
}

TEST_F(PerfModelReport, ThePageIsAFileOfItsOwn) {
  const stdfs::path page = folder_ / "page.html";
  if (!bench::has_html()) {
    expect_error(on_fake(tiny(), {"--html", page.native()}), 2, {"PRECAST_HTML"});
    EXPECT_EQ(runs(), 0U) << "refused before anything was measured";
    return;
  }
  const json document = precast_.json(on_fake(tiny(), {"--html", page.native()}));
  EXPECT_EQ(document["html_path"], page.native());
  const std::string before = read_file(page);
  EXPECT_THAT(before, StartsWith("<!doctype html>"));
  expect_error(on_fake(tiny(), {"--html", page.native()}), 2, {"another file with --html"});
  EXPECT_EQ(read_file(page), before);
  EXPECT_EQ(precast_.run(on_fake(tiny(), {"--html", page.native(), "--overwrite"})).code, 0);
  expect_error(on_fake(tiny(), {"--html", page.native(), "-o", page.native()}), 2, {"the same file"});
  const Ran compared = precast_.run(
      with_fake(perf(tiny(), {"--compare-ep", "cpu,fake_ep", "--html", (folder_ / "compared.html").native()})));
  EXPECT_EQ(compared.code, 0) << compared.err;
  EXPECT_THAT(compared.err, HasSubstr("page: '"));
}

}  // namespace
}  // namespace precast::testing
