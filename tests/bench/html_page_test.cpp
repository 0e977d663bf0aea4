#include "bench/html_page.hpp"

#include <functional>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/html_reports.hpp"

namespace precast::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string page_of(const SampleReport& report) {
  const auto page = print_html(report.fields, report.json);
  EXPECT_TRUE(page.has_value()) << page.error().message;
  return page.value_or("");
}

// What stands in the element <script type="application/json" id=...>.
std::string json_text(const std::string& page, const std::string& id) {
  const std::string begin = "<script type=\"application/json\" id=\"" + id + "\">";
  const std::size_t from = page.find(begin);
  if (from == std::string::npos) return {};
  return page.substr(from + begin.size(), page.find("</script>", from) - from - begin.size());
}

std::size_t times(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

class HtmlPage : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_html()) GTEST_SKIP() << "built with PRECAST_HTML=OFF";
  }
};

TEST(HtmlPageOrNot, WithoutItAnErrorSaysHowToGetIt) {
  const SampleReport report = model_report(10);
  const auto page = print_html(report.fields, report.json);
  ASSERT_EQ(page.has_value(), has_html());
  if (page) return;
  EXPECT_EQ(page.error().code, ErrorCode::unsupported);
  EXPECT_THAT(page.error().hint, HasSubstr("tools/setup test"));
}

TEST_F(HtmlPage, HoldsTheReportOfEveryKindWhole) {
  for (const auto& report :
       {model_report(100), traced_report(), comparison_report(), bundle_report(3, 20), void_report()}) {
    EXPECT_EQ(Json::parse(json_text(page_of(report), "report"), nullptr, false), report.json);
  }
}

TEST_F(HtmlPage, HoldsAMillionSamples) {
  const SampleReport report = model_report(1000000);
  const Json held = Json::parse(json_text(page_of(report), "report"), nullptr, false);
  ASSERT_TRUE(held.is_object());
  EXPECT_EQ(held.at("raw_samples_ms"), report.json.at("raw_samples_ms"));
}

TEST_F(HtmlPage, WhatIsNotFiniteIsNull) {
  const Json held = Json::parse(json_text(page_of(not_finite_report()), "report"), nullptr, false);
  ASSERT_TRUE(held.is_object());
  EXPECT_TRUE(held.at("raw_samples_ms").at(7).is_null());
  EXPECT_TRUE(held.at("latency_ms").at("p99").is_null());
}

TEST_F(HtmlPage, NamesAreHarmless) {
  const std::string page = page_of(hostile_report());
  const std::string harmless = page_of(comparison_report());
  for (const char* tag : {"<script", "</script", "<img", "<!--"})
    EXPECT_EQ(times(page, tag), times(harmless, tag)) << tag;
  EXPECT_THAT(page, HasSubstr("<title>&lt;/script&gt;&lt;script&gt;"));
  for (const char* id : {"report", "shown"}) {
    const std::string json = json_text(page, id);
    for (const char* part : {"<", ">", "&", "\xE2\x80\xA8", "\xE2\x80\xA9", "\xff"})
      EXPECT_THAT(json, Not(HasSubstr(part)));
    EXPECT_TRUE(Json::accept(json));
  }
  const Json held = Json::parse(json_text(page, "report"));
  const std::string name = held.at("benchmark_info").at("model_id").get<std::string>();
  EXPECT_EQ(name, kHostile.substr(0, kHostile.size() - 1) + "\xEF\xBF\xBD");
}

TEST_F(HtmlPage, LoadsNothing) {
  const std::string page = page_of(model_report(10));
  EXPECT_THAT(page, HasSubstr("content=\"default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe-")));
  EXPECT_THAT(page, Not(HasSubstr("{{")));
  for (const char* loading :
       {" src=", "<link", "@import", "url(", "fetch(", "XMLHttpRequest", "import(", "WebSocket"}) {
    EXPECT_THAT(page, Not(HasSubstr(loading)));
  }
  // The only address is that in uPlot's own banner.
  EXPECT_EQ(times(page, "://"), 1);
}

TEST_F(HtmlPage, MayRunItsOwnScriptsAndStyleAlone) {
  const std::string page = page_of(model_report(10));
  const std::string policy = page.substr(page.find("default-src"), page.find("base-uri") - page.find("default-src"));
  EXPECT_EQ(times(policy, "'sha256-"), 3);
  // 32 bytes as base64.
  EXPECT_TRUE(std::regex_search(policy, std::regex("style-src 'sha256-[A-Za-z0-9+/]{43}=';")));
}

TEST_F(HtmlPage, KeepsTheLicenceOfWhatItContains) {
  EXPECT_THAT(page_of(model_report(10)),
              HasSubstr("The above copyright notice and this permission notice shall be included"));
}

TEST_F(HtmlPage, ShowsWhatTheFieldsSay) {
  const Json shown = Json::parse(json_text(page_of(bundle_report(2, 5)), "shown"));
  EXPECT_EQ(shown.at("labels").at("load.model_create_duration_ms"), "create model");
  const std::string sections = shown.at("sections").dump();
  for (const char* part : {"Timed requests", "model TTFT (ms)", "the EP crashed", "RSS at start"}) {
    EXPECT_THAT(sections, HasSubstr(part));
  }
  EXPECT_THAT(sections, Not(HasSubstr("clock")));  // data alone
  EXPECT_THAT(shown.at("headlines").dump(), HasSubstr(R"({"label":"EP","value":"openvino","unit":"","words":true})"));
}

TEST_F(HtmlPage, AReportOfNothingHasAPage) {
  EXPECT_THAT(page_of({{}, Json::object()}), HasSubstr("<title>precast perf</title>"));
  EXPECT_THAT(page_of({{}, nullptr}), HasSubstr(">null</script>"));
}

}  // namespace
}  // namespace precast::bench
