#include "bench/ratio.hpp"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "bench/golden_statistics.hpp"

namespace precast::bench {
namespace {

constexpr std::uint64_t kSeed = 1;

// Made-up noise around 1, the same on every machine: the mean of twelve uniform numbers is nearly normal.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : state_(seed) {}
  double next(double deviation) {
    double sum = 0;
    for (int i = 0; i < 12; ++i) {
      state_ = state_ * 6364136223846793005U + 1442695040888963407U;
      sum += static_cast<double>(state_ >> 40U) / static_cast<double>(1U << 24U);
    }
    return 1 + (sum - 6) * deviation;
  }
  std::vector<double> list(std::size_t n, double deviation) {
    std::vector<double> samples(n);
    for (double& sample : samples) sample = next(deviation);
    return samples;
  }

 private:
  std::uint64_t state_;
};

Ratio ratio_of(const std::vector<double>& a, const std::vector<double>& b, std::uint64_t seed = kSeed) {
  const auto ratio = ratio_of_medians(a, b, seed);
  EXPECT_TRUE(ratio);
  return ratio.value_or(Ratio{});
}

// The interval too: the NumPy side has a generator and a bootstrap of its own.
TEST(RatioOfMedians, AgreesWithNumPy) {
  for (const GoldenRatio& golden : kGoldenRatios) {
    SCOPED_TRACE(golden.name);
    const Ratio ratio = ratio_of(golden.a, golden.b, golden.seed);
    EXPECT_NEAR(ratio.median_ratio, golden.median_ratio, 1e-14);
    EXPECT_NEAR(ratio.ci95_low.value(), golden.ci95_low, 1e-14);
    EXPECT_NEAR(ratio.ci95_high.value(), golden.ci95_high, 1e-13);
  }
  EXPECT_GE(kGoldenRatios.size(), 4U);
}

TEST(RatioOfMedians, TheSeedDecides) {
  Noise noise(3);
  const auto a = noise.list(40, 0.2);
  const auto b = noise.list(40, 0.2);
  EXPECT_EQ(ratio_of(a, b, 5).ci95_low, ratio_of(a, b, 5).ci95_low);
  EXPECT_NE(ratio_of(a, b, 5).ci95_low, ratio_of(a, b, 6).ci95_low);
}

TEST(RatioOfMedians, ItsIntervalHoldsTheTruthInAboutNineteenOfTwentyCases) {
  for (const std::size_t other : {std::size_t{30}, std::size_t{31}}) {  // as rounds, and each on its own
    int held = 0;
    for (std::uint64_t trial = 1; trial <= 200; ++trial) {
      Noise noise(trial * 7919);
      const auto a = noise.list(30, 0.1);
      const Ratio ratio = ratio_of(a, noise.list(other, 0.1), trial);
      if (ratio.ci95_low.value() <= 1 && 1 <= ratio.ci95_high.value()) ++held;
    }
    EXPECT_GE(held, 178) << other;
    EXPECT_LE(held, 199) << other;
  }
}

TEST(RatioOfMedians, WhatSlowsBothDownCancels) {
  Noise noise(11);
  std::vector<double> a;
  std::vector<double> b;
  for (int round = 0; round < 60; ++round) {
    const double machine = 1 + 0.05 * round;  // four times slower at the end
    a.push_back(machine * 1.05 * noise.next(0.005));
    b.push_back(machine * noise.next(0.005));
  }
  const Ratio together = ratio_of(a, b);
  EXPECT_NEAR(together.median_ratio, 1.05, 0.02);
  EXPECT_GT(together.ci95_low.value(), 1.02);
  EXPECT_LT(together.ci95_high.value(), 1.08);

  b.push_back(b.front());  // no rounds any more: nothing is known of what was measured when
  const Ratio apart = ratio_of(a, b);
  EXPECT_LT(apart.ci95_low.value(), 0.9);
  EXPECT_GT(apart.ci95_high.value(), 1.2);
}

TEST(RatioOfMedians, OneSampleHasNoInterval) {
  const Ratio pair = ratio_of({3}, {2});
  EXPECT_EQ(pair.median_ratio, 1.5);
  EXPECT_EQ(pair.ci95_low, std::nullopt);
  EXPECT_EQ(pair.ci95_high, std::nullopt);
  EXPECT_EQ(ratio_of({3}, {2, 2, 2}).ci95_low, std::nullopt);
  EXPECT_EQ(ratio_of({3, 3, 3}, {2}).ci95_high, std::nullopt);
}

TEST(RatioOfMedians, WhatDoesNotExistIsNotThere) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> some = {1, 2, 3};
  for (const std::vector<double>& none :
       std::vector<std::vector<double>>{{}, {nan}, {infinity, -infinity, nan}, {0, 0, 0}, {0, 0, 5, 0}, {-1, 1}}) {
    EXPECT_FALSE(ratio_of_medians(some, none, kSeed));
    EXPECT_FALSE(ratio_of_medians(none, some, kSeed));
  }
  EXPECT_FALSE(ratio_of_medians(std::vector{1e300}, std::vector{1e-300}, kSeed));
  // The median exists; that of a resample of zeros alone has no ratio.
  const Ratio sometimes = ratio_of({1, 2, 3}, {0, 1, 1});
  EXPECT_EQ(sometimes.median_ratio, 2.0);
  EXPECT_EQ(sometimes.ci95_low, std::nullopt);
  EXPECT_EQ(sometimes.ci95_high, std::nullopt);
  EXPECT_EQ(ratio_of({1e308, 1e308}, {1.5e308, 1.5e308}).median_ratio, 1e308 / 1.5e308);
}

TEST(RatioOfMedians, ARoundWithAHoleIsLeftOutWhole) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Ratio whole = ratio_of({1, 2, 9}, {4, 5, 6});
  const Ratio holes = ratio_of({nan, 1, 2, 100, 9}, {77, 4, 5, nan, 6});
  EXPECT_EQ(holes.median_ratio, whole.median_ratio);
  EXPECT_EQ(holes.ci95_low, whole.ci95_low);
  EXPECT_EQ(holes.ci95_high, whole.ci95_high);
}

// A median's error falls with the root of n: as wide as the interval of all of them would be.
TEST(RatioOfMedians, AMillionSamplesHaveANarrowInterval) {
  Noise noise(17);
  const auto width = [&noise](std::size_t n) {
    const auto a = noise.list(n, 0.1);
    const Ratio ratio = ratio_of(a, noise.list(n, 0.1));
    EXPECT_NEAR(ratio.median_ratio, 1, 0.02);
    return ratio.ci95_high.value() - ratio.ci95_low.value();
  };
  const double few = width(5000);
  const double many = width(500'000);
  EXPECT_NEAR(few / many, 10, 2.5);
}

}  // namespace
}  // namespace precast::bench
