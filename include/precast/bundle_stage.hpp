// What became of one stage of a language-model bundle.
//
//   const auto say = [](const precast::StageInfo& stage) {  // one of precast::GenaiSession::stages()
//     std::cout << stage.name << ": " << precast::to_string(stage.outcome) << ' ' << stage.reason << '\n';
//   };
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "precast/error.hpp"

namespace precast {

enum class StageOutcome : std::uint8_t {
  hit,          // compiled before: from the cache
  compiled,     // now
  precompiled,  // the bundle has an EPContext model there
  failed,       // its original runs, and why
  original,     // nothing to compile: it runs on the CPU, its EP makes no compiled models, or nobody asked
};
[[nodiscard]] constexpr std::string_view to_string(StageOutcome outcome) {
  switch (outcome) {
    case StageOutcome::hit:
      return "hit";
    case StageOutcome::compiled:
      return "compiled";
    case StageOutcome::precompiled:
      return "precompiled";
    case StageOutcome::failed:
      return "failed";
    case StageOutcome::original:
      break;
  }
  return "original";
}

struct StageInfo {
  std::string name;
  StageOutcome outcome = StageOutcome::original;
  std::string reason;          // of a miss, a failure, or an original; empty on a hit
  std::string ep;              // that it runs on, by ORT's name
  std::string key;             // of the cache, 64 hex; or empty
  std::string generation;      // UUID, or empty
  double compile_seconds = 0;  // of a compile now
  std::optional<Error> error;  // of `failed`
  // How many nodes each EP got (of a compiled stage: one for each part that the EP compiled); empty = not known.
  std::map<std::string, std::uint64_t> provider_nodes;
};

}  // namespace precast
