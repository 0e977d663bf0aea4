#include <algorithm>
#include <utility>

#include "ort/runtime.hpp"

namespace precast::ort {

struct LogCapture::State {
  mutable std::mutex mutex;
  std::vector<LogLine> lines;
};

LogCapture::LogCapture(Runtime& runtime, OrtLoggingLevel from) : runtime_(runtime), state_(std::make_shared<State>()) {
  sink_ = runtime_.add_log_sink(
      [state = state_](const LogLine& line) {
        const std::scoped_lock lock(state->mutex);
        state->lines.push_back(line);
      },
      from);
}

LogCapture::~LogCapture() {
  runtime_.remove_log_sink(sink_);
}

std::vector<LogLine> LogCapture::lines() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->lines;
}

bool LogCapture::has_errors() const {
  const std::scoped_lock lock(state_->mutex);
  return std::ranges::any_of(state_->lines,
                             [](const LogLine& line) { return line.severity >= ORT_LOGGING_LEVEL_ERROR; });
}

}  // namespace precast::ort
