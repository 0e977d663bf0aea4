#include "bench/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "util/text.hpp"

namespace precast::bench {
namespace {

std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

struct Moments {
  double mean = 0;
  double square_sum = 0;  // of the distances from the mean
};

// Such that the largest sample divided by 2^exponent is about 1: else squares of 1e200 are infinite and those of 1e-200
// are 0, though the deviation is neither.
int exponent_of(std::span<const double> sorted) {
  const double largest = std::max(std::abs(sorted.front()), std::abs(sorted.back()));
  return largest > 0 ? std::ilogb(largest) : 0;
}

// Of the samples divided by 2^exponent, by Welford's recurrence: neither the sum overflows nor do nearly equal samples
// cancel each other out.
Moments moments_of(std::span<const double> samples, int exponent) {
  Moments moments;
  double n = 0;
  for (const double unscaled : samples) {
    const double sample = std::scalbn(unscaled, -exponent);
    n += 1;
    const double distance = sample - moments.mean;
    moments.mean += distance / n;
    moments.square_sum += distance * (sample - moments.mean);
  }
  return moments;
}

}  // namespace

double percentile(std::span<const double> sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

std::string too_few_note(std::size_t n) {
  std::vector<std::string> missing;
  if (n == 0) return "no samples";
  for (const auto& [name, needed] : {std::pair<const char*, std::size_t>{"p90", 10}, {"p95", 20}, {"p99", 100}}) {
    if (n < needed) missing.emplace_back(name);
  }
  if (missing.empty()) return {};
  return fmt::format("{} too few for {}", n == 1 ? "1 sample is" : fmt::format("{} samples are", n),
                     util::listed(missing, missing.size()));
}

Summary summarise(std::span<const double> samples) {
  std::vector<double> sorted;
  sorted.reserve(samples.size());
  std::ranges::copy_if(samples, std::back_inserter(sorted), [](double sample) { return std::isfinite(sample); });
  std::ranges::sort(sorted);
  Summary summary{.n = sorted.size(), .note = too_few_note(sorted.size())};
  if (sorted.empty()) return summary;

  const int exponent = exponent_of(sorted);
  const Moments moments = moments_of(sorted, exponent);
  summary.mean = finite(std::scalbn(moments.mean, exponent));
  summary.min = sorted.front();
  summary.max = sorted.back();
  summary.p50 = percentile(sorted, 0.5);
  if (sorted.size() < 2) return summary;

  const double deviation = std::sqrt(moments.square_sum / static_cast<double>(sorted.size() - 1));
  summary.std = finite(std::scalbn(deviation, exponent));
  summary.p90 = percentile(sorted, 0.9);
  summary.p95 = percentile(sorted, 0.95);
  summary.p99 = percentile(sorted, 0.99);
  summary.variation = finite(deviation / std::abs(moments.mean));
  return summary;
}

}  // namespace precast::bench
