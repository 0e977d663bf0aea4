// precast: errors are values.
//
//   const auto work = []() -> precast::Result<int> {
//     return precast::fail(precast::ErrorCode::not_found, "there is no 'x'", "x", "make it");
//   };
//   const precast::Result<int> answer = work();
//   if (!answer) std::cerr << answer.error().message << '\n' << answer.error().hint << '\n';
//
// In a loop over what a Result holds, keep the Result in a variable first: `for (auto& x : *work())` destroys it before
// the first turn (compilers without C++23's rule for that, GCC 12 among them).
//
// Every function that can fail returns Result<T>. A message names the file, key or option concerned; the hint says
// what to do next (it may be empty when the message says it already). Text is UTF-8. Values are plain data and may be
// copied between threads.
#pragma once

#include <cstdint>
#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "precast/export.hpp"

namespace precast {

enum class ErrorCode : std::uint8_t {
  bad_input,       // the caller's model, option or file is wrong
  not_found,       // a named file or entry is not there
  unsupported,     // asked for something that precast or the EP cannot do
  ep_unavailable,  // an EP, device or runtime library is missing or does not load
  compile_failed,  // the EP did not compile, open or run the model
  timed_out,       // a deadline passed
  corrupt,         // stored bytes are not the ones that were stored
  busy,            // somebody else holds what is needed
  io,              // the operating system refused an operation
  no_space,        // the disk or quota is full
  cancelled,       // the caller asked to stop
  internal,        // a defect in precast
};

// "bad_input", "not_found", ... as they appear in JSON.
[[nodiscard]] PRECAST_API std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;         // one sentence, names what it is about
  std::filesystem::path path;  // the file concerned, or empty
  std::string hint;            // what to do next, or empty
};

template <typename T>
using Result = std::expected<T, Error>;

// `return fail(ErrorCode::io, "cannot read 'x'", "x");`
[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string message, std::filesystem::path path = {},
                                                 std::string hint = {}) {
  return std::unexpected<Error>(Error{code, std::move(message), std::move(path), std::move(hint)});
}

}  // namespace precast
