// How far a measurement is: on a terminal often, for a log a line now and then. Never while something is timed.
#pragma once

#include <string>

#include "cli/context.hpp"

namespace precast::cli {

class LiveLine {
 public:
  explicit LiveLine(Context& context) : context_(context) {}

  // `text` is asked for only when it is time for a line: at most 10 a second.
  template <typename Text>
  void show(const Text& text) {
    const double now = context_.elapsed_ms();
    if (now - shown_ < (context_.output.terminal() ? kTerminalMs : kLogMs)) return;
    shown_ = now;
    context_.output.status(text());
  }

 private:
  static constexpr double kTerminalMs = 100;
  static constexpr double kLogMs = 10'000;
  Context& context_;
  double shown_ = -kLogMs;
};

}  // namespace precast::cli
