#include "cli/output.hpp"

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "util/text.hpp"

namespace precast::cli {

namespace {

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

void Output::take_stdout() {
  // A closed descriptor would be the next file that is opened, and be written to as if it were stdout.
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    if (descriptor == STDOUT_FILENO) stdout_closed_ = true;
    (void)::open("/dev/null", O_RDWR);  // the lowest free number, which is this one
  }
  const int copy = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10);
  if (copy < 0) return;  // no descriptors left: what follows will say so
  stdout_ = copy;
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
}

void Output::give_stdout_back() {
  if (stdout_ != STDOUT_FILENO) ::dup2(stdout_, STDOUT_FILENO);
}

void Output::detect_color(bool forbidden) {
  terminal_ = ::isatty(STDERR_FILENO) == 1;
  const char* no_color = std::getenv("NO_COLOR");
  color = terminal_ && !forbidden && (no_color == nullptr || *no_color == '\0');
}

void Output::machine(std::string_view text) {
  const std::lock_guard guard(mutex_);
  if (!stdout_closed_ && write_all(stdout_, text)) return;
  if (!failed_) (void)write_all(STDERR_FILENO, "precast: error: cannot write to stdout\n");
  failed_ = true;
}

void Output::machine_json(const nlohmann::json& document) {
  machine(document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void Output::line(std::string_view text) {
  const std::lock_guard guard(mutex_);
  std::string whole;
  if (status_shown_) whole = "\r\x1b[K";
  status_shown_ = false;
  whole += text;
  whole += '\n';
  (void)write_all(STDERR_FILENO, whole);  // without stderr there is nobody to tell
}

void Output::note(std::string_view text) {
  if (!quiet) line(text);
}

void Output::prompt(std::string_view text) {
  const std::lock_guard guard(mutex_);
  (void)write_all(STDERR_FILENO, text);  // without stderr there is nobody to ask
}

void Output::warn(std::string_view text) {
  line((color ? "\x1b[33mprecast: warning:\x1b[0m " : "precast: warning: ") + std::string(text));
}

void Output::error(const Error& error) {
  line((color ? "\x1b[31mprecast: error:\x1b[0m " : "precast: error: ") + util::escape_invalid_utf8(error.message));
  if (!error.hint.empty()) line("precast: " + util::escape_invalid_utf8(error.hint));
}

void Output::status(std::string_view text) {
  if (quiet) return;
  const std::string whole = "... " + std::string(text);
  if (!terminal_) {
    line(whole);
    return;
  }
  const std::lock_guard guard(mutex_);
  (void)write_all(STDERR_FILENO, "\r\x1b[K" + whole);
  status_shown_ = true;
}

}  // namespace precast::cli
