#include "bench/report_file.hpp"

#include <fstream>
#include <iterator>

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/program.hpp"

namespace precast::bench {
namespace {

using precast::testing::Folder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FixedClock : public util::Clock {
 public:
  [[nodiscard]] util::WallTime now() const override { return util::parse_rfc3339("2026-11-29T16:38:35Z").value(); }
  [[nodiscard]] util::SteadyTime steady() const override { return {}; }
};

Result<std::filesystem::path> write(const ReportPlace& place, std::string_view text) {
  return write_report(fs::FileSystem::posix(), FixedClock(), place, text);
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

TEST(ReportFile, ByDefaultIsNamedAfterModelAndTime) {
  const Folder folder;
  const auto path = write({.name = "phi", .state_home = folder / "state"}, "{}");
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(*path, folder / "state/precast/perf/phi/20261129-163835.json");
  EXPECT_EQ(contents(*path), "{}");
}

TEST(ReportFile, ByDefaultGetsASuffixWhereOneIs) {
  const Folder folder;
  const ReportPlace place{.name = "phi", .state_home = folder.path()};
  for (const char* text : {"1", "2", "3"}) ASSERT_TRUE(write(place, text));
  const auto where = folder / "precast/perf/phi";
  EXPECT_THAT(names_in(where), ElementsAre("20261129-163835-2.json", "20261129-163835-3.json", "20261129-163835.json"));
  EXPECT_EQ(contents(where / "20261129-163835.json"), "1");
  EXPECT_EQ(contents(where / "20261129-163835-3.json"), "3");
}

TEST(ReportFile, WithoutAStateFolderGoesBelowHome) {
  EXPECT_EQ(default_folder({.name = "m", .home = "/home/me"}).value(), "/home/me/.local/state/precast/perf/m");
  EXPECT_EQ(default_folder({.name = "m", .state_home = "relative", .home = "/home/me"}).value(),
            "/home/me/.local/state/precast/perf/m");
}

TEST(ReportFile, WithoutAHomeSaysWhatToDo) {
  const auto path = write({.name = "m"}, "{}");
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code, ErrorCode::not_found);
  EXPECT_THAT(path.error().message, HasSubstr("HOME"));
  EXPECT_THAT(path.error().hint, HasSubstr("-o"));
}

TEST(ReportFile, NamedByTheUserMakesItsFolders) {
  const Folder folder;
  const auto path = write({.output = folder / "a/b/report.csv"}, "x\r\n");
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(*path, folder / "a/b/report.csv");
  EXPECT_EQ(contents(*path), "x\r\n");
  EXPECT_THAT(names_in(folder / "a/b"), ElementsAre("report.csv"));
}

TEST(ReportFile, NamedByTheUserIsOverwrittenOnlyIfAsked) {
  const Folder folder;
  ReportPlace place{.output = folder / "r.json"};
  ASSERT_TRUE(write(place, "old"));
  const auto refused = write(place, "new");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::bad_input);
  EXPECT_THAT(refused.error().message, HasSubstr("r.json' exists already"));
  EXPECT_THAT(refused.error().hint, HasSubstr("--overwrite"));
  EXPECT_EQ(contents(place.output), "old");

  place.overwrite = true;
  ASSERT_TRUE(write(place, "new"));
  EXPECT_EQ(contents(place.output), "new");
  EXPECT_THAT(names_in(folder.path()), ElementsAre("r.json"));
}

TEST(ReportFile, ThatIsAFolderIsRefusedEvenToOverwrite) {
  const Folder folder;
  const auto path = write({.output = folder.path(), .overwrite = true}, "x");
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code, ErrorCode::bad_input);
}

TEST(ReportFile, NeverReplacesALinkThatLeadsNowhere) {
  const Folder folder;
  std::filesystem::create_symlink("nothing", folder / "link.json");
  const auto path = write({.output = folder / "link.json"}, "x");
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().code, ErrorCode::bad_input);
  EXPECT_THAT(names_in(folder.path()), ElementsAre("link.json"));
}

TEST(ReportFile, WhereNoneCanBeLeavesNothing) {
  const auto path = write({.output = "/proc/precast/r.json"}, "x");
  ASSERT_FALSE(path);
  EXPECT_NE(path.error().code, ErrorCode::bad_input);
}

TEST(ReportFile, APlaceIsCheckedBeforeAndNothingIsMadeThere) {
  const Folder folder;
  std::ofstream(folder / "there") << "old";
  std::filesystem::create_directory(folder / "folder");
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  const auto check = [](const ReportPlace& place) { return check_report_place(fs::FileSystem::posix(), place); };
  for (const auto& [place, words] :
       {std::pair(ReportPlace{.output = folder / "there"}, "exists already"),
        std::pair(ReportPlace{.output = folder / "folder", .overwrite = true}, "is a folder"),
        std::pair(ReportPlace{.output = folder / "fifo", .overwrite = true}, "is not a regular file"),
        std::pair(ReportPlace{.output = folder / "there/x/report"}, "is not a folder"),
        std::pair(ReportPlace{.output = "/proc/nowhere/report"}, "nothing can be written in"),
        std::pair(ReportPlace{.name = "phi"}, "neither XDG_STATE_HOME nor HOME")}) {
    const auto checked = check(place);
    ASSERT_FALSE(checked) << words;
    EXPECT_THAT(checked.error().message, HasSubstr(words));
    EXPECT_FALSE(checked.error().hint.empty());
    EXPECT_FALSE(write(place, "{}")) << words;
  }
  for (const ReportPlace& place :
       {ReportPlace{.output = folder / "there", .overwrite = true}, ReportPlace{.output = folder / "a/b/report"},
        ReportPlace{.name = "phi", .state_home = folder / "state"}}) {
    EXPECT_TRUE(check(place));
  }
  EXPECT_THAT(names_in(folder.path()), ElementsAre("fifo", "folder", "there"));
  EXPECT_EQ(contents(folder / "there"), "old");
}

TEST(ReportName, IsOneComponentOfAPath) {
  EXPECT_EQ(path_component("phi-3 mini"), "phi-3 mini");
  EXPECT_EQ(path_component("a/../b"), "a_.._b");
  EXPECT_EQ(path_component(".."), "_.");
  EXPECT_EQ(path_component(".hidden"), "_hidden");
  EXPECT_EQ(path_component(""), "model");
  EXPECT_EQ(path_component("a\nb\xff"), "a\\nb\\xff");
  EXPECT_EQ(path_component(std::string(99, 'x') + "\xC3\xA4"), std::string(99, 'x'));
  EXPECT_EQ(path_component(std::string(300, 'x')).size(), 100U);
}

TEST(ReportFormat, IsOneOfFour) {
  EXPECT_EQ(parse_report_format("md").value(), ReportFormat::md);
  const auto unknown = parse_report_format("xml");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::bad_input);
  EXPECT_THAT(unknown.error().message, HasSubstr("'xml'"));
  EXPECT_EQ(unknown.error().hint, "say text, json, md or csv");
}

}  // namespace
}  // namespace precast::bench
