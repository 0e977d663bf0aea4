// What a command prints. Machine output goes to the process's original stdout, through a private descriptor; words for
// people go to stderr. Descriptor 1 points at stderr, because EPs print. Thread-safe.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "precast/error.hpp"

namespace precast::cli {

class Output {
 public:
  // Before any thread exists: keeps stdout private and points descriptor 1 at stderr.
  void take_stdout();
  // Undoes it, for becoming another program.
  void give_stdout_back();

  bool json = false;
  bool quiet = false;
  int verbosity = 0;
  bool color = false;  // set by detect_color
  void detect_color(bool forbidden);

  void machine(std::string_view text);                // as it is
  void machine_json(const nlohmann::json& document);  // one line, always valid UTF-8
  void note(std::string_view text);                   // a line for people; not under --quiet
  void warn(std::string_view text);                   // "precast: warning: ..."
  void error(const Error& error);                     // message and hint; on stdout as JSON by the caller
  void prompt(std::string_view text);                 // as it is, for who sits at a terminal
  // How far something is: "... " and the text, on a terminal overwritten by the next line.
  void status(std::string_view text);
  [[nodiscard]] bool terminal() const { return terminal_; }

  // True once anything could not be written to stdout (a full disk behind a redirection).
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  void line(std::string_view text);
  std::mutex mutex_;
  int stdout_ = 1;
  bool terminal_ = false;
  bool failed_ = false;
  bool stdout_closed_ = false;
  bool status_shown_ = false;
};

}  // namespace precast::cli
