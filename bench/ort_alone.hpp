// What minimal programs over ORT alone have in common.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>

#include <dlfcn.h>
#include <onnxruntime_cxx_api.h>
#include <unistd.h>

#include "ort/cpu_vendor.hpp"

namespace precast::bench {

using Clock = std::chrono::steady_clock;

inline double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

inline void load_ort(const char* library) {
  void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) throw std::runtime_error(::dlerror());
  const auto base = reinterpret_cast<const OrtApiBase* (*)()>(::dlsym(handle, "OrtGetApiBase"));
  Ort::InitApi(base()->GetApi(ORT_API_VERSION));
}

inline void register_ep(Ort::Env& env, const char* ep, const char* library) {
  if (const char* vendor = std::getenv("PRECAST_ASSUME_CPU_VENDOR"); vendor != nullptr) {
    if (!ort::assume_cpu_vendor(Ort::GetApi(), vendor)) throw std::runtime_error("cannot assume a CPU vendor");
  }
  env.RegisterExecutionProviderLibrary(ep, library);
}

// Ends the process with _exit, as precast does: EPs may crash while unloading. `program` throws what went wrong.
template <typename Program>
[[noreturn]] void end_with(Program program) {
  int code = 1;
  try {
    code = program();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "minimal: %s\n", e.what());
  }
  std::fflush(nullptr);
  ::_exit(code);
}

}  // namespace precast::bench
