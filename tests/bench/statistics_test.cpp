// Against NumPy: mean, std(ddof=1), percentile (its default, "linear").
#include "bench/statistics.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "bench/golden_statistics.hpp"

namespace precast::bench {
namespace {

// Relative, but for the smallest doubles, which have few digits.
void expect_close(std::optional<double> value, double golden, double relative) {
  ASSERT_TRUE(value);
  EXPECT_NEAR(*value, golden, std::abs(golden) * relative + 5e-324);
}

TEST(Statistics, AgreesWithNumPy) {
  ASSERT_GE(kGoldenSummaries.size(), 10U);
  for (const GoldenSummary& golden : kGoldenSummaries) {
    SCOPED_TRACE(golden.name);
    const Summary summary = summarise(golden.samples);
    EXPECT_EQ(summary.n, golden.samples.size());
    EXPECT_EQ(summary.note, too_few_note(golden.samples.size()));
    expect_close(summary.mean, golden.mean, 1e-13);
    EXPECT_EQ(summary.min, golden.min);
    EXPECT_EQ(summary.max, golden.max);
    expect_close(summary.p50, golden.p50, 1e-14);
    if (!golden.std) {  // of one sample NumPy has percentiles, and precast has not
      EXPECT_EQ(golden.samples.size(), 1U);
      for (const auto& none : {summary.std, summary.variation, summary.p90, summary.p95, summary.p99}) {
        EXPECT_EQ(none, std::nullopt);
      }
      continue;
    }
    expect_close(summary.std, *golden.std, 1e-12);
    expect_close(summary.p90, golden.p90, 1e-14);
    expect_close(summary.p95, golden.p95, 1e-14);
    expect_close(summary.p99, golden.p99, 1e-14);
    EXPECT_EQ(summary.variation.has_value(), golden.variation.has_value());
    if (golden.variation) expect_close(summary.variation, *golden.variation, 1e-12);
  }
}

TEST(Statistics, TheOrderOfSamplesDoesNotMatter) {
  for (const GoldenSummary& golden : kGoldenSummaries) {
    const Summary one = summarise(golden.samples);
    const Summary other = summarise(std::vector(golden.samples.rbegin(), golden.samples.rend()));
    EXPECT_EQ(one.mean, other.mean) << golden.name;
    EXPECT_EQ(one.std, other.std) << golden.name;
    EXPECT_EQ(one.p99, other.p99) << golden.name;
  }
}

TEST(Statistics, NothingExistsWithoutSamples) {
  const Summary summary = summarise({});
  EXPECT_EQ(summary.n, 0U);
  for (const auto& number : {summary.mean, summary.std, summary.min, summary.max, summary.p50, summary.p90, summary.p95,
                             summary.p99, summary.variation}) {
    EXPECT_EQ(number, std::nullopt);
  }
  EXPECT_EQ(summary.note, "no samples");
}

TEST(Statistics, OneSampleHasNoSpreadAndNoHighPercentiles) {
  const Summary summary = summarise(std::vector{4.25});
  EXPECT_EQ(summary.n, 1U);
  for (const auto& number : {summary.mean, summary.min, summary.max, summary.p50}) EXPECT_EQ(number, 4.25);
  for (const auto& number : {summary.std, summary.p90, summary.p95, summary.p99, summary.variation}) {
    EXPECT_EQ(number, std::nullopt);
  }
  EXPECT_EQ(summary.note, "1 sample is too few for p90, p95, p99");
}

TEST(Statistics, SaysWhichPercentilesWantMoreSamples) {
  EXPECT_EQ(too_few_note(9), "9 samples are too few for p90, p95, p99");
  EXPECT_EQ(too_few_note(10), "10 samples are too few for p95, p99");
  EXPECT_EQ(too_few_note(19), "19 samples are too few for p95, p99");
  EXPECT_EQ(too_few_note(20), "20 samples are too few for p99");
  EXPECT_EQ(too_few_note(99), "99 samples are too few for p99");
  EXPECT_EQ(too_few_note(100), "");
}

TEST(Statistics, NeverGivesNaNOrInfinity) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Summary holes = summarise(std::vector{1.0, infinity, std::nan(""), 3.0});
  EXPECT_EQ(holes.n, 2U);
  EXPECT_EQ(holes.mean, 2.0);

  const Summary zeros = summarise(std::vector{0.0, 0.0});
  EXPECT_EQ(zeros.std, 0.0);
  EXPECT_EQ(zeros.variation, std::nullopt);

  // A deviation of 1.4 times the largest double.
  const double largest = std::numeric_limits<double>::max();
  const Summary huge = summarise(std::vector{-largest, largest});
  EXPECT_EQ(huge.mean, 0.0);
  EXPECT_EQ(huge.std, std::nullopt);
  EXPECT_EQ(huge.variation, std::nullopt);
  EXPECT_EQ(summarise(std::vector{largest, largest}).mean, largest);
  EXPECT_EQ(summarise(std::vector{infinity, -infinity, std::nan("")}).n, 0U);
}

}  // namespace
}  // namespace precast::bench
