#include "bench/op_trace.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "bench/profile_events.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::bench {
namespace {

constexpr std::string_view kKernelSuffix = "_kernel_time";
constexpr double kUsPerMs = 1000;

// op_type, node, provider
using Key = std::tuple<std::string, std::string, std::string>;

struct Sum {
  std::uint64_t count = 0;
  double us = 0;
};
using Sums = std::map<Key, Sum>;

// What of a kernel's time belongs to kernels inside it. Events come in the order in which they end, so those inside
// one come before it.
class Nesting {
 public:
  double inner_us(const ProfileEvent& kernel) {
    if (!kernel.thread || !kernel.begin_us) return 0;
    std::vector<Ended>& before = ended_[*kernel.thread];
    double inner = 0;
    while (!before.empty() && before.back().begin_us >= *kernel.begin_us) {
      inner += before.back().us;
      before.pop_back();
    }
    before.push_back({*kernel.begin_us, *kernel.duration_us});
    return inner;
  }
  // What ended within a run is inside nothing that comes later: the list stays as short as a run.
  void run_ends(const ProfileEvent& run) {
    if (run.thread) ended_.erase(*run.thread);
    for (auto& [thread, before] : ended_) {
      std::erase_if(before, [&](const Ended& kernel) { return kernel.begin_us < run.begin_us.value_or(0); });
    }
  }

 private:
  struct Ended {
    double begin_us;
    double us;
  };
  std::map<std::int64_t, std::vector<Ended>> ended_;  // by thread
};

class Collector {
 public:
  explicit Collector(std::uint64_t skip_runs) : skip_runs_(skip_runs) {}

  void take(ProfileEvent& event) {
    if (event.category == "Node" && event.name.ends_with(kKernelSuffix))
      take_kernel(event);
    else if (event.category == "Kernel")
      take_inside(event);
    else if (event.category == "Session" && event.name == "model_run")
      take_run(event);
    else if (event.dropped_events)
      dropped_ += static_cast<std::uint64_t>(std::min(*event.dropped_events, kMost));
  }

  [[nodiscard]] bool any_kernel() const { return kernel_seen_; }
  [[nodiscard]] std::uint64_t runs_seen() const { return runs_; }
  [[nodiscard]] const Sums& kernels() const { return kernels_; }
  [[nodiscard]] const Sums& inside() const { return inside_; }
  [[nodiscard]] std::uint64_t runs() const { return runs_ - std::min(runs_, skip_runs_); }
  [[nodiscard]] std::uint64_t without_time() const { return without_time_; }
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }

 private:
  static constexpr double kMost = 9e15;  // a double's whole numbers
  [[nodiscard]] bool skipping() const { return runs_ < skip_runs_; }

  void take_run(const ProfileEvent& run) {
    if (skipping())
      skipped_until_us_ = std::max(skipped_until_us_, run.begin_us.value_or(0) + run.duration_us.value_or(0));
    ++runs_;
    nesting_.run_ends(run);
  }

  void take_kernel(ProfileEvent& kernel) {
    if (kernel.duration_us && *kernel.duration_us > kMost) kernel.duration_us.reset();
    kernel_seen_ = kernel_seen_ || kernel.duration_us;
    if (skipping()) return;
    if (!kernel.duration_us) {
      ++without_time_;
      return;
    }
    const double inner = nesting_.inner_us(kernel);
    kernel.name.resize(kernel.name.size() - kKernelSuffix.size());
    // ORT names them "<provider>_<hash of the model>_<number>".
    if (!kernel.provider.empty() && kernel.op_type.starts_with(kernel.provider + "_")) kernel.op_type = kCompiledPart;
    add(kernels_, kernel, std::max(0.0, *kernel.duration_us - inner));
  }

  // An EP's events stand after all runs, whenever they were: only their time tells the run.
  void take_inside(ProfileEvent& kernel) {
    if (skipping() || (skip_runs_ > 0 && kernel.begin_us.value_or(0) < skipped_until_us_)) return;
    if (!kernel.duration_us || *kernel.duration_us > kMost) return;
    add(inside_, kernel, *kernel.duration_us);
  }

  static void add(Sums& sums, ProfileEvent& event, double us) {
    Sum& sum = sums[{std::move(event.op_type), std::move(event.name), std::move(event.provider)}];
    ++sum.count;
    sum.us += us;
  }

  std::uint64_t skip_runs_;
  std::uint64_t runs_ = 0;
  std::uint64_t without_time_ = 0;
  std::uint64_t dropped_ = 0;
  double skipped_until_us_ = 0;
  bool kernel_seen_ = false;
  Nesting nesting_;
  Sums kernels_;
  Sums inside_;
};

double total_us(const Sums& sums) {
  double total = 0;
  for (const auto& [key, sum] : sums) total += sum.us;
  return total;
}

std::optional<double> share(double us, double of_us) {
  return of_us > 0 ? std::optional(us / of_us * 100) : std::nullopt;
}

bool comes_before(const OpTime& a, const OpTime& b) {
  return std::tie(b.total_ms, a.op_type, a.node, a.provider) < std::tie(a.total_ms, b.op_type, b.node, b.provider);
}
bool comes_before(const ProviderTime& a, const ProviderTime& b) {
  return std::tie(b.total_ms, a.provider) < std::tie(a.total_ms, b.provider);
}

template <typename Row>
void sort_by_total(std::vector<Row>& rows) {
  std::ranges::sort(rows, [](const Row& a, const Row& b) { return comes_before(a, b); });
}

std::vector<OpTime> rows_of(const Sums& sums) {
  const double total = total_us(sums);
  std::vector<OpTime> rows;
  rows.reserve(sums.size());
  for (const auto& [key, sum] : sums) {
    const auto& [op_type, node, provider] = key;
    rows.push_back({.op_type = op_type,
                    .node = node,
                    .provider = provider,
                    .count = sum.count,
                    .total_ms = sum.us / kUsPerMs,
                    .mean_ms = sum.us / kUsPerMs / static_cast<double>(sum.count),
                    .share_pct = share(sum.us, total)});
  }
  sort_by_total(rows);
  return rows;
}

Sums without_nodes(const Sums& sums) {
  Sums merged;
  for (const auto& [key, sum] : sums) {
    Sum& into = merged[{std::get<0>(key), std::string(), std::get<2>(key)}];
    into.count += sum.count;
    into.us += sum.us;
  }
  return merged;
}

std::vector<ProviderTime> providers_of(const Sums& sums) {
  std::map<std::string, Sum> merged;
  for (const auto& [key, sum] : sums) {
    Sum& into = merged[std::get<2>(key)];
    into.count += sum.count;
    into.us += sum.us;
  }
  const double total = total_us(sums);
  std::vector<ProviderTime> rows;
  rows.reserve(merged.size());
  for (const auto& [provider, sum] : merged) {
    rows.push_back({provider, sum.count, sum.us / kUsPerMs, share(sum.us, total)});
  }
  sort_by_total(rows);
  return rows;
}

}  // namespace

Result<OpTrace> read_op_trace(const std::filesystem::path& profile, std::uint64_t skip_runs) {
  Collector collected(skip_runs);
  PRECAST_TRY(read_profile_events(profile, [&](ProfileEvent& event) { collected.take(event); }));
  if (!collected.any_kernel()) {
    return fail(ErrorCode::corrupt, fmt::format("the profile {} has no time of any operator", util::quoted(profile)),
                profile, "measure again with at least one run of the session while it is profiled");
  }
  if (collected.kernels().empty()) {
    return fail(
        ErrorCode::bad_input,
        fmt::format("the profile {} has {} run{}: without the first {} no operator is left", util::quoted(profile),
                    collected.runs_seen(), collected.runs_seen() == 1 ? "" : "s", skip_runs),
        profile, "measure more runs, or fewer warm-ups");
  }
  return OpTrace{.by_type = rows_of(without_nodes(collected.kernels())),
                 .by_node = rows_of(collected.kernels()),
                 .by_provider = providers_of(collected.kernels()),
                 .total_ms = total_us(collected.kernels()) / kUsPerMs,
                 .runs = collected.runs(),
                 .inside_by_type = rows_of(without_nodes(collected.inside())),
                 .inside_by_node = rows_of(collected.inside()),
                 .inside_total_ms = total_us(collected.inside()) / kUsPerMs,
                 .without_time = collected.without_time(),
                 .dropped_events = collected.dropped()};
}

}  // namespace precast::bench
