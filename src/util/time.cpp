#include "util/time.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

#include "util/text.hpp"

namespace precast::util {
namespace {

class SystemClock : public Clock {
 public:
  [[nodiscard]] WallTime now() const override {
    return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
  }
  [[nodiscard]] SteadyTime steady() const override { return std::chrono::steady_clock::now(); }
};

// All of `text` as a number without sign or blanks.
std::optional<std::int64_t> parse_digits(std::string_view text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "dddd-dd-ddTdd:dd:ddZ"
bool has_rfc3339_form(std::string_view text) {
  constexpr std::string_view form = "0000-00-00T00:00:00Z";
  if (text.size() != form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (form[i] == '0' ? !digit : text[i] != form[i]) return false;
  }
  return true;
}

std::optional<WallTime> to_time(std::string_view text) {
  if (!has_rfc3339_form(text)) return std::nullopt;
  const auto field = [&](std::size_t at, std::size_t length) {
    return static_cast<int>(parse_digits(text.substr(at, length)).value_or(0));
  };
  const int year = field(0, 4);
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(field(5, 2))},
                                         std::chrono::day{static_cast<unsigned>(field(8, 2))}};
  const int hour = field(11, 2);
  const int minute = field(14, 2);
  const int second = field(17, 2);
  // 64 bits of nanoseconds reach from 1677 to 2262.
  const bool representable = year >= 1678 && year <= 2261;
  if (!date.ok() || hour > 23 || minute > 59 || second > 59 || !representable) return std::nullopt;
  return WallTime(std::chrono::sys_days{date}) + std::chrono::hours{hour} + std::chrono::minutes{minute} +
         std::chrono::seconds{second};
}

// "4 min 5 s", or "4 min" when there is nothing of the smaller unit.
std::string two_units(std::int64_t total, std::int64_t per_large, std::string_view large, std::string_view small) {
  const std::int64_t rest = total % per_large;
  if (rest == 0) return fmt::format("{} {}", total / per_large, large);
  return fmt::format("{} {} {} {}", total / per_large, large, rest, small);
}

std::string format_positive(std::chrono::nanoseconds duration) {
  using std::chrono::round;
  if (const auto ms = round<std::chrono::milliseconds>(duration); ms.count() < 1000) {
    return fmt::format("{} ms", ms.count());
  }
  if (const auto tenths = round<std::chrono::duration<std::int64_t, std::deci>>(duration); tenths.count() < 600) {
    return fmt::format("{}.{} s", tenths.count() / 10, tenths.count() % 10);
  }
  if (const auto seconds = round<std::chrono::seconds>(duration); seconds.count() < 3600) {
    return two_units(seconds.count(), 60, "min", "s");
  }
  if (const auto minutes = round<std::chrono::minutes>(duration); minutes < std::chrono::hours(24)) {
    return two_units(minutes.count(), 60, "h", "min");
  }
  return two_units(round<std::chrono::hours>(duration).count(), 24, "d", "h");
}

std::optional<std::int64_t> unit_in_ms(std::string_view unit) {
  if (unit == "ms") return 1;
  if (unit == "s" || unit.empty()) return 1000;
  if (unit == "m") return 60'000;
  if (unit == "h") return 3'600'000;
  if (unit == "d") return 86'400'000;
  return std::nullopt;
}

}  // namespace

const Clock& Clock::system() {
  static const SystemClock clock;
  return clock;
}

std::string format_rfc3339(WallTime time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const auto days = std::chrono::floor<std::chrono::days>(seconds);
  const std::chrono::year_month_day date{days};
  const std::chrono::hh_mm_ss of_day{seconds - days};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), of_day.hours().count(),
                     of_day.minutes().count(), of_day.seconds().count());
}

Result<WallTime> parse_rfc3339(std::string_view text) {
  if (const auto time = to_time(text)) return *time;
  return fail(ErrorCode::bad_input, fmt::format("'{}' is not a time", escape_invalid_utf8(text)), {},
              "write it as 2026-11-29T16:38:35Z (UTC)");
}

std::string format_duration(std::chrono::nanoseconds duration) {
  // Some 290 years; rounding must not overflow, and the smallest number has no positive counterpart.
  constexpr auto longest = std::chrono::nanoseconds::max() - std::chrono::hours(2);
  if (duration < std::chrono::nanoseconds::zero()) return "-" + format_positive(-std::max(duration, -longest));
  return format_positive(std::min(duration, longest));
}

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  // A hundred years: whoever adds it to a time stamp in nanoseconds must not overflow.
  constexpr std::int64_t longest_ms = 100LL * 365 * 24 * 60 * 60 * 1000;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_digits(text.substr(0, digits));
  const auto unit = unit_in_ms(text.substr(digits));
  if (number && unit && *number <= longest_ms / *unit) {
    return std::chrono::milliseconds(*number * *unit);
  }
  return fail(ErrorCode::bad_input, fmt::format("'{}' is not a duration", escape_invalid_utf8(text)), {},
              "write a whole number with ms, s, m, h or d, such as 250ms, 30m or 2h; no unit means seconds");
}

double Stopwatch::lap_ms() {
  const SteadyTime now = clock_->steady();
  const std::chrono::duration<double, std::milli> lap = now - start_;
  start_ = now;
  return lap.count();
}

double Stopwatch::elapsed_ms() const {
  return std::chrono::duration<double, std::milli>(clock_->steady() - start_).count();
}

}  // namespace precast::util
