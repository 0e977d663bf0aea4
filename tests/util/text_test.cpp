#include "util/text.hpp"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace precast::util {
namespace {

using testing::ElementsAre;
using namespace std::string_view_literals;

TEST(Utf8, accepts_every_length_up_to_the_last_code_point) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("plain"));
  EXPECT_TRUE(is_utf8("\0"sv));
  EXPECT_TRUE(is_utf8("\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80"));
  EXPECT_TRUE(is_utf8("\xED\x9F\xBF\xEE\x80\x80"));  // just below and above the surrogates
  EXPECT_TRUE(is_utf8("\xF4\x8F\xBF\xBF"));          // U+10FFFF
}

TEST(Utf8, refuses_what_is_not_the_one_form_of_a_character) {
  EXPECT_FALSE(is_utf8("\x80"));              // continuation alone
  EXPECT_FALSE(is_utf8("\xC3"));              // cut off
  EXPECT_FALSE(is_utf8("\xE2\x82"));          // cut off
  EXPECT_FALSE(is_utf8("\xE2\x82z"));         // interrupted
  EXPECT_FALSE(is_utf8("\xC0\xAF"));          // a longer form of '/'
  EXPECT_FALSE(is_utf8("\xE0\x80\xAF"));      // an even longer one
  EXPECT_FALSE(is_utf8("\xF0\x82\x82\xAC"));  // a longer form of the euro sign
  EXPECT_FALSE(is_utf8("\xED\xA0\x80"));      // a surrogate
  EXPECT_FALSE(is_utf8("\xF4\x90\x80\x80"));  // past U+10FFFF
  EXPECT_FALSE(is_utf8("\xF8\x88\x80\x80\x80"));
  EXPECT_FALSE(is_utf8("\xFF"));
}

TEST(Utf8, escape_leaves_good_text_alone) {
  EXPECT_EQ(escape_invalid_utf8("tab\tand\nline \xE2\x82\xAC"), "tab\tand\nline \xE2\x82\xAC");
  EXPECT_EQ(escape_invalid_utf8(""), "");
}

TEST(Utf8, escape_shows_bad_bytes_and_control_characters) {
  EXPECT_EQ(escape_invalid_utf8("a\xFFz"), "a\\xffz");
  EXPECT_EQ(escape_invalid_utf8("\xE2\x82"), "\\xe2\\x82");
  EXPECT_EQ(escape_invalid_utf8("\xE2\x82\xC3\xA4"), "\\xe2\\x82\xC3\xA4");
  EXPECT_EQ(escape_invalid_utf8("\x1B[31m\r\x7F"), "\\x1b[31m\\x0d\\x7f");
  EXPECT_EQ(escape_invalid_utf8("\0"sv), "\\x00");
  EXPECT_EQ(escape_invalid_utf8("\xC2\x9B"), "\\xc2\\x9b");  // what terminals take for ESC [
}

TEST(Utf8, escape_of_any_bytes_is_utf8) {
  for (unsigned first = 0; first < 256; ++first) {
    for (unsigned second = 0; second < 256; ++second) {
      const std::string text = {'a', static_cast<char>(first), static_cast<char>(second), 'z'};
      const std::string escaped = escape_invalid_utf8(text);
      ASSERT_TRUE(is_utf8(escaped)) << first << ' ' << second;
      ASSERT_EQ(escaped.front(), 'a');
      ASSERT_EQ(escaped.back(), 'z');
    }
  }
}

TEST(Hex, is_lower_case_and_exactly_that_long) {
  EXPECT_TRUE(is_hex("0123456789abcdef", 16));
  EXPECT_TRUE(is_hex("", 0));
  EXPECT_FALSE(is_hex("0123456789abcdef", 15));
  EXPECT_FALSE(is_hex("0123456789abcdef", 17));
  EXPECT_FALSE(is_hex("AB", 2));
  EXPECT_FALSE(is_hex("0g", 2));
  EXPECT_FALSE(is_hex("-1", 2));
}

TEST(Uuid, form_is_checked) {
  EXPECT_TRUE(is_uuid("01234567-89ab-cdef-0123-456789abcdef"));
  EXPECT_FALSE(is_uuid("01234567-89AB-cdef-0123-456789abcdef"));
  EXPECT_FALSE(is_uuid("01234567-89ab-cdef-0123-456789abcde"));
  EXPECT_FALSE(is_uuid("01234567-89ab-cdef-0123-456789abcdef0"));
  EXPECT_FALSE(is_uuid("0123456789ab--cdef-0123-456789abcdef"));
  EXPECT_FALSE(is_uuid("01234567-89ab-cdef-0123-45678-abcdef"));
  EXPECT_FALSE(is_uuid("../../../../../../../../../../../etc"));
  EXPECT_FALSE(is_uuid(""));
}

TEST(Uuid, new_ones_are_version_4_and_never_the_same) {
  std::set<std::string> seen;
  for (int i = 0; i < 2000; ++i) {
    const std::string uuid = new_uuid();
    ASSERT_TRUE(is_uuid(uuid)) << uuid;
    ASSERT_EQ(uuid[14], '4') << uuid;
    ASSERT_NE("89ab"sv.find(uuid[19]), std::string_view::npos) << uuid;
    ASSERT_TRUE(seen.insert(uuid).second) << uuid;
  }
}

TEST(Text, lower_case_touches_ascii_letters_only) {
  EXPECT_EQ(ascii_lower("AZaz09@[ \xC3\x84"), "azaz09@[ \xC3\x84");
}

TEST(Text, split_gives_one_piece_more_than_separators) {
  EXPECT_THAT(split("a,b,c", ','), ElementsAre("a", "b", "c"));
  EXPECT_THAT(split(",a,", ','), ElementsAre("", "a", ""));
  EXPECT_THAT(split("a b", ','), ElementsAre("a b"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Text, trim_takes_white_space_off_both_ends) {
  EXPECT_EQ(trim(" \t\r\n a b \v\f"), "a b");
  EXPECT_EQ(trim("a"), "a");
  EXPECT_EQ(trim("  "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Glob, matches_the_whole_text) {
  EXPECT_TRUE(glob_match("", ""));
  EXPECT_FALSE(glob_match("", "a"));
  EXPECT_TRUE(glob_match("abc", "abc"));
  EXPECT_FALSE(glob_match("abc", "abcd"));
  EXPECT_FALSE(glob_match("abcd", "abc"));
  EXPECT_FALSE(glob_match("bc", "abc"));
  EXPECT_FALSE(glob_match("ABC", "abc"));
}

TEST(Glob, star_is_any_text_and_question_mark_one_character) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("libopenvino*", "libopenvino.so.2641"));
  EXPECT_FALSE(glob_match("libopenvino*", "xlibopenvino.so"));
  EXPECT_TRUE(glob_match("*.so*", "libQnn.so.1"));
  EXPECT_TRUE(glob_match("**a**", "a"));
  EXPECT_TRUE(glob_match("a*b*c", "aXbXbXc"));
  EXPECT_FALSE(glob_match("a*b*c", "aXbXbXcd"));
  EXPECT_TRUE(glob_match("?", "a"));
  EXPECT_FALSE(glob_match("?", ""));
  EXPECT_FALSE(glob_match("?", "ab"));
  EXPECT_TRUE(glob_match("?", "\xE2\x82\xAC"));
  EXPECT_TRUE(glob_match("*?", "\xE2\x82\xAC"));
  EXPECT_TRUE(glob_match("[a]", "[a]"));
  EXPECT_FALSE(glob_match("[a]", "a"));
}

TEST(Glob, a_pattern_full_of_stars_does_not_take_for_ever) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "*a";
  EXPECT_FALSE(glob_match(pattern + "b", std::string(20'000, 'a')));
}

TEST(Bytes, one_decimal_and_binary_units) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(340ULL << 20U), "340.0 MiB");
  EXPECT_EQ(format_bytes((1ULL << 20U) - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(20ULL << 30U), "20.0 GiB");
  EXPECT_EQ(format_bytes(~0ULL), "16.0 EiB");
}

TEST(Table, columns_stand_below_each_other) {
  EXPECT_EQ(format_table({{"KEY", "SIZE", "NOTE"}, {"a", "12345", "x"}, {"abcdef", "1", ""}}),
            "KEY     SIZE   NOTE\n"
            "a       12345  x\n"
            "abcdef  1\n");
}

TEST(Table, counts_characters_and_not_bytes) {
  EXPECT_EQ(format_table({{"\xC3\xA4\xC3\xA4", "x"}, {"bbb", "y"}}), "\xC3\xA4\xC3\xA4   x\nbbb  y\n");
}

TEST(Table, takes_rows_of_any_length) {
  EXPECT_EQ(format_table({}), "");
  EXPECT_EQ(format_table({{"a"}, {}, {"b", "", "c"}, {"", "", "", ""}}), "a\n\nb    c\n\n");
}

TEST(Text, OneLineAndOneCell) {
  EXPECT_EQ(escape_to_line("a\nb\tc\x1B"), "a\\nb\\tc\\x1b");
  EXPECT_EQ(quoted("two\nlines"), "'two\\nlines'");
  EXPECT_EQ(format_table({{"NAME", "N"}, {"a\nb", "1"}}), "NAME  N\na\\nb  1\n");
}

TEST(Text, AListSaysHowManyItLeavesOut) {
  const std::vector<std::string> parts = {"a", "b", "c"};
  EXPECT_EQ(listed(parts, 3), "a, b, c");
  EXPECT_EQ(listed(parts, 2), "a, b and 1 more");
  EXPECT_EQ(listed({}, 2), "");
  EXPECT_EQ(listed_quoted(parts), "'a', 'b', 'c'");
  EXPECT_EQ(listed_quoted(parts, 1), "'a' and 2 more");
}

TEST(ReplaceAll, ReplacesEachOnce) {
  std::string text = "aXbXX";
  replace_all(text, "X", "XY");
  EXPECT_EQ(text, "aXYbXYXY");
  replace_all(text, "Z", "");
  EXPECT_EQ(text, "aXYbXYXY");
}

TEST(OneLine, JoinsTheWordsAndEndsSomewhere) {
  EXPECT_EQ(one_line("  a \n\n b\t\n"), "a b");
  EXPECT_EQ(one_line("\xff"), "\\xff");
  EXPECT_EQ(one_line(std::string(20, 'x'), 10), std::string(10, 'x') + " ...");
  EXPECT_EQ(one_line(""), "");
}

}  // namespace
}  // namespace precast::util
