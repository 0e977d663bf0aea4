#include "cli/progress.hpp"

namespace precast::cli {

namespace {

using namespace std::chrono_literals;

std::string about(const std::optional<double>& seconds) {
  if (!seconds) return "";
  const auto whole = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(*seconds));
  return ", about " + util::format_duration(whole) + " in all";
}

std::string deed(compile::Stage stage, const std::string& subject) {
  switch (stage) {
    case compile::Stage::reading:
      return "reading " + subject;
    case compile::Stage::waiting:
      return "waiting for another compile of " + subject;
    case compile::Stage::waiting_for_slot:
      return "waiting for other compiles to end before " + subject;
    case compile::Stage::compiling:
      return "compiling " + subject;
    case compile::Stage::checking:
      return "checking the compiled " + subject;
    case compile::Stage::storing:
      return "storing the compiled " + subject;
    case compile::Stage::opening:
      break;
  }
  return "opening " + subject;
}

}  // namespace

std::string progress_line(const std::string& subject, const compile::Progress& progress,
                          std::chrono::nanoseconds elapsed, util::WallTime now) {
  const bool estimated = progress.stage == compile::Stage::waiting || progress.stage == compile::Stage::compiling;
  const std::string estimate = estimated ? about(progress.estimate_seconds) : "";
  if (progress.stage == compile::Stage::waiting && progress.holder && progress.holder->pid > 0) {
    return "waiting for pid " + std::to_string(progress.holder->pid) + " (at " + subject + " for " +
           util::format_duration(now - progress.holder->since) + " so far" + estimate + ")";
  }
  return deed(progress.stage, subject) + " (" + util::format_duration(elapsed) + " so far" + estimate + ")";
}

ProgressReporter::ProgressReporter(Output& output, std::string subject)
    : output_(output), subject_(std::move(subject)), stage_start_(util::Clock::system().steady()) {
  if (!output_.quiet) thread_ = std::thread([this] { run(); });
}

std::unique_ptr<ProgressReporter> ProgressReporter::of_step(Output& output, std::string deed) {
  auto reporter = std::make_unique<ProgressReporter>(output, std::move(deed));
  const std::lock_guard guard(reporter->mutex_);
  reporter->is_step_ = true;
  return reporter;
}

ProgressReporter::~ProgressReporter() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ProgressReporter::update(const compile::Progress& progress) {
  const std::lock_guard guard(mutex_);
  if (progress.stage != progress_.stage) stage_start_ = util::Clock::system().steady();
  progress_ = progress;
}

compile::Observer ProgressReporter::observer() {
  return [this](const compile::Progress& progress) { update(progress); };
}

std::string ProgressReporter::line(util::SteadyTime now) const {
  if (is_step_) return subject_ + " (" + util::format_duration(now - stage_start_) + " so far)";
  return progress_line(subject_, progress_, now - stage_start_, util::Clock::system().now());
}

// A terminal sees a running line; a log file sees a line after one second of a stage, then every ten.
void ProgressReporter::run() {
  std::unique_lock lock(mutex_);
  auto next = util::SteadyTime{};
  auto stage = progress_.stage;
  while (!wake_.wait_for(lock, 200ms, [this] { return stop_; })) {
    const auto now = util::Clock::system().steady();
    if (progress_.stage != stage) {
      stage = progress_.stage;
      next = {};
    }
    if (now - stage_start_ < 1s || now < next) continue;
    next = now + (output_.terminal() ? std::chrono::nanoseconds(500ms) : std::chrono::nanoseconds(10s));
    output_.status(line(now));
  }
}

}  // namespace precast::cli
