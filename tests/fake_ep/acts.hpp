#pragma once

#include <string_view>

#include "faults.hpp"

namespace precast::fake_ep {

enum class Value { kNone, kOptional, kRequired };

// An act that can happen at any place. It may not return.
struct Act {
  std::string_view what;
  Value value;
  void (*run)(const Fault& fault);
};

// nullptr when there is none of that name.
const Act* find_act(std::string_view what);

}  // namespace precast::fake_ep
