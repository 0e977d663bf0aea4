// Text that comes in pieces: made of whole characters, and ended by a stop text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace precast::genai {

// Bytes in, whole UTF-8 characters out. Bytes that cannot become one come out as U+FFFD.
class Utf8Stream {
 public:
  [[nodiscard]] std::string push(std::string_view bytes);
  [[nodiscard]] std::string finish();  // what is left: U+FFFD for an unfinished character

 private:
  std::string pending_;
};

// Holds text back as long as it may be the beginning of a stop text.
class StopTexts {
 public:
  // Empty texts are left out.
  explicit StopTexts(std::vector<std::string> texts);
  // What may be shown. Once a stop text was found, nothing more comes.
  [[nodiscard]] std::string push(std::string_view text);
  [[nodiscard]] std::string finish();
  [[nodiscard]] bool found() const { return found_; }

 private:
  std::vector<std::string> texts_;
  std::string held_;
  bool found_ = false;
};

}  // namespace precast::genai
