#include "util/time.hpp"

#include <gtest/gtest.h>

namespace precast::util {
namespace {

using namespace std::chrono_literals;

class ManualClock : public Clock {
 public:
  [[nodiscard]] WallTime now() const override { return WallTime(at_); }
  [[nodiscard]] SteadyTime steady() const override { return SteadyTime(at_); }
  void advance(std::chrono::nanoseconds by) { at_ += by; }

 private:
  std::chrono::nanoseconds at_{0};
};

TEST(SystemClock, goes_forward) {
  const Clock& clock = Clock::system();
  const SteadyTime before = clock.steady();
  EXPECT_LE(before, clock.steady());
  EXPECT_GT(clock.now(), WallTime(std::chrono::sys_days(std::chrono::year{2024} / 1 / 1)));
}

TEST(Rfc3339, shows_whole_seconds_of_utc) {
  EXPECT_EQ(format_rfc3339(WallTime(0s)), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_rfc3339(WallTime(1795970315s + 999'999'999ns)), "2026-11-29T16:38:35Z");
  EXPECT_EQ(format_rfc3339(WallTime(-1ns)), "1969-12-31T23:59:59Z");
}

TEST(Rfc3339, comes_back_as_it_went) {
  for (const auto seconds : {0s, -1s, 951'782'400s /* a 29th of February */, 1'795'970'315s, 9'000'000'000s}) {
    const std::string text = format_rfc3339(WallTime(seconds));
    const auto back = parse_rfc3339(text);
    ASSERT_TRUE(back.has_value()) << text;
    EXPECT_EQ(*back, WallTime(seconds)) << text;
  }
}

TEST(Rfc3339, refuses_other_forms_and_days_that_never_were) {
  for (const auto* text :
       {"", "2026-11-29", "2026-11-29T16:38:35", "2026-11-29T16:38:35z", "2026-11-29 16:38:35Z",
        "2026-11-29T16:38:35ZZ", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z",
        "2026-01-00T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z",
        "+026-01-01T00:00:00Z", "9999-01-01T00:00:00Z"}) {
    const auto parsed = parse_rfc3339(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::bad_input);
  }
  EXPECT_EQ(parse_rfc3339("yester\xFF").error().message, "'yester\\xff' is not a time");
}

TEST(Duration, is_shown_in_the_unit_that_fits) {
  EXPECT_EQ(format_duration(0ns), "0 ms");
  EXPECT_EQ(format_duration(850ms), "850 ms");
  EXPECT_EQ(format_duration(999'600us), "1.0 s");
  EXPECT_EQ(format_duration(12'345ms), "12.3 s");
  EXPECT_EQ(format_duration(59'960ms), "1 min");
  EXPECT_EQ(format_duration(245s), "4 min 5 s");
  EXPECT_EQ(format_duration(30min), "30 min");
  EXPECT_EQ(format_duration(2h + 5min), "2 h 5 min");
  EXPECT_EQ(format_duration(24h), "1 d");
  EXPECT_EQ(format_duration(76h), "3 d 4 h");
  EXPECT_EQ(format_duration(-850ms), "-850 ms");
  EXPECT_EQ(format_duration(std::chrono::nanoseconds::max()), "106751 d 22 h");
  EXPECT_EQ(format_duration(std::chrono::nanoseconds::min()), "-106751 d 22 h");
}

TEST(Duration, is_read_in_every_unit) {
  EXPECT_EQ(parse_duration("300").value(), 300s);
  EXPECT_EQ(parse_duration("300s").value(), 300s);
  EXPECT_EQ(parse_duration("30m").value(), 30min);
  EXPECT_EQ(parse_duration("2h").value(), 2h);
  EXPECT_EQ(parse_duration("1d").value(), 24h);
  EXPECT_EQ(parse_duration("250ms").value(), 250ms);
  EXPECT_EQ(parse_duration("0").value(), 0s);
}

TEST(Duration, refuses_everything_else) {
  for (const auto* text : {"", "s", "-1", "+1", "1.5h", "1 h", " 1", "1w", "1H", "1sm", "0x10", "99999999999999999999",
                           "9223372036854775807d", "36501d"}) {
    const auto parsed = parse_duration(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::bad_input);
    EXPECT_NE(parsed.error().message.find(text), std::string::npos);
    EXPECT_FALSE(parsed.error().hint.empty());
  }
  EXPECT_EQ(parse_duration("36500d").value(), 36500 * 24h);
}

TEST(Stopwatch, laps_start_again_and_elapsed_does_not) {
  ManualClock clock;
  Stopwatch watch(clock);
  clock.advance(1500us);
  EXPECT_DOUBLE_EQ(watch.elapsed_ms(), 1.5);
  clock.advance(500us);
  EXPECT_DOUBLE_EQ(watch.lap_ms(), 2.0);
  clock.advance(3ms);
  EXPECT_DOUBLE_EQ(watch.elapsed_ms(), 3.0);
}

}  // namespace
}  // namespace precast::util
