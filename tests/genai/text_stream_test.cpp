#include "genai/text_stream.hpp"

#include <gtest/gtest.h>

#include "util/text.hpp"

namespace precast::genai {
namespace {

const std::string kBad = "\xEF\xBF\xBD";

// `text` in pieces that end at the given bits.
std::vector<std::string> pieces_of(const std::string& text, std::uint64_t cuts) {
  std::vector<std::string> pieces{""};
  for (std::size_t i = 0; i < text.size(); ++i) {
    pieces.back() += text[i];
    if ((cuts >> i & 1U) != 0) pieces.emplace_back();
  }
  return pieces;
}

std::string all_of(const std::vector<std::string>& pieces) {
  Utf8Stream stream;
  std::string text;
  for (const std::string& piece : pieces) {
    const std::string shown = stream.push(piece);
    EXPECT_TRUE(util::is_utf8(shown));
    text += shown;
  }
  return text + stream.finish();
}

TEST(Utf8Stream, EverySplitGivesWholeCharactersAndTheSameText) {
  const std::string text = "a\u00E4\u20AC\U0001F600z";  // 1, 2, 3, 4 and 1 bytes
  for (std::uint64_t cuts = 0; cuts < 1U << (text.size() - 1); ++cuts) {
    ASSERT_EQ(all_of(pieces_of(text, cuts)), text) << cuts;
  }
}

TEST(Utf8Stream, ACharacterComesWithItsLastByte) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("\xF0\x9F"), "");
  EXPECT_EQ(stream.push("\x98"), "");
  EXPECT_EQ(stream.push(""), "");
  EXPECT_EQ(stream.push("\x80x"), "\U0001F600x");
  EXPECT_EQ(stream.finish(), "");
}

TEST(Utf8Stream, BytesThatCannotBecomeACharacterAreReplacedAtOnce) {
  const std::pair<std::string, std::string> cases[] = {
      {"a\x80z", "a" + kBad + "z"},                     // no beginning
      {"\xC3z", kBad + "z"},                            // no end
      {"\xE2\x82z", kBad + kBad + "z"},                 // nor here
      {"\xC0\xAF", kBad + kBad},                        // too long a form
      {"\xE0\x80\x80", kBad + kBad + kBad},             // likewise
      {"\xED\xA0\x80", kBad + kBad + kBad},             // a surrogate
      {"\xF4\x90\x80\x80", kBad + kBad + kBad + kBad},  // beyond the last character
      {"\xF5\xFF", kBad + kBad},                        // never
      {"\xF0\x9F\xC3\xA4", kBad + kBad + "\u00E4"},     // a whole one after half of one
  };
  for (const auto& [bytes, text] : cases) {
    for (std::uint64_t cuts = 0; cuts < 1U << (bytes.size() - 1); ++cuts) {
      EXPECT_EQ(all_of(pieces_of(bytes, cuts)), text) << util::escape_to_line(bytes) << ' ' << cuts;
    }
    Utf8Stream stream;
    EXPECT_EQ(stream.push(bytes), text) << util::escape_to_line(bytes);
  }
  // Nothing that follows could mend these.
  for (const char* bytes : {"\xE0\x80", "\xED\xA0", "\xF4\x90", "\xF0\x80"}) EXPECT_NE(Utf8Stream().push(bytes), "");
}

TEST(Utf8Stream, AnUnfinishedCharacterAtTheEndIsOneReplacement) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("a\xF0\x9F\x98"), "a");
  EXPECT_EQ(stream.finish(), kBad);
  EXPECT_EQ(stream.finish(), "");
  EXPECT_EQ(stream.push("b"), "b");
}

struct Stopped {
  std::string text;
  bool found = false;
  bool operator==(const Stopped&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Stopped& stopped) {
  return out << '"' << stopped.text << '"' << (stopped.found ? " and found" : "");
}

Stopped stop(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopTexts texts(stops);
  std::string shown;
  for (const std::string& piece : pieces) shown += texts.push(piece);
  if (!texts.found()) shown += texts.finish();
  return {shown, texts.found()};
}

TEST(StopTexts, AreFoundHoweverTheTextIsCut) {
  struct Case {
    std::vector<std::string> stops;
    std::string text;
    Stopped expected;
  };
  const Case cases[] = {
      {{"END"}, "some END more", {"some ", true}},
      {{"END"}, "some EN more E", {"some EN more E", false}},
      {{"END"}, "ENEND", {"EN", true}},
      {{"aab"}, "aaab", {"a", true}},           // begins inside what was held
      {{"abab"}, "abaabab.", {"aba", true}},    // likewise
      {{"xyz", "b"}, "a b xyz", {"a ", true}},  // the one that comes first
      {{"b", "xyz"}, "a xyz b", {"a ", true}},
      {{"ab", "abc"}, "x abc", {"x ", true}},
      {{"abcd", "bc"}, "x abcd", {"x a", true}},  // the one that is whole first
      {{"abc", "bc"}, "x abc", {"x ", true}},     // both at once: the longer one
      {{""}, "text", {"text", false}},
      {{}, "text", {"text", false}},
      {{"\u00E4"}, "a\u00F6\u00E4u", {"a\u00F6", true}},
  };
  for (const Case& one : cases) {
    for (std::uint64_t cuts = 0; cuts < 1U << (one.text.size() - 1); ++cuts) {
      ASSERT_EQ(stop(one.stops, pieces_of(one.text, cuts)), one.expected) << one.text << ' ' << cuts;
    }
  }
}

TEST(StopTexts, WhatMayBecomeOneIsHeldAndReleased) {
  StopTexts texts({"STOP", "\n\n"});
  EXPECT_EQ(texts.push("aS"), "a");
  EXPECT_EQ(texts.push("TO"), "");
  EXPECT_EQ(texts.push("x"), "STOx");
  EXPECT_EQ(texts.push("b\n"), "b");
  EXPECT_EQ(texts.push("c"), "\nc");
  EXPECT_EQ(texts.push("ST"), "");
  EXPECT_FALSE(texts.found());
  EXPECT_EQ(texts.finish(), "ST");
  EXPECT_EQ(texts.finish(), "");
}

TEST(StopTexts, NothingComesAfterOne) {
  StopTexts texts({"."});
  EXPECT_EQ(texts.push("a.b"), "a");
  EXPECT_TRUE(texts.found());
  EXPECT_EQ(texts.push("c"), "");
  EXPECT_EQ(texts.finish(), "");
}

}  // namespace
}  // namespace precast::genai
