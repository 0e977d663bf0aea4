#include "fs/lock_holder.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "util/text.hpp"

namespace precast::fs {
namespace {

constexpr std::size_t kLongestNote = 1024;
constexpr std::uint64_t kLargestFile = 8192;

// Takes the first line off `text`; what follows `name` and a blank in it. Nothing if it is another line, or if it does
// not end.
std::optional<std::string_view> take_line(std::string_view& text, std::string_view name) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  if (!line.starts_with(name) || line.substr(name.size()).substr(0, 1) != " ") return std::nullopt;
  line.remove_prefix(name.size() + 1);
  return line;
}

std::optional<std::int64_t> parse_number(std::string_view digits) {
  std::int64_t number = 0;
  const char* const begin = digits.data();
  const char* const end = begin + digits.size();
  const auto parsed = std::from_chars(begin, end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return number;
}

}  // namespace

std::string format_lock_holder(const LockHolder& holder) {
  std::string note = holder.note.substr(0, kLongestNote);
  std::ranges::replace(note, '\n', ' ');
  return fmt::format("pid {}\nsince {}\nnote {}\n", holder.pid, holder.since.time_since_epoch().count(),
                     util::escape_invalid_utf8(note));
}

std::optional<LockHolder> parse_lock_holder(std::string_view text) {
  const auto pid_line = take_line(text, "pid");
  const auto since_line = pid_line ? take_line(text, "since") : std::nullopt;
  const auto note_line = since_line ? take_line(text, "note") : std::nullopt;
  if (!note_line) return std::nullopt;
  const auto pid = parse_number(*pid_line);
  const auto since = parse_number(*since_line);
  if (!pid || *pid <= 0 || !since) return std::nullopt;
  return LockHolder{*pid, util::WallTime(std::chrono::nanoseconds(*since)), util::escape_invalid_utf8(*note_line)};
}

std::optional<LockHolder> read_lock_holder(FileSystem& fs, const stdfs::path& path) {
  const auto text = read_small_file(fs, path, kLargestFile);
  // For display only: whoever cannot be read is nobody.
  return text ? parse_lock_holder(*text) : std::nullopt;
}

}  // namespace precast::fs
