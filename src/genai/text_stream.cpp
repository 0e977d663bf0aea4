#include "genai/text_stream.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "util/text.hpp"

namespace precast::genai {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Bytes of the character that begins with `lead`; 0 = none does.
std::size_t length_of(char lead) {
  const auto byte = static_cast<std::uint8_t>(lead);
  if (byte < 0x80) return 1;
  if (byte >= 0xC2 && byte < 0xE0) return 2;
  if (byte >= 0xE0 && byte < 0xF0) return 3;
  if (byte >= 0xF0 && byte < 0xF5) return 4;
  return 0;
}

// Whether `bytes`, shorter than its first byte says, can still become a character.
bool may_go_on(std::string_view bytes) {
  // 0x80 and 0xBF: the lowest and the highest byte that may follow; a second byte may allow only one of them.
  for (const char filler : {'\x80', '\xBF'}) {
    std::string tried(bytes);
    tried.resize(length_of(bytes.front()), filler);
    if (util::is_utf8(tried)) return true;
  }
  return false;
}

}  // namespace

std::string Utf8Stream::push(std::string_view bytes) {
  pending_ += bytes;
  std::string text;
  std::string_view left = pending_;
  while (!left.empty()) {
    const std::size_t length = length_of(left.front());
    if (length > left.size() && may_go_on(left)) break;
    if (length != 0 && length <= left.size() && util::is_utf8(left.substr(0, length))) {
      text += left.substr(0, length);
      left.remove_prefix(length);
    } else {
      text += kReplacement;
      left.remove_prefix(1);
    }
  }
  pending_ = std::string(left);
  return text;
}

std::string Utf8Stream::finish() {
  const bool unfinished = !std::exchange(pending_, {}).empty();
  return unfinished ? std::string(kReplacement) : std::string();
}

StopTexts::StopTexts(std::vector<std::string> texts) : texts_(std::move(texts)) {
  std::erase(texts_, "");
}

std::string StopTexts::push(std::string_view text) {
  if (found_) return {};
  held_ += text;
  // The one that was whole first, so that it does not matter in which pieces the text came; of several the longest.
  std::size_t at = std::string::npos;
  std::size_t end = std::string::npos;
  for (const std::string& stop : texts_) {
    const std::size_t begin = held_.find(stop);
    if (begin == std::string::npos || std::pair(begin + stop.size(), begin) >= std::pair(end, at)) continue;
    at = begin;
    end = begin + stop.size();
  }
  if (at != std::string::npos) {
    found_ = true;
    std::string before = held_.substr(0, at);
    held_.clear();
    return before;
  }
  std::size_t hold = 0;  // the longest end of what came that begins a stop text
  for (const std::string& stop : texts_) {
    for (std::size_t n = std::min(stop.size() - 1, held_.size()); n > hold; --n) {
      if (held_.ends_with(std::string_view(stop).substr(0, n))) hold = n;
    }
  }
  std::string shown = held_.substr(0, held_.size() - hold);
  held_.erase(0, held_.size() - hold);
  return shown;
}

std::string StopTexts::finish() {
  return std::exchange(held_, {});
}

}  // namespace precast::genai
