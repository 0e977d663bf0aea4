// The exit codes of precast: one contract for scripts (README, "Exit codes").
#pragma once

#include "compile/resolution.hpp"
#include "precast/error.hpp"

namespace precast::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;        // also bad input, not found, unsupported
inline constexpr int kUnavailable = 3;  // EP, device or runtime library
inline constexpr int kNoTrace = 4;      // tracing was asked for and gave no valid data
inline constexpr int kNothingToCompile = 5;
inline constexpr int kTimedOut = 6;
inline constexpr int kStore = 7;  // busy or corrupt, under --strict
inline constexpr int kInterrupted = 130;

[[nodiscard]] int exit_code_of(const Error& error, bool strict);
// Of an answer that a caller wanted compiled: 0 for hit, compiled and precompiled.
[[nodiscard]] int exit_code_of(const compile::Resolution& resolution, bool strict);

}  // namespace precast::cli
