#include "bench/report_file.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "bench/whole_file.hpp"
#include "util/text.hpp"
#include "util/try.hpp"

namespace precast::bench {
namespace {

constexpr std::uint32_t kNewFolderMode = 0777;       // less the umask, as mkdir does
constexpr std::uint32_t kNewStateFolderMode = 0700;  // as the XDG base directory specification has it
constexpr std::size_t kLongestName = 100;
constexpr int kMostSuffixes = 10000;

std::filesystem::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// False: something has that name already. Never replaces it, not even one that came a moment ago.
Result<bool> put_in_place(fs::FileSystem& fs, const StagedFile& staged, const std::filesystem::path& path) {
  auto renamed = fs.rename_new(staged.temporary(), path);
  if (renamed) return true;
  if (fs::exists(fs, path)) return false;
  return std::unexpected(std::move(renamed).error());
}

// Likewise.
Result<bool> write_new(fs::FileSystem& fs, const std::filesystem::path& path, std::string_view text) {
  const StagedFile staged(fs::new_temporary(path.parent_path()), path);
  PRECAST_TRY(fs::write_file_atomically(fs, staged.temporary(), text, fs::Durability::none));
  return put_in_place(fs, staged, path);
}

std::unexpected<Error> refuse_existing(const ReportPlace& place) {
  return fail(ErrorCode::bad_input, fmt::format("the report {} exists already", util::quoted(place.output)),
              place.output, fmt::format("name another file with {}, or add --overwrite", place.option));
}

// What a link leads to: the link itself stays. Those of the system (/dev/stdout) lead to what somebody has open.
Result<ReportPlace> resolved(fs::FileSystem& fs, ReportPlace place) {
  const auto entry = fs.lstat(place.output);
  if (!entry || entry->kind != fs::FileKind::symlink) return place;
  const auto refuse = [&](const char* why) {
    return fail(ErrorCode::bad_input, fmt::format("the report {} {}", util::quoted(place.output), why), place.output,
                fmt::format("name a file with {}", place.option));
  };
  std::error_code error;
  const auto folder = std::filesystem::canonical(std::filesystem::absolute(place.output, error).parent_path(), error);
  if (fs::is_within("/dev", folder) || fs::is_within("/proc", folder)) return refuse("is not a regular file");
  place.output = std::filesystem::canonical(place.output, error);
  if (error) return refuse("is a link that leads nowhere");
  return place;
}

Result<void> check_named(fs::FileSystem& fs, const ReportPlace& place) {
  const auto there = fs.stat(place.output);
  if (there && there->kind == fs::FileKind::directory) {
    return fail(ErrorCode::bad_input, fmt::format("the report {} is a folder", util::quoted(place.output)),
                place.output, "name a file in it");
  }
  if (there && there->kind != fs::FileKind::regular) {
    return fail(ErrorCode::bad_input, fmt::format("the report {} is not a regular file", util::quoted(place.output)),
                place.output, fmt::format("name a file with {}; --json gives the report on stdout", place.option));
  }
  if (there && !place.overwrite) return refuse_existing(place);
  return {};
}

Result<std::filesystem::path> write_named(fs::FileSystem& fs, const ReportPlace& named, std::string_view text) {
  PRECAST_TRY_ASSIGN(const ReportPlace place, resolved(fs, named));
  PRECAST_TRY(check_named(fs, place));
  const std::filesystem::path folder = place.output.parent_path();
  if (!folder.empty()) PRECAST_TRY(fs::make_directories(fs, folder, kNewFolderMode, fs::Durability::none));
  // Its mode is what the user's umask leaves: it is made to be shown.
  const std::array parts = {std::as_bytes(std::span(text))};
  PRECAST_TRY_ASSIGN(StagedFile staged, stage_whole(place.output, [&](const std::filesystem::path& temporary) {
                       return write_parts(temporary, place.output, parts);
                     }));
  if (place.overwrite) {
    PRECAST_TRY(staged.commit());
    return place.output;
  }
  PRECAST_TRY_ASSIGN(const bool written, put_in_place(fs, staged, place.output));
  if (!written) return refuse_existing(place);
  return place.output;
}

Result<std::filesystem::path> write_default(fs::FileSystem& fs, const util::Clock& clock, const ReportPlace& place,
                                            std::string_view text) {
  PRECAST_TRY_ASSIGN(const std::filesystem::path folder, default_folder(place));
  PRECAST_TRY(fs::make_directories(fs, folder, kNewStateFolderMode, fs::Durability::none));
  const auto now = std::chrono::floor<std::chrono::seconds>(clock.now());
  const std::string stem =
      fmt::format("{:%Y%m%d-%H%M%S}", fmt::gmtime(static_cast<std::time_t>(now.time_since_epoch().count())));
  for (int number = 1; number <= kMostSuffixes; ++number) {
    std::filesystem::path path = folder / (number == 1 ? stem + ".json" : fmt::format("{}-{}.json", stem, number));
    PRECAST_TRY_ASSIGN(const bool written, write_new(fs, path, text));
    if (written) return path;
  }
  return fail(ErrorCode::io, fmt::format("{} is full of reports of {}", util::quoted(folder), stem), folder,
              "name a file with -o");
}

}  // namespace

Result<ReportFormat> parse_report_format(std::string_view text) {
  if (text == "text") return ReportFormat::text;
  if (text == "json") return ReportFormat::json;
  if (text == "md") return ReportFormat::md;
  if (text == "csv") return ReportFormat::csv;
  return fail(ErrorCode::bad_input, fmt::format("--format {} is not known", util::quoted(std::string(text))), {},
              "say text, json, md or csv");
}

ReportPlace place_from_environment() {
  return {.state_home = from_environment("XDG_STATE_HOME"), .home = from_environment("HOME")};
}

Result<std::filesystem::path> default_folder(const ReportPlace& place) {
  const std::filesystem::path below = std::filesystem::path("precast/perf") / path_component(place.name);
  // The XDG base directory specification has relative values ignored.
  if (place.state_home.is_absolute()) return place.state_home / below;
  if (place.home.is_absolute()) return place.home / ".local/state" / below;
  return fail(ErrorCode::not_found, "there is no folder for the report: neither XDG_STATE_HOME nor HOME is set", {},
              "name a file with -o, or set HOME");
}

std::string path_component(std::string_view name) {
  std::string component = util::escape_to_line(name);
  std::ranges::replace(component, '/', '_');
  if (component.starts_with('.')) component.front() = '_';
  if (component.size() > kLongestName) {
    std::size_t end = kLongestName;
    while (end > 0 && (static_cast<unsigned char>(component[end]) & 0xC0U) == 0x80U) --end;  // not within a character
    component.resize(end);
  }
  return component.empty() ? "model" : component;
}

Result<void> check_report_place(fs::FileSystem& fs, const ReportPlace& named) {
  if (!named.output.empty()) {
    PRECAST_TRY_ASSIGN(const ReportPlace place, resolved(fs, named));
    PRECAST_TRY(check_named(fs, place));
    return fs::check_can_write(fs, place.output.parent_path());
  }
  PRECAST_TRY_ASSIGN(const std::filesystem::path folder, default_folder(named));
  return fs::check_can_write(fs, folder);
}

Result<std::filesystem::path> write_report(fs::FileSystem& fs, const util::Clock& clock, const ReportPlace& place,
                                           std::string_view text) {
  return place.output.empty() ? write_default(fs, clock, place, text) : write_named(fs, place, text);
}

}  // namespace precast::bench
