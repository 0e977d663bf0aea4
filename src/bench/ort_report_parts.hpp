// The tables of fields that an OrtReport's is made of (ort_report.hpp).
#pragma once

#include "bench/ort_report.hpp"

namespace precast::bench {

[[nodiscard]] Fields<OrtBenchmarkInfo> benchmark_info_fields();
[[nodiscard]] Fields<OrtModelInfo> model_info_fields();
[[nodiscard]] Fields<ModelCheck> check_fields();
// Per caller, where there are several.
[[nodiscard]] FieldOf<OrtReport> callers_field();
void append_phases(Fields<OrtReport>& fields);
void append_check(Fields<OrtReport>& fields);
void append_op_tracing(Fields<OrtReport>& fields);

}  // namespace precast::bench
