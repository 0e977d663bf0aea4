// Where a report goes.
//
//   ReportPlace place = place_from_environment();
//   place.output = options.output;                  // empty: a new file under $XDG_STATE_HOME/precast/perf/<name>/
//   place.name = "phi-3";
//   PRECAST_TRY_ASSIGN(const auto path, write_report(fs::FileSystem::posix(), util::Clock::system(), place, json));
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "fs/file_system.hpp"
#include "precast/error.hpp"
#include "util/time.hpp"

namespace precast::bench {

enum class ReportFormat : std::uint8_t { text, json, md, csv };
// bad_input lists them.
[[nodiscard]] Result<ReportFormat> parse_report_format(std::string_view text);

struct ReportPlace {
  std::filesystem::path output;  // as the user names it; empty: the default
  bool overwrite = false;        // of `output`
  std::string option = "-o";     // that names `output`, for hints
  std::string name;              // of the model or bundle, for the default's folder
  // As in the environment; empty: not set.
  std::filesystem::path state_home;  // XDG_STATE_HOME
  std::filesystem::path home;        // HOME
};
// With state_home and home as they are there.
[[nodiscard]] ReportPlace place_from_environment();

// "<state>/precast/perf/<name>", <state> being $XDG_STATE_HOME or ~/.local/state. not_found where neither variable is
// an absolute path: the hint says what to do.
[[nodiscard]] Result<std::filesystem::path> default_folder(const ReportPlace& place);
// `name` as one component of a path: '/' and a leading '.' become '_', control characters and what is not UTF-8 are
// escaped; never empty nor too long.
[[nodiscard]] std::string path_component(std::string_view name);

// `output` may be a link: what it leads to is written. bad_input: it leads nowhere, or is one of /dev or /proc.
//
// What write_report would refuse, before the measurement that would be in vain; nothing is made. bad_input: as there,
// or `output` is no file; io: its folder cannot be written to.
[[nodiscard]] Result<void> check_report_place(fs::FileSystem& fs, const ReportPlace& place);

// Where the text is now. Folders on the way are made; the file is there whole or not at all. The default's name is
// <YYYYMMDD-HHMMSS>.json (UTC), with "-2", "-3", ... if there is one already. bad_input: `output` is there and may not
// be overwritten, or is a folder. Safe against others who write reports at the same time.
[[nodiscard]] Result<std::filesystem::path> write_report(fs::FileSystem& fs, const util::Clock& clock,
                                                         const ReportPlace& place, std::string_view text);

}  // namespace precast::bench
