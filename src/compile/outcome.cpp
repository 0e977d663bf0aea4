#include "precast/outcome.hpp"

namespace precast {

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::hit:
      return "hit";
    case Outcome::compiled:
      return "compiled";
    case Outcome::precompiled:
      return "precompiled";
    case Outcome::nothing_to_compile:
      return "nothing_to_compile";
    case Outcome::failed:
      return "failed";
    case Outcome::uncached:
      break;
  }
  return "uncached";
}

}  // namespace precast
