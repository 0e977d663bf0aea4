#include "cli/exit_code.hpp"

namespace precast::cli {

int exit_code_of(const Error& error, bool strict) {
  switch (error.code) {
    case ErrorCode::bad_input:
    case ErrorCode::not_found:
    case ErrorCode::unsupported:
      return kUsage;
    case ErrorCode::ep_unavailable:
      return kUnavailable;
    case ErrorCode::timed_out:
      return kTimedOut;
    case ErrorCode::cancelled:
      return kInterrupted;
    case ErrorCode::busy:
    case ErrorCode::corrupt:
      return strict ? kStore : kFailed;
    case ErrorCode::compile_failed:
    case ErrorCode::io:
    case ErrorCode::no_space:
    case ErrorCode::internal:
      break;
  }
  return kFailed;
}

int exit_code_of(const compile::Resolution& resolution, bool strict) {
  switch (resolution.outcome) {
    case compile::Outcome::hit:
    case compile::Outcome::compiled:
    case compile::Outcome::precompiled:
      return kDone;
    case compile::Outcome::nothing_to_compile:
      return kNothingToCompile;
    case compile::Outcome::uncached:
      return strict ? kStore : kFailed;
    case compile::Outcome::failed:
      break;
  }
  return resolution.error ? exit_code_of(*resolution.error, strict) : kFailed;
}

}  // namespace precast::cli
