// What the compile cache did for a request.
//
//   const auto say = [](precast::Outcome outcome, const std::string& reason) {  // of a precast::CompiledModel
//     std::cout << precast::to_string(outcome) << ": " << reason << '\n';
//   };
//
// Plain data.
#pragma once

#include <cstdint>
#include <string_view>

#include "precast/export.hpp"

namespace precast {

enum class Outcome : std::uint8_t {
  hit,                 // stored, and provably what this request would compile
  compiled,            // compiled now, and stored
  precompiled,         // the model had EPContext nodes already
  nothing_to_compile,  // no node of it runs on the EP, or the EP makes no compiled models
  failed,              // it did not compile, now or before
  uncached,            // the cache could not serve, or was told not to
};

// "hit", "compiled", ... as they appear in JSON.
[[nodiscard]] PRECAST_API std::string_view to_string(Outcome outcome);

}  // namespace precast
