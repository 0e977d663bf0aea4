#include "bench/report_printer.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/genai_reports.hpp"

namespace precast::bench {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

struct Part {
  double ms = 0;
  std::optional<double> per_second;
};
struct Whole {
  std::string name;
  Part part;
  std::optional<Part> maybe;
  std::vector<Part> list;
};

Fields<Part> part_fields() {
  return {{duration("ms", "time", Shown::headline), [](const Part& p) { return Json(p.ms); }},
          {rate("per_second", "rate", "tok/s", Shown::people), [](const Part& p) { return to_value(p.per_second); }}};
}
Fields<Whole> whole_fields() {
  Fields<Whole> fields = {{text("name", "name", Shown::headline), [](const Whole& w) { return Json(w.name); }}};
  fields.front().field.section = "Head";
  embed(fields, "part", "Part", part_fields(), &Whole::part);
  embed_optional(fields, "maybe", part_fields(), &Whole::maybe);
  fields.push_back(rows<Whole>("list", "list", Shown::people, part_fields(), &Whole::list));
  fields.back().field.section = "List";
  return fields;
}

Json json_of(const Whole& whole) {
  return to_json(whole_fields(), whole);
}

TEST(Fields, RoundAsTheirKindSays) {
  const Json json = json_of({"x", {1.23456, 9.876}, Part{2}, {{3.00049, {}}}});
  EXPECT_EQ(json.dump(), R"({"name":"x","part":{"ms":1.235,"per_second":9.88},"maybe":{"ms":2.0,"per_second":null},)"
                         R"("list":[{"ms":3.0,"per_second":null}]})");
}

TEST(Fields, APartThatIsNotThereIsNull) {
  EXPECT_TRUE(json_of({}).at("maybe").is_null());
  EXPECT_EQ(json_of({}).at("list"), Json::array());
}

TEST(Fields, WhatIsNotFiniteIsNull) {
  EXPECT_TRUE(json_of({.part = {.ms = 1.0 / 0.0}}).at("part").at("ms").is_null());
  EXPECT_TRUE(json_of({.part = {.per_second = 0.0 / 0.0}}).at("part").at("per_second").is_null());
}

TEST(Fields, APathThatLeadsNowhereIsNull) {
  const Json json = json_of({"x"});
  EXPECT_EQ(at_path(json, "part.ms"), 0.0);
  for (const char* path : {"part.none", "none.ms", "name.ms", "maybe.ms"}) EXPECT_TRUE(at_path(json, path).is_null());
}

TEST(PrintText, HasASectionForWhatIsKnown) {
  EXPECT_EQ(print_text(descriptions(whole_fields()), json_of({"two\nlines", {1.5, {}}, {}, {{2, 3}, {4, {}}}})),
            "Head\n  name  two\\nlines\n"
            "\nPart\n  time  1.500 ms\n"
            "\nList\n  time (ms)  rate (tok/s)\n  2.000      3.00\n  4.000      -\n");
}

TEST(PrintMarkdown, HasHeadlinesAndEscapesBars) {
  EXPECT_EQ(print(descriptions(whole_fields()), json_of({"a|b\nc", {1.5, 2}, Part{7}}), ReportFormat::md),
            "| name | time (ms) | time (ms) |\n| --- | ---: | ---: |\n| a\\|b\\nc | 1.500 | 7.000 |\n");
}

TEST(PrintCsv, QuotesAsRfc4180Says) {
  EXPECT_EQ(print(descriptions(whole_fields()), json_of({"a,\"b\"\nc", {1.5, {}}}), ReportFormat::csv),
            "name,part.ms,part.per_second,maybe.ms,maybe.per_second\r\n\"a,\"\"b\"\"\nc\",1.500,,,\r\n");
}

TEST(PrintJson, IsAlwaysUtf8) {
  EXPECT_THAT(print_json(json_of({"\xff"})), HasSubstr("\"name\": \"\xEF\xBF\xBD\",\n"));
}

// ---- the report of a bundle -----------------------------------------------------------------------------------------

const Json& full() {
  static const Json json = to_json(genai_fields(), full_genai_report());
  return json;
}

TEST(GenaiReportFields, AggregateIsOfTheTimedRequestsAlone) {
  const Json aggregate = full().at("aggregate");
  EXPECT_EQ(aggregate.at("warmup_request_count"), 1);
  EXPECT_EQ(aggregate.at("timed_request_count"), 2);
  EXPECT_EQ(aggregate.at("model_ttft_duration_ms").at("mean"), 31.0);  // 24 + 6 and 24 + 8, not 24 + 16
  EXPECT_EQ(aggregate.at("model_ttft_duration_ms").at("max"), 32.0);
  EXPECT_EQ(aggregate.at("model_ttft_duration_ms").at("std"), 1.414);
  EXPECT_EQ(aggregate.at("steady_state_tpot_ms").at("p50"), 5.0);
  EXPECT_EQ(aggregate.at("prefill_tokens_per_second").at("mean"), 500.0);
  EXPECT_EQ(full().at("method").at("n"), 2);
  EXPECT_EQ(full().at("method").at("note"), "2 samples are too few for p90, p95, p99");
}

TEST(GenaiReportFields, ColdStartIsTheLoadAndTheFirstRequestOfAll) {
  EXPECT_EQ(full().at("aggregate").at("cold_start_ttft_duration_ms"), 1044.123);   // 1000.123 + 4 + 24 + 16
  EXPECT_EQ(full().at("aggregate").at("cold_start_total_duration_ms"), 1055.123);  // and 10 + 1
}

TEST(GenaiReportFields, NothingMeasuredIsNull) {
  const Json empty = to_json(genai_fields(), {});
  EXPECT_TRUE(empty.at("aggregate").at("cold_start_ttft_duration_ms").is_null());
  EXPECT_TRUE(empty.at("aggregate").at("request_duration_ms").at("mean").is_null());
  EXPECT_TRUE(empty.at("benchmark_info").at("prompt_tokens").is_null());
  EXPECT_TRUE(empty.at("hw_monitor").at("adapter").is_null());
  EXPECT_TRUE(empty.at("memory").at("rss_total_delta_mb").is_null());
  EXPECT_TRUE(empty.at("memory").at("rss_peak_load_mb").is_null());
  EXPECT_TRUE(empty.at("memory").at("rss_peak_workers_mb").is_null());
}

TEST(GenaiReportFields, MemoryIsInMegabytesAndMayShrink) {
  const Json memory = full().at("memory");
  EXPECT_EQ(memory.at("rss_baseline_mb"), 100.0);
  EXPECT_EQ(memory.at("rss_checkpoint_peak_mb"), 300.0);
  EXPECT_EQ(memory.at("rss_model_load_delta_mb"), 200.0);
  EXPECT_EQ(memory.at("rss_inference_delta_mb"), -50.0);
  EXPECT_EQ(memory.at("rss_total_delta_mb"), 150.0);
  EXPECT_EQ(memory.at("rss_peak_load_mb"), 400.0);
  EXPECT_EQ(memory.at("rss_peak_first_run_mb"), 350.0);
  EXPECT_EQ(memory.at("rss_peak_steady_mb"), 320.0);
  EXPECT_EQ(memory.at("rss_peak_workers_mb"), 900.0);
}

TEST(GenaiReportFields, NoPathTwice) {
  std::set<std::string> paths;
  for (const auto& one : genai_fields()) EXPECT_TRUE(paths.insert(one.field.path).second) << one.field.path;
}

TEST(GenaiReportText, SaysWhatAPersonWantsToKnow) {
  const std::string words = print_report(full_genai_report(), ReportFormat::text);
  for (const char* part :
       {"Benchmark\n", "openvino", "Load\n", "1000.123 ms", "decoder", "the EP crashed", "Timed requests\n",
        "cold TTFT", "model TTFT (ms)", "prefill (tok/s)", "p99", "RSS at start"}) {
    EXPECT_THAT(words, HasSubstr(part));
  }
}

TEST(GenaiReportText, LeavesOutWhatIsNotKnown) {
  const std::string words = print_report({}, ReportFormat::text);
  for (const char* part : {"null", "cold TTFT", "model TTFT", "Memory", "Hardware", "Environment"}) {
    EXPECT_THAT(words, Not(HasSubstr(part)));
  }
}

TEST(GenaiReportText, SaysThatItWasInterruptedAndAfterHowMuch) {
  GenaiReport report = full_genai_report();
  report.benchmark_info.iterations = 10;
  EXPECT_FALSE(interruption(report));
  EXPECT_TRUE(to_json(genai_fields(), report).at("method").at("interrupted").is_null());
  EXPECT_THAT(print_report(report, ReportFormat::text), Not(HasSubstr("interrupted")));
  report.interrupted = true;
  EXPECT_EQ(to_json(genai_fields(), report).at("method").at("interrupted"), "after 2 of 10 requests");
  EXPECT_THAT(print_report(report, ReportFormat::text), ContainsRegex("interrupted +after 2 of 10 requests\n"));
  EXPECT_THAT(print_report(report, ReportFormat::md), HasSubstr("| after 2 of 10 requests |"));
  EXPECT_THAT(print_report(report, ReportFormat::csv), HasSubstr("after 2 of 10 requests"));
  report.requests.resize(1);
  EXPECT_EQ(interruption(report), "after 0 of 10 requests");
  report.benchmark_info.warmup = 2;
  EXPECT_EQ(interruption(report), "after 1 of 2 warm-ups");
}

TEST(GenaiReportRows, HaveAsManyCellsAsHeads) {
  const std::string csv = print_report({}, ReportFormat::csv);
  const std::string head = csv.substr(0, csv.find("\r\n"));
  const std::string row = csv.substr(csv.find("\r\n") + 2);
  EXPECT_EQ(std::ranges::count(head, ','), std::ranges::count(row, ','));
  EXPECT_THAT(head, HasSubstr("aggregate.model_ttft_duration_ms.p99,"));

  const std::string markdown = print_report(full_genai_report(), ReportFormat::md);
  EXPECT_THAT(markdown, HasSubstr("model TTFT mean (ms)"));
  EXPECT_THAT(markdown, Not(HasSubstr("p99")));
}

}  // namespace
}  // namespace precast::bench
