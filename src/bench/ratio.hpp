// How much larger one list of samples is than another: the ratio of their medians and how sure it is.
//
//   const auto ratio = ratio_of_medians(npu_ms, cpu_ms, seed);
//   if (ratio && ratio->ci95_high && *ratio->ci95_high < 1) ...  // faster, and not by chance
//
// The same samples and seed give the same numbers on every machine and with every standard library. Free-threaded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace precast::bench {

struct Ratio {
  double median_ratio = 0;  // median of a / median of b
  // Both or neither: none where there is one sample, or a resample's ratio does not exist.
  std::optional<double> ci95_low;
  std::optional<double> ci95_high;
};

// Interleaved rounds: a[i] and b[i] were measured in the same round, so what disturbed the machine disturbed both.
// Lists of one length are taken for that, and whole rounds are drawn; of lists of different lengths each is drawn on
// its own. Rounds are taken for independent of each other. A round in which a sample is not finite is left out.
//
// The interval is that of the percentile bootstrap of 2000 resamples. Of more than 5000 samples each resample draws
// only 5000 and its medians' distances from the true ones are made smaller by sqrt(5000 / n) (the m out of n bootstrap:
// a median's error falls with the root of n), so that a million samples take no longer than 5000.
//
// nullopt: no samples in one of them, or a median that is 0, or a ratio that no double holds.
[[nodiscard]] std::optional<Ratio> ratio_of_medians(std::span<const double> a, std::span<const double> b,
                                                    std::uint64_t seed);

}  // namespace precast::bench
