// OpenVINO's EP offers its CPU device only where ORT says that the CPU's vendor is Intel, while its CPU plugin
// compiles, loads and runs on any x86-64. Whoever wants it on another CPU says so (RuntimeOptions::assume_cpu_vendor).
#pragma once

#include <string_view>

#include <onnxruntime_c_api.h>

namespace precast::ort {

// From now on, and for the life of the process, ORT's function table names this vendor for every CPU device: to EPs
// that are registered afterwards, and to us. "intel" or "amd", any case. False: another name, or a table that cannot be
// changed. Not to be called while other threads register EPs. The last call counts.
[[nodiscard]] bool assume_cpu_vendor(const OrtApi& api, std::string_view vendor);

}  // namespace precast::ort
