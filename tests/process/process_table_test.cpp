#include <filesystem>
#include <string>
#include <vector>

#include <sys/wait.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "process/process_table_linux.hpp"

namespace precast::process {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

constexpr const char* kAfterName = " S 12 34 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 987654321 100 200\n";

TEST(ParseProcessStat, ReadsWhatIsNeeded) {
  const auto entry = parse_process_stat(std::string("77 (name)") + kAfterName).value_or(ProcessEntry{});
  EXPECT_EQ(entry.pid, 77);
  EXPECT_EQ(entry.state, 'S');
  EXPECT_EQ(entry.parent, 12);
  EXPECT_EQ(entry.group, 34);
  EXPECT_EQ(entry.start_time, 987654321U);
}

TEST(ParseProcessStat, ANameMayHoldAnything) {
  for (const std::string name : {"", ")", "a b", ") Z 1 1 1", "((", "x) S 9 9", "a\nb"}) {
    const auto entry = parse_process_stat("77 (" + name + ")" + kAfterName).value_or(ProcessEntry{});
    EXPECT_EQ(entry.parent, 12) << name;
  }
}

TEST(ParseProcessStat, RefusesWhatIsNoStatLine) {
  for (const std::string line : {"", "77", "77 (name)", "77 (name) ", "77 (name) S 12 34", "x (name) S 1 1 1"}) {
    EXPECT_FALSE(parse_process_stat(line)) << line;
  }
}

TEST(DescendantsOf, FindsAllGenerationsAndNoOthers) {
  const auto entry = [](int pid, int parent) { return ProcessEntry{.pid = pid, .parent = parent}; };
  EXPECT_THAT(descendants_of(10, {entry(13, 12), entry(10, 1), entry(12, 11), entry(11, 10), entry(20, 1)}),
              ElementsAre(11, 12, 13));
  EXPECT_THAT(descendants_of(10, {entry(10, 1), entry(11, 1)}), IsEmpty());
}

TEST(DescendantsOf, EndsOnACircle) {
  const auto entry = [](int pid, int parent) { return ProcessEntry{.pid = pid, .parent = parent}; };
  EXPECT_THAT(descendants_of(10, {entry(10, 12), entry(11, 10), entry(12, 11)}), ElementsAre(11, 12));
}

TEST(ReadProcessTable, HoldsThisProcess) {
  int found = 0;
  for (const auto& entry : read_process_table()) {
    if (entry.pid != ::getpid()) continue;
    ++found;
    EXPECT_EQ(entry.parent, ::getppid());
    EXPECT_EQ(entry.group, ::getpgrp());
    EXPECT_GT(entry.start_time, 0U);
  }
  EXPECT_EQ(found, 1);
}

TEST(ChildrenOfThisThread, AreListedUntilTheyAreReaped) {
  if (!std::filesystem::exists("/proc/thread-self/children")) {
    EXPECT_THAT(children_of_this_thread(), IsEmpty());
    return;
  }
  EXPECT_THAT(children_of_this_thread(), IsEmpty());
  std::vector<pid_t> started;
  for (int i = 0; i < 3; ++i) {
    const pid_t pid = ::fork();
    if (pid == 0) ::_exit(0);
    started.push_back(pid);
  }
  EXPECT_THAT(children_of_this_thread(), UnorderedElementsAreArray(started));
  for (const pid_t pid : started) ::waitpid(pid, nullptr, 0);
  EXPECT_THAT(children_of_this_thread(), IsEmpty());
}

}  // namespace
}  // namespace precast::process
