#include "precast/error.hpp"

#include <gtest/gtest.h>

#include "util/try.hpp"

namespace precast {
namespace {

Result<int> half_of(int number) {
  if (number % 2 != 0) return fail(ErrorCode::bad_input, "odd", "/some/file", "give an even one");
  return number / 2;
}

Result<int> quarter_of(int number) {
  PRECAST_TRY_ASSIGN(const int half, half_of(number));
  PRECAST_TRY_ASSIGN(const int quarter, half_of(half));
  return quarter;
}

Result<void> check_even(int number) {
  PRECAST_TRY(half_of(number));
  return {};
}

TEST(Error, codes_have_the_names_that_json_shows) {
  EXPECT_EQ(to_string(ErrorCode::bad_input), "bad_input");
  EXPECT_EQ(to_string(ErrorCode::not_found), "not_found");
  EXPECT_EQ(to_string(ErrorCode::unsupported), "unsupported");
  EXPECT_EQ(to_string(ErrorCode::ep_unavailable), "ep_unavailable");
  EXPECT_EQ(to_string(ErrorCode::compile_failed), "compile_failed");
  EXPECT_EQ(to_string(ErrorCode::timed_out), "timed_out");
  EXPECT_EQ(to_string(ErrorCode::corrupt), "corrupt");
  EXPECT_EQ(to_string(ErrorCode::busy), "busy");
  EXPECT_EQ(to_string(ErrorCode::io), "io");
  EXPECT_EQ(to_string(ErrorCode::no_space), "no_space");
  EXPECT_EQ(to_string(ErrorCode::cancelled), "cancelled");
  EXPECT_EQ(to_string(ErrorCode::internal), "internal");
}

TEST(Error, try_macros_hand_on_values_and_whole_errors) {
  EXPECT_EQ(quarter_of(12).value(), 3);
  const auto failed = quarter_of(6);
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, ErrorCode::bad_input);
  EXPECT_EQ(failed.error().message, "odd");
  EXPECT_EQ(failed.error().path, "/some/file");
  EXPECT_EQ(failed.error().hint, "give an even one");
  EXPECT_TRUE(check_even(2).has_value());
  EXPECT_FALSE(check_even(3).has_value());
}

}  // namespace
}  // namespace precast
