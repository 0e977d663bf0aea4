// The tables of fields that an OrtReport's is made of (ort_report.hpp).
#pragma once

#include <array>

#include "bench/ort_report.hpp"
#include "bench/statistics.hpp"

namespace precast::bench {

struct Statistic {
  const char* name;
  std::optional<double> Summary::* member;
  Shown shown;  // of a latency
};
inline constexpr std::array kStatistics = {
    Statistic{"mean", &Summary::mean, Shown::headline}, Statistic{"std", &Summary::std, Shown::people},
    Statistic{"min", &Summary::min, Shown::people},     Statistic{"max", &Summary::max, Shown::people},
    Statistic{"p50", &Summary::p50, Shown::headline},   Statistic{"p90", &Summary::p90, Shown::people},
    Statistic{"p95", &Summary::p95, Shown::people},     Statistic{"p99", &Summary::p99, Shown::headline}};

[[nodiscard]] Fields<OrtBenchmarkInfo> benchmark_info_fields();
[[nodiscard]] Fields<OrtModelInfo> model_info_fields();
// Per caller, where there are several.
[[nodiscard]] FieldOf<OrtReport> callers_field();
void append_phases(Fields<OrtReport>& fields);
void append_check(Fields<OrtReport>& fields);
void append_op_tracing(Fields<OrtReport>& fields);

}  // namespace precast::bench
