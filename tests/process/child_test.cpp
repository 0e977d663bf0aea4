#include "process/child.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "process/support.hpp"

namespace precast::process::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Pair;

constexpr std::chrono::milliseconds kNow{0};

Error error_of(const SpawnOptions& options) {
  auto child = Child::spawn(options);
  EXPECT_FALSE(child.has_value());
  return child ? Error{} : child.error();
}

class ChildTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "precast-process-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& name, const std::string& text, mode_t mode) const {
    const auto path = folder_ / name;
    std::ofstream(path) << text;
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }

  std::filesystem::path folder_;
};

TEST_F(ChildTest, ReportsTheExitCode) {
  const auto status = end_of(shell_options("exit 3"));
  EXPECT_EQ(status.code, 3);
  EXPECT_EQ(status.signal, std::nullopt);
  EXPECT_EQ(status.describe(), "exit code 3");
}

TEST_F(ChildTest, ReportsTheSignal) {
  const auto status = end_of(shell_options("kill -SEGV $$"));
  EXPECT_EQ(status.code, std::nullopt);
  EXPECT_EQ(status.signal, SIGSEGV);
  EXPECT_EQ(status.describe(), "signal 11 (Segmentation fault)");
}

TEST_F(ChildTest, DescribesSignalsWithoutName) {
  EXPECT_EQ((ExitStatus{.code = {}, .signal = 40}).describe(), "signal 40");
}

TEST_F(ChildTest, GivesTheSameAnswerTwice) {
  auto child = Child::spawn(shell_options("exit 4"));
  ASSERT_TRUE(child);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(end_of(*child).code, 4);
  }
}

TEST_F(ChildTest, PassesArgumentsAsTheyAre) {
  SpawnOptions options = shell_options("printf '%s|' \"$@\"");
  options.arguments.insert(options.arguments.end(), {"name", "", "a b", "*", "\xff"});
  EXPECT_EQ(output_of(options), "|a b|*|\xff|");
}

TEST_F(ChildTest, GivesExactlyTheEnvironmentThatWasAskedFor) {
  ::setenv("PRECAST_TEST_SECRET", "1", 1);
  SpawnOptions options;
  options.program = "/usr/bin/env";
  options.environment = {{"B", "x y=z"}, {"A", ""}};
  EXPECT_EQ(output_of(options), "B=x y=z\nA=\n");
  options.environment.clear();
  EXPECT_EQ(output_of(options), "");
  ::unsetenv("PRECAST_TEST_SECRET");
}

TEST_F(ChildTest, InheritsOnlyTheDescriptorsOfTheList) {
  const Descriptor open(::open("/dev/null", O_RDONLY));  // no O_CLOEXEC, as many libraries do it
  const Descriptor high(::fcntl(open.get(), F_DUPFD, 200));
  ASSERT_TRUE(high);
  SpawnOptions options = helper_options("descriptors");
  options.descriptors = {{open.get(), 9}};
  EXPECT_EQ(output_of(options), "0 1 2 9\n");
}

TEST_F(ChildTest, StandardDescriptorsAreNullUnlessGiven) {
  EXPECT_EQ(output_of(shell_options("readlink /proc/$$/fd/0 /proc/$$/fd/2; cat; echo lost >&2")),
            "/dev/null\n/dev/null\n");
}

TEST_F(ChildTest, DescriptorNumbersMayOverlap) {
  Pipe output;
  const Descriptor a(::open(write("a", "content of a\n", 0600).c_str(), O_RDONLY | O_CLOEXEC));
  const Descriptor b(::open(write("b", "content of b\n", 0600).c_str(), O_RDONLY | O_CLOEXEC));
  const auto [left, right] = std::pair(a.get(), b.get());
  const std::string first = std::to_string(left);
  const std::string second = std::to_string(right);
  SpawnOptions options = shell_options("cat <&" + second + "; cat <&" + first);
  ASSERT_LE(right, 9);  // what the shell can write after <&
  options.descriptors = {{left, right}, {right, left}};
  EXPECT_EQ(output_of(options), "content of a\ncontent of b\n");
}

TEST_F(ChildTest, ADescriptorMayKeepItsNumber) {
  Pipe output;
  SpawnOptions options = shell_options("echo kept >&" + std::to_string(output.write.get()));
  ASSERT_LE(output.write.get(), 9);
  options.descriptors = {{output.write.get(), output.write.get()}};
  EXPECT_EQ(end_of(options).code, 0);
  EXPECT_EQ(read_line(output), "kept");
}

TEST_F(ChildTest, RefusesUnusableDescriptors) {
  SpawnOptions options = shell_options("exit 0");
  options.descriptors = {{1, 5}, {2, 5}};
  EXPECT_THAT(error_of(options).message, HasSubstr("descriptor 2 cannot become descriptor 5"));
  options.descriptors = {{9999, 5}};
  EXPECT_THAT(error_of(options).message, HasSubstr("descriptor 9999 cannot become descriptor 5"));
  options.descriptors = {{1, -1}};
  EXPECT_EQ(error_of(options).code, ErrorCode::bad_input);
}

TEST_F(ChildTest, StartsInTheWorkingDirectory) {
  SpawnOptions options = shell_options("pwd -P");
  options.working_directory = folder_;
  EXPECT_EQ(output_of(options), std::filesystem::canonical(folder_).string() + "\n");
}

TEST_F(ChildTest, NamesAMissingWorkingDirectory) {
  SpawnOptions options = shell_options("exit 0");
  options.working_directory = folder_ / "nowhere";
  const auto error = error_of(options);
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_THAT(error.message, HasSubstr((folder_ / "nowhere").string()));
}

TEST_F(ChildTest, StartsWithDefaultSignals) {
  const auto old_handler = std::signal(SIGPIPE, SIG_IGN);
  sigset_t blocked;
  sigset_t old_mask;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &blocked, &old_mask);
  SpawnOptions options;
  options.program = "/bin/cat";
  options.arguments = {"/proc/self/status"};
  const std::string status = output_of(options);
  ::pthread_sigmask(SIG_SETMASK, &old_mask, nullptr);
  std::signal(SIGPIPE, old_handler);
  EXPECT_THAT(status, HasSubstr("SigBlk:\t0000000000000000"));
  // glibc keeps 32 and 33 for itself and starts programs with these two ignored.
  EXPECT_THAT(status, AnyOf(HasSubstr("SigIgn:\t0000000000000000"), HasSubstr("SigIgn:\t0000000180000000")));
}

TEST_F(ChildTest, NamesAMissingProgram) {
  SpawnOptions options;
  options.program = folder_ / "nothing\xff";
  const auto error = error_of(options);
  EXPECT_EQ(error.code, ErrorCode::not_found);
  EXPECT_EQ(error.message, "the program '" + folder_.string() + "/nothing\\xff' does not exist");
  EXPECT_EQ(error.path, options.program);
}

TEST_F(ChildTest, TellsAProgramThatIsNotExecutable) {
  SpawnOptions options;
  options.program = write("tool", "#!/bin/sh\n", 0600);
  const auto error = error_of(options);
  EXPECT_EQ(error.code, ErrorCode::bad_input);
  EXPECT_THAT(error.message, AllOf(HasSubstr(options.program.string()), HasSubstr("not executable")));
  EXPECT_THAT(error.hint, HasSubstr("chmod +x"));
}

TEST_F(ChildTest, TellsAMissingInterpreterFromAMissingProgram) {
  SpawnOptions options;
  options.program = write("tool", "#!/no/such/interpreter\n", 0700);
  const auto error = error_of(options);
  EXPECT_EQ(error.code, ErrorCode::unsupported);
  EXPECT_THAT(error.message, HasSubstr("interpreter"));
}

TEST_F(ChildTest, TellsAProgramOfAnotherKind) {
  SpawnOptions options;
  options.program = write("tool", "no program at all", 0700);
  EXPECT_EQ(error_of(options).code, ErrorCode::unsupported);
}

TEST_F(ChildTest, RefusesWhatNoProgramCanBeGiven) {
  SpawnOptions options;
  options.program = "sh";
  EXPECT_THAT(error_of(options).message, HasSubstr("'sh' is not an absolute path"));
  options = shell_options("exit 0");
  options.environment = {{"A=B", "c"}};
  EXPECT_THAT(error_of(options).message, HasSubstr("'A=B'"));
  options = shell_options(std::string("exit 0\0exit 1", 13));
  EXPECT_EQ(error_of(options).code, ErrorCode::bad_input);
}

TEST_F(ChildTest, ADeadlineThatPassesKillsNothing) {
  Pipe input;
  SpawnOptions options;
  options.program = "/bin/cat";
  options.descriptors = {{input.read.get(), 0}};
  auto child = Child::spawn(options);
  ASSERT_TRUE(child);
  for (const auto limit : {kNow, std::chrono::milliseconds(20), std::chrono::milliseconds(-5)}) {
    const auto status = child->wait(limit);
    ASSERT_TRUE(status);
    EXPECT_FALSE(status->has_value());
  }
  input.write.reset();
  EXPECT_EQ(end_of(*child).code, 0);
}

TEST_F(ChildTest, WaitsForTheProcessAndNotForItsOutput) {
  Pipe output;
  SpawnOptions options = shell_options("sleep 100 & exit 0");
  options.descriptors = {{output.write.get(), 1}};
  auto child = Child::spawn(options);
  output.write.reset();
  ASSERT_TRUE(child);
  EXPECT_EQ(end_of(*child, std::chrono::milliseconds::max()).code, 0);
  EXPECT_FALSE(read_all(output, kNow)) << "the grandchild should be running";
  child->kill_group(SIGKILL);
  EXPECT_TRUE(read_all(output)) << "the group outlives its leader, and kill_group reaches it";
}

TEST_F(ChildTest, ThePidfdTellsTheEnd) {
  auto child = Child::spawn(shell_options("exit 0"));
  ASSERT_TRUE(child);
  EXPECT_TRUE(ends(child->pid()));
  EXPECT_FALSE(is_running(*child));
}

TEST_F(ChildTest, KillGroupReachesGrandchildren) {
  Pipe output;
  SpawnOptions options = shell_options("sleep 100 & echo ready; wait");
  options.descriptors = {{output.write.get(), 1}};
  auto child = Child::spawn(options);
  output.write.reset();
  ASSERT_TRUE(child);
  ASSERT_EQ(read_line(output), "ready");
  child->kill_group(SIGTERM);
  EXPECT_TRUE(read_all(output));
  EXPECT_EQ(end_of(*child).signal, SIGTERM);
}

TEST_F(ChildTest, TheDestructorKillsTheGroupAndReaps) {
  Pipe output;
  SpawnOptions options = shell_options("trap '' TERM; sleep 100 & echo ready; wait");
  options.descriptors = {{output.write.get(), 1}};
  int pid = 0;
  {
    auto child = Child::spawn(options);
    output.write.reset();
    ASSERT_TRUE(child);
    ASSERT_EQ(read_line(output), "ready");
    pid = child->pid();
  }
  EXPECT_TRUE(read_all(output));
  EXPECT_EQ(::waitpid(pid, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(ChildTest, TheDestructorKillsWhatAnEndedChildLeftInItsGroup) {
  Pipe output;
  SpawnOptions options = shell_options("sleep 100 & exit 0");
  options.descriptors = {{output.write.get(), 1}};
  {
    auto child = Child::spawn(options);
    output.write.reset();
    ASSERT_TRUE(child);
    ASSERT_EQ(end_of(*child).code, 0);
  }
  EXPECT_TRUE(read_all(output));
}

TEST_F(ChildTest, AMoveEndsTheChildThatIsReplaced) {
  Pipe output;
  SpawnOptions options = shell_options("sleep 100");
  options.descriptors = {{output.write.get(), 1}};
  auto child = Child::spawn(options);
  output.write.reset();
  auto other = Child::spawn(shell_options("exit 6"));
  ASSERT_TRUE(child && other);
  *child = std::move(*other);
  EXPECT_TRUE(read_all(output));
  EXPECT_EQ(end_of(*child).code, 6);
}

TEST_F(ChildTest, SaysWhenSomebodyElseTookTheStatus) {
  auto child = Child::spawn(shell_options("exit 0"));
  ASSERT_TRUE(child);
  ASSERT_EQ(::waitpid(child->pid(), nullptr, 0), child->pid());
  const auto status = child->wait(kPatience);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("exit status"));
}

TEST_F(ChildTest, LeavesNoDescriptorsBehind) {
  const auto before = open_descriptors();
  EXPECT_EQ(end_of(shell_options("exit 0")).code, 0);
  SpawnOptions missing = shell_options("exit 0");
  missing.program = "/no/such/program";
  missing.descriptors = {{1, 1}};
  EXPECT_EQ(error_of(missing).code, ErrorCode::not_found);
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(ChildTest, ChildrenOfSeveralThreadsDoNotHoldEachOthersPipes) {
  const auto run = [] {
    for (int i = 0; i < 8; ++i) {
      std::array<int, 2> ends{};
      ASSERT_EQ(::pipe(ends.data()), 0);  // not close-on-exec
      const Descriptor read(ends[0]);
      Descriptor write(ends[1]);
      SpawnOptions options;
      options.program = "/bin/cat";
      options.descriptors = {{read.get(), 0}};
      auto child = Child::spawn(options);
      ASSERT_TRUE(child);
      write.reset();
      ASSERT_EQ(end_of(*child).code, 0) << "another child holds the write end";
    }
  };
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) threads.emplace_back(run);
}

TEST(Environment, IsThatOfThisProcess) {
  ::setenv("PRECAST_TEST_VALUE", "a=b c", 1);
  ::setenv("PRECAST_TEST_EMPTY", "", 1);
  EXPECT_THAT(current_environment(),
              IsSupersetOf({Pair("PRECAST_TEST_VALUE", "a=b c"), Pair("PRECAST_TEST_EMPTY", "")}));
  ::unsetenv("PRECAST_TEST_VALUE");
  ::unsetenv("PRECAST_TEST_EMPTY");
  EXPECT_THAT(current_environment(), ::testing::Not(::testing::Contains(Pair("PRECAST_TEST_VALUE", "a=b c"))));
}

TEST(MakePipe, EndsAreCloseOnExec) {
  const Pipe pipe;
  EXPECT_EQ(::fcntl(pipe.read.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(::fcntl(pipe.write.get(), F_GETFD), FD_CLOEXEC);
}

}  // namespace
}  // namespace precast::process::testing
