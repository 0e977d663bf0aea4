#include "bench/ratio.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace precast::bench {
namespace {

constexpr std::size_t kResamples = 2000;
constexpr std::size_t kBeyondEnd = kResamples / 40;  // 2.5 % at either end
constexpr std::size_t kMostDrawn = 5000;

// Standard libraries give std::mt19937 the same bits, but not the distributions that would make numbers of them.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  // Uniform in [0, n).
  std::size_t below(std::uint64_t n) {
    // The lowest few are drawn again, so that what is left is a multiple of n.
    const std::uint64_t uneven = (0 - n) % n;
    std::uint64_t drawn = next();
    while (drawn < uneven) drawn = next();
    return static_cast<std::size_t>(drawn % n);
  }

 private:
  std::uint64_t next() {  // SplitMix64
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }
  std::uint64_t state_;
};

// Puts them into another order. Halves are added: the sum of two may be larger than any double.
double median(std::vector<double>& samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, middle);
  if (samples.size() % 2 == 1) return *middle;
  return *std::max_element(samples.begin(), middle) / 2 + *middle / 2;
}

// One of the lists, and what is drawn from it.
class List {
 public:
  explicit List(std::vector<double> samples) : samples_(std::move(samples)) {
    std::vector<double> all = samples_;
    median_ = bench::median(all);
    drawn_.resize(std::min(samples_.size(), kMostDrawn));
    shrink_ = std::sqrt(static_cast<double>(drawn_.size()) / static_cast<double>(samples_.size()));
  }
  [[nodiscard]] std::size_t size() const { return samples_.size(); }
  [[nodiscard]] std::size_t draws() const { return drawn_.size(); }
  [[nodiscard]] double median() const { return median_; }
  void draw(std::size_t place, std::size_t sample) { drawn_[place] = samples_[sample]; }
  // Of what was drawn.
  [[nodiscard]] double drawn_median() {
    const double drawn = bench::median(drawn_);
    return shrink_ == 1 ? drawn : median_ + (drawn - median_) * shrink_;
  }

 private:
  std::vector<double> samples_;
  std::vector<double> drawn_;
  double median_ = 0;
  double shrink_ = 1;
};

void draw_rounds(List& a, List& b, Random& random) {
  for (std::size_t i = 0; i < a.draws(); ++i) {
    const std::size_t round = random.below(a.size());
    a.draw(i, round);
    b.draw(i, round);
  }
}

void draw_alone(List& list, Random& random) {
  for (std::size_t i = 0; i < list.draws(); ++i) list.draw(i, random.below(list.size()));
}

// Empty where one of them does not exist.
std::vector<double> resampled_ratios(List& a, List& b, bool paired, Random random) {
  std::vector<double> ratios;
  ratios.reserve(kResamples);
  while (ratios.size() < kResamples) {
    if (paired) {
      draw_rounds(a, b, random);
    } else {
      draw_alone(a, random);
      draw_alone(b, random);
    }
    const double ratio = a.drawn_median() / b.drawn_median();
    if (!std::isfinite(ratio)) return {};
    ratios.push_back(ratio);
  }
  return ratios;
}

std::vector<double> finite_of(std::span<const double> samples) {
  std::vector<double> finite(samples.begin(), samples.end());
  std::erase_if(finite, [](double sample) { return !std::isfinite(sample); });
  return finite;
}

}  // namespace

std::optional<Ratio> ratio_of_medians(std::span<const double> a, std::span<const double> b, std::uint64_t seed) {
  const bool paired = a.size() == b.size();
  std::vector<double> of_a;
  std::vector<double> of_b;
  if (paired) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!std::isfinite(a[i]) || !std::isfinite(b[i])) continue;
      of_a.push_back(a[i]);
      of_b.push_back(b[i]);
    }
  } else {
    of_a = finite_of(a);
    of_b = finite_of(b);
  }
  if (of_a.empty() || of_b.empty()) return std::nullopt;
  List list_a(std::move(of_a));
  List list_b(std::move(of_b));
  Ratio ratio{.median_ratio = list_a.median() / list_b.median()};
  if (list_a.median() == 0 || list_b.median() == 0 || !std::isfinite(ratio.median_ratio)) return std::nullopt;
  if (list_a.size() == 1 || list_b.size() == 1) return ratio;

  std::vector<double> ratios = resampled_ratios(list_a, list_b, paired, Random(seed));
  if (ratios.empty()) return ratio;
  std::ranges::sort(ratios);
  ratio.ci95_low = ratios[kBeyondEnd];
  ratio.ci95_high = ratios[kResamples - 1 - kBeyondEnd];
  return ratio;
}

}  // namespace precast::bench
