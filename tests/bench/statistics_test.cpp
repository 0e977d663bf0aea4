// Against NumPy 2.4: mean, std(ddof=1), percentile (its default, "linear").
#include "bench/statistics.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace precast::bench {
namespace {

// The generator that the NumPy side used too: x' = (1103515245 x + 12345) mod 2^31, scaled to [1, 51).
std::vector<double> made_up(std::size_t n) {
  std::vector<double> samples;
  std::uint64_t x = 12345;
  for (std::size_t i = 0; i < n; ++i) {
    x = (1103515245 * x + 12345) % (1ULL << 31U);
    samples.push_back(static_cast<double>(x) / static_cast<double>(1ULL << 31U) * 50 + 1);
  }
  return samples;
}

struct Golden {
  double mean, std, min, max, p50, p90, p95, p99;
};

void expect_golden(const std::vector<double>& samples, const Golden& golden) {
  const Summary summary = summarise(samples);
  EXPECT_EQ(summary.n, samples.size());
  EXPECT_NEAR(summary.mean.value(), golden.mean, std::abs(golden.mean) * 1e-14);
  EXPECT_NEAR(summary.std.value(), golden.std, golden.std * 1e-12);
  EXPECT_EQ(summary.min.value(), golden.min);
  EXPECT_EQ(summary.max.value(), golden.max);
  EXPECT_NEAR(summary.p50.value(), golden.p50, golden.p50 * 1e-14);
  EXPECT_NEAR(summary.p90.value(), golden.p90, golden.p90 * 1e-14);
  EXPECT_NEAR(summary.p95.value(), golden.p95, golden.p95 * 1e-14);
  EXPECT_NEAR(summary.p99.value(), golden.p99, golden.p99 * 1e-14);
  EXPECT_NEAR(summary.variation.value(), golden.std / golden.mean, 1e-12);
}

TEST(Statistics, AgreesWithNumPyForTwo) {
  expect_golden({3.0, 1.5}, {2.25, 1.0606601717798212, 1.5, 3.0, 2.25, 2.85, 2.925, 2.985});
}

TEST(Statistics, AgreesWithNumPyForTies) {
  expect_golden({2, 2, 2, 2, 2, 7, 7, 7, 7, 7, 2.5, 2.5, 2.5},
                {4.038461538461538, 2.4449057451288594, 2.0, 7.0, 2.5, 7.0, 7.0, 7.0});
}

TEST(Statistics, AgreesWithNumPyForTen) {
  expect_golden(made_up(10), {22.75607247510925, 9.251952705399976, 6.3384241880849, 34.74803168699145,
                              22.596213639713824, 33.8567353496328, 34.302383518312126, 34.65890205325559});
}

TEST(Statistics, AgreesWithNumPyForAHundred) {
  expect_golden(made_up(100), {25.42903435556218, 14.300490999978093, 1.7852696580812335, 50.72541646566242,
                               25.699867598246783, 44.29550709575416, 49.04141744971275, 50.56277994043194});
}

TEST(Statistics, AgreesWithNumPyForAThousand) {
  expect_golden(made_up(1000), {25.845537488814443, 14.364130087693137, 1.0079098856076598, 50.9696716433391,
                                25.90547214401886, 45.631406157277524, 47.90251941559836, 50.390915466239676});
}

TEST(Statistics, KeepsItsDigitsWhereSamplesAreNearlyEqual) {
  expect_golden({1e9, 1e9 + 0.25, 1e9 + 0.5, 1e9 + 0.75},
                {1000000000.375, 0.3227486121839514, 1000000000.0, 1000000000.75, 1000000000.375, 1000000000.675,
                 1000000000.7125, 1000000000.7425});
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

  const Summary huge = summarise(std::vector{-1e308, 1e308});
  EXPECT_EQ(huge.std, std::nullopt);
  EXPECT_EQ(huge.variation, std::nullopt);
}

}  // namespace
}  // namespace precast::bench
