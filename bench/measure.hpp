// Running programs and comparing what they took: interleaved, as ratios of medians with a bootstrap interval.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace precast::bench {

struct Program {
  std::vector<std::string> command;                // argv[0] is a path
  std::map<std::string, std::string> environment;  // in addition to this process's
};

struct Sample {
  double wall_ms = 0;
  double peak_mb = 0;                   // ru_maxrss: of it and of the children that it waited for
  double own_peak_mb = 0;               // of it alone, as last seen (every 10 ms)
  std::map<std::string, double> parts;  // numbers of the one-line JSON it printed ("open_ms", "session_open", ...)
};

// Runs it to its end; throws std::runtime_error when it fails, with what it said.
[[nodiscard]] Sample run(const Program& program);
// Starts `count` of them at once and waits for all: the wall time of the whole.
[[nodiscard]] double run_at_once(const Program& program, int count);

struct Comparison {
  double ours = 0;    // median
  double theirs = 0;  // median
  double ratio = 0;   // of the medians
  double low = 0;     // 95 % bootstrap interval of the ratio
  double high = 0;
  double extra = 0;  // median of the paired differences ours - theirs
};
// Of as many as the other: pairs are drawn together, for what disturbed the machine disturbed both (bench/ratio.hpp).
[[nodiscard]] Comparison compare(const std::vector<double>& ours, const std::vector<double>& theirs);
[[nodiscard]] double median(std::vector<double> values);

// A benchmark's exit code: 1 where `body` threw, with its words on stderr.
[[nodiscard]] int run_to_end(const char* program, const std::function<void()>& body);

}  // namespace precast::bench
