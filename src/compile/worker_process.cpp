#include "compile/worker_process.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <sys/socket.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "identity/links.hpp"
#include "ort/executable.hpp"
#include "process/descriptor_posix.hpp"
#include "process/supervisor.hpp"
#include "util/text.hpp"
#include "util/time.hpp"
#include "util/try.hpp"

namespace precast::compile {

namespace {

using process::Descriptor;
using std::chrono::milliseconds;

constexpr std::uint64_t kLogLimit = 16U << 20U;
constexpr std::size_t kTailBytes = 4096;
constexpr milliseconds kTick{250};
constexpr milliseconds kEndGrace{6000};        // for the supervisor to end its descendants (it takes at most 5 s)
constexpr milliseconds kAfterCompile{60'000};  // and twice the compile: for the reload check

Error system_error(const char* doing) {
  return {ErrorCode::io, std::string("cannot ") + doing + " for precast-worker: " + std::strerror(errno), {}, {}};
}

void make_non_blocking(int descriptor) {
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
}

// One run of one worker. The members live as long as the child.
class Run {
 public:
  Run(fs::FileSystem& fs, const WorkerRun& run) : fs_(fs), run_(run), start_(std::chrono::steady_clock::now()) {}

  Result<WorkerOutcome> operator()() {
    PRECAST_TRY_ASSIGN(log_, fs_.open(run_.log, fs::OpenMode::create_new));
    PRECAST_TRY_ASSIGN(auto child, start());
    send_request();
    PRECAST_TRY(watch(child));
    drain();
    outcome_.log_tail = util::escape_invalid_utf8(tail_);
    outcome_.total_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
    return std::move(outcome_);
  }

 private:
  Result<process::Child> start() {
    // A socket pair instead of a pipe: sending to a worker that died must not raise SIGPIPE in a host program.
    int pair[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
      return std::unexpected(system_error("make a socket"));
    lifeline_ = Descriptor(pair[0]);
    const Descriptor theirs(pair[1]);
    PRECAST_TRY_ASSIGN(const auto result_pipe, process::make_pipe());
    result_ = Descriptor(result_pipe.first);
    const Descriptor result_theirs(result_pipe.second);
    PRECAST_TRY_ASSIGN(const auto log_pipe, process::make_pipe());
    log_pipe_ = Descriptor(log_pipe.first);
    const Descriptor log_theirs(log_pipe.second);
    make_non_blocking(result_.get());
    make_non_blocking(log_pipe_.get());
    return process::Child::spawn({.program = run_.worker,
                                  .arguments = {},
                                  .environment = run_.environment,
                                  .working_directory = run_.working_directory,
                                  .descriptors = {{log_theirs.get(), 1},
                                                  {log_theirs.get(), 2},
                                                  {theirs.get(), kPipeDescriptor},
                                                  {result_theirs.get(), kResultDescriptor}}});
  }

  // A worker that does not take it has died; its exit status will say so.
  void send_request() {
    const std::string text = serialize(run_.request);
    std::string message;
    for (unsigned shift = 0; shift < 32; shift += 8) message += static_cast<char>((text.size() >> shift) & 0xFFU);
    message += text;
    std::size_t sent = 0;
    while (sent < message.size()) {
      const ssize_t n = ::send(lifeline_.get(), message.data() + sent, message.size() - sent, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;
      sent += static_cast<std::size_t>(n);
    }
  }

  Result<void> watch(process::Child& child) {
    for (;;) {
      pollfd waits[] = {{child.pidfd(), POLLIN, 0},
                        {result_.get(), POLLIN, 0},
                        {log_pipe_.get(), POLLIN, 0},
                        {run_.cancel != nullptr ? run_.cancel->descriptor() : -1, POLLIN, 0}};
      ::poll(waits, std::size(waits), static_cast<int>(kTick.count()));
      drain();
      if ((waits[0].revents & POLLIN) != 0) break;
      if (run_.cancel != nullptr && run_.cancel->cancelled()) {
        outcome_.cancelled = true;
        return end(child);
      }
      if (elapsed() > limit()) {
        outcome_.timed_out = true;
        return end(child);
      }
      tick();
    }
    PRECAST_TRY_ASSIGN(const auto exit, child.wait(kEndGrace));
    outcome_.exit = exit.value_or(process::ExitStatus{});
    return {};
  }

  // Once ORT returned, a hang is not worth the whole deadline.
  [[nodiscard]] milliseconds limit() const {
    if (!outcome_.compiled) return run_.deadline;
    const milliseconds compile(static_cast<std::int64_t>(outcome_.compiled->ms));
    return std::min(run_.deadline, compiled_at_ + kAfterCompile + 2 * compile);
  }

  Result<void> end(process::Child& child) {
    lifeline_.reset();  // the supervisor kills its descendants and itself
    PRECAST_TRY_ASSIGN(auto exit, child.wait(kEndGrace));
    if (!exit) {
      process::kill_descendants(child.pid(), SIGKILL);
      child.kill_group(SIGKILL);
      PRECAST_TRY_ASSIGN(exit, child.wait(std::nullopt));
    }
    outcome_.exit = exit.value_or(process::ExitStatus{});
    return {};
  }

  void tick() {
    if (!run_.on_tick) return;
    const auto now = elapsed();
    if (now - last_tick_ < kTick) return;
    last_tick_ = now;
    run_.on_tick(now);
  }

  [[nodiscard]] milliseconds elapsed() const {
    return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - start_);
  }

  // Everything that is there now; never waits for end-of-file, which a stray grandchild could withhold.
  void drain() {
    char buffer[65536];
    for (;;) {
      const ssize_t n = ::read(log_pipe_.get(), buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n == 0) log_pipe_.reset();  // at its end it would make poll return at once, for ever
      if (n <= 0) break;
      keep_log(std::string_view(buffer, static_cast<std::size_t>(n)));
    }
    for (;;) {
      const ssize_t n = ::read(result_.get(), buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n == 0) result_.reset();
      if (n <= 0) break;
      lines_.append(buffer, static_cast<std::size_t>(n));
      if (lines_.size() > kMaximumRequestBytes) lines_.clear();  // nothing of ours is that long
    }
    take_events();
  }

  void keep_log(std::string_view text) {
    tail_.append(text);
    if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
    if (logged_ >= kLogLimit) return;
    const auto part = text.substr(0, kLogLimit - logged_);
    logged_ += part.size();
    // A log that cannot be kept (full disk) must not fail a compile; what fills the disk will say so itself.
    (void)fs_.write(log_, std::as_bytes(std::span(part)));
  }

  void take_events() {
    for (;;) {
      const std::size_t end = lines_.find('\n');
      if (end == std::string::npos) return;
      auto event = parse_event_line(std::string_view(lines_).substr(0, end));
      lines_.erase(0, end + 1);
      if (!event) continue;  // an EP that writes to descriptor 4 is not believed
      if (event->kind == WorkerEventKind::compiled) compiled_at_ = elapsed();
      slot(event->kind) = std::move(*event);
    }
  }

  std::optional<WorkerEvent>& slot(WorkerEventKind kind) {
    switch (kind) {
      case WorkerEventKind::ready:
        return outcome_.ready;
      case WorkerEventKind::compiled:
        return outcome_.compiled;
      case WorkerEventKind::checked:
        return outcome_.checked;
      case WorkerEventKind::validated:
        return outcome_.validated;
      case WorkerEventKind::done:
        return outcome_.done;
      case WorkerEventKind::failed:
        break;
    }
    return outcome_.failed;
  }

  fs::FileSystem& fs_;
  const WorkerRun& run_;
  std::chrono::steady_clock::time_point start_;
  Descriptor lifeline_;
  Descriptor result_;
  Descriptor log_pipe_;
  fs::File log_;
  std::uint64_t logged_ = 0;
  std::string tail_;
  std::string lines_;
  milliseconds compiled_at_{};
  milliseconds last_tick_{};
  WorkerOutcome outcome_;
};

}  // namespace

Result<WorkerOutcome> run_worker(fs::FileSystem& fs, const WorkerRun& run) {
  return Run(fs, run)();
}

Result<std::filesystem::path> find_worker(fs::FileSystem& fs, const std::filesystem::path& option) {
  std::vector<std::filesystem::path> candidates;
  std::string asked = "PRECAST_WORKER";
  if (!option.empty()) {
    candidates.push_back(option);
    asked = "the worker option";
  } else if (const char* variable = std::getenv("PRECAST_WORKER"); variable != nullptr && *variable != '\0') {
    candidates.emplace_back(variable);
  } else {
    asked.clear();
    const auto folder = ort::executable_directory();  // without /proc there is none, and the error below says so
    candidates.push_back(folder / "precast-worker");
    candidates.push_back(folder.parent_path() / "libexec" / "precast" / "precast-worker");
  }
  for (const std::filesystem::path& candidate : candidates) {
    auto absolute = identity::logical_absolute(candidate);
    const auto stat = fs.stat(absolute);
    if (stat && stat->kind == fs::FileKind::regular) return absolute;
  }
  const std::string where = util::escape_to_line(candidates.front().native());
  return fail(ErrorCode::not_found,
              asked.empty() ? "precast-worker is not beside precast ('" + where + "')"
                            : asked + " names '" + where + "', which is not a file",
              candidates.front(), "build or install precast-worker with precast, or name it with PRECAST_WORKER");
}

Result<void> ask_worker_version(const std::filesystem::path& worker) {
  const auto refuse = [&](const std::string& what) {
    return fail(ErrorCode::not_found, util::quoted(worker) + " " + what, worker,
                "build or install precast-worker with precast, or name it with PRECAST_WORKER");
  };
  PRECAST_TRY_ASSIGN(const auto pipe, process::make_pipe());
  const Descriptor said(pipe.first);
  Descriptor theirs(pipe.second);
  make_non_blocking(said.get());
  PRECAST_TRY_ASSIGN(auto child, process::Child::spawn({.program = worker,
                                                        .arguments = {"--version"},
                                                        .environment = process::current_environment(),
                                                        .working_directory = {},
                                                        .descriptors = {{theirs.get(), 1}}}));
  theirs.reset();
  PRECAST_TRY_ASSIGN(const auto exit, child.wait(std::chrono::seconds(10)));
  if (!exit) return refuse("does not answer --version");
  if (exit->code != 0) return refuse("does not run: " + exit->describe());
  char text[256];
  const ssize_t count = ::read(said.get(), text, sizeof text);
  const std::string_view line = util::trim({text, static_cast<std::size_t>(std::max<ssize_t>(count, 0))});
  if (line == "precast-worker " PRECAST_VERSION) return {};
  return refuse("says it is '" + util::escape_to_line(line) + "', not precast-worker " PRECAST_VERSION);
}

}  // namespace precast::compile
