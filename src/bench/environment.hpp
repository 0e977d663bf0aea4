// The machine that something was measured on.
#pragma once

#include "bench/report_sections.hpp"

namespace precast::bench {

// OS and processor.
void fill_environment(EnvironmentSection& environment);

}  // namespace precast::bench
