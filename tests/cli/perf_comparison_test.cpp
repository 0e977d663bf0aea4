// precast perf with several targets beside each other.
#include <gmock/gmock.h>

#include "cli/perf_support.hpp"

namespace precast::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::SizeIs;

using PerfComparison = PerfOnFake;

TEST_F(PerfComparison, EpsAreComparedOnTheSameInputs) {
  const json one = report(with_fake(perf(tiny(), {"--compare-ep", "cpu,fake_ep", "--check"})));
  ASSERT_THAT(one["targets"], SizeIs(2));
  EXPECT_EQ(one["targets"][0]["target"], "cpu");
  EXPECT_EQ(one["targets"][1]["target"], "fake_ep");
  for (const json& target : one["targets"]) {
    EXPECT_THAT(target["raw_samples_ms"], SizeIs(5));
    EXPECT_TRUE(target["error"].is_null());
    EXPECT_EQ(target["check"]["ok"], true);
  }
  ASSERT_THAT(one["ratios"], SizeIs(1));
  EXPECT_EQ(one["ratios"][0]["a"], "fake_ep");
  EXPECT_EQ(one["ratios"][0]["b"], "cpu");
  EXPECT_GT(one["ratios"][0]["median_ratio"].get<double>(), 0);
  EXPECT_LE(one["ratios"][0]["ci95_low"].get<double>(), one["ratios"][0]["ci95_high"].get<double>());
  EXPECT_FALSE(one["benchmark_info"].contains("ep")) << "each target has its own";
}

TEST_F(PerfComparison, ATargetThatFailsIsARowAndTheOthersAreReported) {
  int code = -1;
  const json document = precast_.json(with_fake(perf(tiny(), {"--compare-ep", "cpu,vitisai,fake_ep"})), &code);
  EXPECT_EQ(code, 3) << document.dump(2);
  EXPECT_EQ(document["error"]["code"], "ep_unavailable");
  const json& targets = document["report"]["targets"];
  ASSERT_THAT(targets, SizeIs(3));
  EXPECT_EQ(targets[1]["error"]["code"], "ep_unavailable");
  EXPECT_TRUE(targets[1]["latency_ms"]["p50"].is_null());
  EXPECT_EQ(targets[0]["method"]["n"], 5);
  EXPECT_EQ(targets[2]["method"]["n"], 5);
  EXPECT_TRUE(document["report"]["ratios"][0]["median_ratio"].is_null());
  EXPECT_TRUE(document["report"]["ratios"][1]["median_ratio"].is_number());
  const Ran text = precast_.run(with_fake(perf(tiny(), {"--compare-ep", "cpu,vitisai"})));
  EXPECT_EQ(text.code, 3);
  EXPECT_THAT(text.err, HasSubstr("error: vitisai: "));
  EXPECT_THAT(text.out, AllOf(HasSubstr("\nTargets\n"), ContainsRegex("vitisai +- ")));
}

TEST_F(PerfComparison, TheEpThatIsNamedBesideOthersIsTheFirst) {
  const Ran ran = precast_.run(precast_.fake(perf(tiny(), {"--compare-ep", "cpu", "-f", "csv"})));
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, ContainsRegex("\r\nfake_ep,2,ort"));
  EXPECT_THAT(ran.out, ContainsRegex("\r\ncpu,2,ort"));
}

TEST_F(PerfComparison, OptionsOfAComparisonAreForTheEpThatTheyName) {
  const json one = report(with_fake(perf(tiny(), {"--compare-ep", "cpu,fake_ep,fake_ep", "--ep-options",
                                                  "fake_ep:colour=blue", "--ep-options", "size=3"})));
  EXPECT_EQ(one["targets"][0]["benchmark_info"]["ep_options"], json::object());
  EXPECT_EQ(one["targets"][1]["benchmark_info"]["ep_options"], json({{"colour", "blue"}, {"size", "3"}}));
  EXPECT_EQ(one["targets"][2]["target"], "fake_ep #2") << "beside itself: what is noise";
}

TEST_F(PerfComparison, AnOptionForAnEpThatIsNotMeasuredIsRefused) {
  expect_error(with_fake(perf(tiny(), {"--compare-ep", "cpu,fake_ep", "--ep-options", "qnn:soc_model=60"})), 2,
               {"'qnn:soc_model=60' is for 'qnn'"});
  expect_error(on_fake(tiny(), {"--ep-options", "openvino:precision=f32"}), 2, {"is for 'openvino'"});
  const json one = report(on_fake(tiny(), {"--ep-options", "fake_ep:colour=blue", "--ep-options", "a:b=c"}));
  EXPECT_EQ(one["benchmark_info"]["ep_options"], json({{"a:b", "c"}, {"colour", "blue"}}));
}

TEST_F(PerfComparison, DeviceClassesAreComparedToo) {
  int code = -1;
  const json document = precast_.json(precast_.fake(perf(tiny(), {"--compare-devices", "cpu,npu"})), &code);
  EXPECT_EQ(code, 3) << document.dump(2);
  EXPECT_EQ(document["report"]["targets"][0]["target"], "fake_ep/cpu");
  EXPECT_TRUE(document["report"]["targets"][0]["error"].is_null());
  EXPECT_EQ(document["report"]["targets"][1]["error"]["code"], "ep_unavailable");
}

TEST_F(PerfComparison, AComparisonWantsTwoAndOneCaller) {
  expect_error(perf(tiny(), {"--compare-ep", "cpu"}), 2, {"--compare-ep names only one target"});
  expect_error(perf(tiny(), {"--compare-devices", "cpu"}), 2, {"--compare-devices names only one target"});
  expect_error(perf(tiny(), {"--compare-devices", "cpu,tpu"}), 2, {"--compare-devices"});
  expect_error(perf(tiny(), {"--compare-ep", "cpu,cpu", "--concurrency", "2"}), 2, {"--concurrency"});
  expect_error(perf(tiny(), {"--compare-ep", "cpu,cpu", "--compare-devices", "cpu,cpu"}), 2, {"--compare-ep"});
}

TEST_F(PerfComparison, TheRatioIsThatOfTheMedians) {
  const json one =
      report(with_fake(perf(tiny(), {"--compare-ep", "fake_ep,fake_ep", "--ep-options", "fault=slow=4@compute"})));
  const auto median = [&](std::size_t target) { return one["targets"][target]["latency_ms"]["p50"].get<double>(); };
  EXPECT_NEAR(one["ratios"][0]["median_ratio"].get<double>(), median(1) / median(0), 0.001);
}

}  // namespace
}  // namespace precast::testing
