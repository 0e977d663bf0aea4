# Makes ../golden_statistics.hpp: what NumPy says of samples that statistics_test.cpp and ratio_test.cpp have too.
#   tools/python tests/bench/data/golden_statistics.py > tests/bench/golden_statistics.hpp
# Numbers are written in as many digits as it takes to read the same ones again.
import numpy as np

random = np.random.default_rng(20260101)


def number(value):
    return repr(float(value))


def numbers(values):
    return ", ".join(number(value) for value in values)


def case(name, samples):
    samples = np.array(samples, dtype=np.float64)
    # In long double, which 1e300 squared fits.
    wide = samples.astype(np.longdouble)
    mean = wide.mean()
    std = wide.std(ddof=1) if len(samples) > 1 else None
    percentiles = np.percentile(samples, [50, 90, 95, 99])
    values = [mean, std, samples.min(), samples.max(), *percentiles, std / abs(mean) if std is not None and mean else None]
    known = ", ".join("std::nullopt" if value is None else number(value) for value in values)
    print(f'    {{"{name}", {{{numbers(samples)}}}, {known}}},')


MASK = (1 << 64) - 1


class SplitMix64:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        while True:
            drawn = self.next()
            if drawn >= (1 << 64) % n:
                return drawn % n


def ratio_case(name, a, b, seed):
    a, b = np.array(a), np.array(b)
    draw = SplitMix64(seed)
    ratios = []
    for _ in range(2000):
        rounds_a = [draw.below(len(a)) for _ in a]
        rounds_b = rounds_a if len(a) == len(b) else [draw.below(len(b)) for _ in b]
        ratios.append(np.median(a[rounds_a]) / np.median(b[rounds_b]))
    ratios.sort()
    values = [np.median(a) / np.median(b), ratios[50], ratios[1949]]
    print(f'    {{"{name}", {{{numbers(a)}}}, {{{numbers(b)}}}, {seed}U, {numbers(values)}}},')


print(f"""// Made by tests/bench/data/golden_statistics.py with NumPy {np.__version__}; do not edit.
// clang-format off
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace precast::bench {{

struct GoldenSummary {{
  const char* name;
  std::vector<double> samples;
  double mean;
  std::optional<double> std;
  double min;
  double max;
  double p50;
  double p90;
  double p95;
  double p99;
  std::optional<double> variation;
}};

struct GoldenRatio {{
  const char* name;
  std::vector<double> a;
  std::vector<double> b;
  std::uint64_t seed;
  double median_ratio;
  double ci95_low;
  double ci95_high;
}};

inline const std::vector<GoldenSummary> kGoldenSummaries = {{""")
for n in (1, 2, 10, 100, 1000):
    case(f"lognormal {n}", np.round(random.lognormal(1, 1, n), 3))
case("ties", [2, 2, 2, 2, 2, 7, 7, 7, 7, 7, 2.5, 2.5, 2.5])
case("ties at the percentiles", [1] * 85 + [3] * 10 + [9] * 5)
case("constant", [3.7] * 10)
case("constant 100", [0.1] * 100)
case("negative", -np.round(random.lognormal(1, 1, 10), 3))
case("around zero", np.round(random.normal(0, 5, 100), 3))
case("zeros", [0] * 10)
case("huge", 1e300 * (1 + np.arange(10) / 16))
case("huge and of either sign", [-1e300, 1e300, 5e299, -2e299, 1e298])
case("tiny", 1e-300 * (1 + np.arange(10) / 16))
case("subnormal", 5e-324 * (1 + np.arange(10)))
case("nearly equal", 1e9 + np.arange(4) / 4)
case("one that is far away", [1] * 99 + [1e6])
case("falling", np.arange(100, 0, -1))
print("""};

inline const std::vector<GoldenRatio> kGoldenRatios = {""")
base = np.round(random.lognormal(1, 0.3, 25), 3)
ratio_case("rounds", np.round(base * 1.5, 3), np.round(base * random.lognormal(0, 0.1, 25), 3), 1)
ratio_case("an even number of rounds", np.round(random.lognormal(0, 1, 8), 3), np.round(random.lognormal(0, 1, 8), 3), 2**64 - 1)
ratio_case("two rounds", [1.0, 2.0], [4.0, 3.0], 7)
ratio_case("lists of different lengths", np.round(random.lognormal(1, 1, 15), 3), np.round(random.lognormal(2, 1, 20), 3), 0)
print("""};

}  // namespace precast::bench
// clang-format on""")
