// What a list of samples says: moments, extremes and percentiles.
//
//   const Summary s = summarise(latencies_ms);
//   if (s.p99) fmt::print("p99 {} ms; {}\n", *s.p99, s.note);
//
// A number that does not exist is nullopt, never 0, NaN or infinity. Percentiles are those of NumPy's method "linear"
// (Hyndman and Fan's type 7). Free-threaded.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace precast::bench {

inline constexpr std::string_view kPercentileMethod = "linear interpolation";

struct Summary {
  std::size_t n = 0;
  std::optional<double> mean;  // n >= 1, as are min, max and p50
  std::optional<double> std;   // of a sample (n - 1); n >= 2, as are the percentiles above p50
  std::optional<double> min;
  std::optional<double> max;
  std::optional<double> p50;
  std::optional<double> p90;
  std::optional<double> p95;
  std::optional<double> p99;
  std::optional<double> variation;  // coefficient of variation: std / |mean|; no mean of 0
  std::string note;  // which percentiles n is too small for ("3 samples are too few for p90, ..."), or empty
};

// The numbers of a Summary that reports have, by their names there.
struct Statistic {
  const char* name;
  std::optional<double> Summary::* member;
};
inline constexpr std::array kStatistics = {Statistic{"mean", &Summary::mean}, Statistic{"std", &Summary::std},
                                           Statistic{"min", &Summary::min},   Statistic{"max", &Summary::max},
                                           Statistic{"p50", &Summary::p50},   Statistic{"p90", &Summary::p90},
                                           Statistic{"p95", &Summary::p95},   Statistic{"p99", &Summary::p99}};

// Samples that are not finite are left out.
[[nodiscard]] Summary summarise(std::span<const double> samples);

// "" or a sentence: p90 wants 10 samples, p95 20, p99 100, so that at least one lies beyond it.
[[nodiscard]] std::string too_few_note(std::size_t n);

// `part` in [0, 1]; `sorted` ascending, not empty.
[[nodiscard]] double percentile(std::span<const double> sorted, double part);

}  // namespace precast::bench
