// A generation request as fields, and which of them are summarised over all timed requests.
#pragma once

#include <string>

#include "bench/fields.hpp"
#include "bench/genai_timing.hpp"

namespace precast::bench {

struct RequestField {
  FieldOf<RequestTiming> of;
  bool aggregated = false;  // `aggregate` has its mean, std, min, max, p50, p90, p95 and p99, under the same name
};

[[nodiscard]] const std::vector<RequestField>& request_fields();

}  // namespace precast::bench
