#include "process/supervisor.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "process/process_table_linux.hpp"
#include "process/support.hpp"

namespace precast::process::testing {
namespace {

// A supervised helper. Whoever of its processes lives holds the write end of `output`.
class SupervisorTest : public ::testing::Test {
 protected:
  void start(const std::string& work) {
    SpawnOptions options = helper_options("supervise", {work});
    options.descriptors = {{output_.write.get(), STDOUT_FILENO}, {request_.read.get(), 3}};
    auto child = Child::spawn(options);
    ASSERT_TRUE(child) << child.error().message;
    child_ = std::make_unique<Child>(std::move(*child));
    output_.write.reset();
    request_.read.reset();
  }

  // What was written after the last read_line, provided that no process is left at the moment when the supervisor ends.
  std::string rest() {
    if (!end_of(*child_).code) return "the supervisor did not end";
    return read_all(output_, std::chrono::milliseconds(0)).value_or("a process outlived the supervisor");
  }

  Pipe output_;
  Pipe request_;
  std::unique_ptr<Child> child_;
};

TEST_F(SupervisorTest, ReportsTheWorksExitCode) {
  start("return_7");
  EXPECT_EQ(rest(), "code 7\n");
}

TEST_F(SupervisorTest, TheWorkReadsTheRequestFromThePipe) {
  start("echo_request");
  const std::string request = "{\"model\":1}\n";
  ASSERT_EQ(::write(request_.write.get(), request.data(), request.size()), static_cast<ssize_t>(request.size()));
  EXPECT_EQ(rest(), "request: {\"model\":1}\ncode 0\n");
}

TEST_F(SupervisorTest, ARequestThatNobodyReadsYetIsNoHangUp) {
  start("hang");
  ASSERT_EQ(::write(request_.write.get(), "x\n", 2), 2);
  ASSERT_EQ(read_line(output_), "ready");
  const auto status = child_->wait(std::chrono::milliseconds(30));
  ASSERT_TRUE(status);
  EXPECT_FALSE(status->has_value());
  request_.write.reset();
  EXPECT_EQ(rest(), "parent gone\n") << "and end-of-file counts although bytes are left in the pipe";
}

TEST_F(SupervisorTest, ACrashIsReportedAndItsOrphanInAnotherSessionKilled) {
  start("crash_and_leave_daemon");
  EXPECT_EQ(rest(), "signal 11\n");
}

TEST_F(SupervisorTest, AnExceptionIsASignalAndDoesNotReachMain) {
  start("throw");
  EXPECT_EQ(rest(), "signal 6\n");
}

TEST_F(SupervisorTest, WhatTheWorkLeavesBehindIsKilled) {
  start("leave_daemon_and_member");
  EXPECT_EQ(rest(), "code 0\n");
}

TEST_F(SupervisorTest, AProcessWhoseFirstThreadEndedIsNoZombie) {
  start("leave_threadless_daemon");
  EXPECT_EQ(rest(), "code 0\n");
}

TEST_F(SupervisorTest, AStormOfForksIsEnded) {
  start("leave_storm");
  EXPECT_EQ(rest(), "code 0\n");
}

TEST_F(SupervisorTest, AChainOfForksIsEnded) {
  start("leave_chain");
  EXPECT_EQ(rest(), "code 0\n");
}

TEST_F(SupervisorTest, TheParentsEndEndsAll) {
  start("hang_with_daemon");
  ASSERT_EQ(read_line(output_), "ready");
  EXPECT_FALSE(read_all(output_, std::chrono::milliseconds(0)));
  request_.write.reset();
  EXPECT_EQ(rest(), "parent gone\n");
}

TEST_F(SupervisorTest, SigtermToTheSupervisorEndsAll) {
  start("hang_with_daemon");
  ASSERT_EQ(read_line(output_), "ready");
  ASSERT_EQ(::kill(child_->pid(), SIGTERM), 0);
  EXPECT_EQ(rest(), "parent gone\n");
}

TEST_F(SupervisorTest, TheWorkDiesWithTheSupervisor) {
  start("hang");
  ASSERT_EQ(read_line(output_), "ready");
  ASSERT_EQ(::kill(child_->pid(), SIGKILL), 0);
  EXPECT_EQ(read_all(output_), "");
}

TEST_F(SupervisorTest, OrphansThatEndMeanwhileAreReaped) {
  start("many_short_daemons");
  ASSERT_EQ(read_line(output_), "ready");
  const auto children = [&] { return std::ranges::count(read_process_table(), child_->pid(), &ProcessEntry::parent); };
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (children() > 1 && std::chrono::steady_clock::now() < deadline) {
    ASSERT_TRUE(child_->wait(std::chrono::milliseconds(1)));
  }
  EXPECT_EQ(children(), 1) << "only the work itself, no zombies";
  request_.write.reset();
  EXPECT_EQ(rest(), "parent gone\n");
}

TEST_F(SupervisorTest, TheWorkGetsNoDescriptorOfTheSupervisor) {
  start("descriptors");
  EXPECT_EQ(rest(), "0 1 2 3\ncode 0\n");
}

TEST_F(SupervisorTest, ProgramsThatTheWorkStartsDoNotGetThePipe) {
  start("descriptors_of_program");
  EXPECT_EQ(rest(), "0 1 2\ncode 0\n");
}

TEST_F(SupervisorTest, TheWorkStartsWithDefaultSignals) {
  start("signal_state");
  EXPECT_EQ(rest(), "SigBlk0SigIgn0SigCgt0\ncode 0\n");
}

TEST(KillDescendants, ReachesOddlyNamedProcessesInOtherSessionsButNotTheRoot) {
  Pipe output;
  SpawnOptions options = helper_options("tree");
  options.descriptors = {{output.write.get(), STDOUT_FILENO}};
  auto child = Child::spawn(options);
  output.write.reset();
  ASSERT_TRUE(child);
  ASSERT_EQ(read_line(output), "ready");
  kill_descendants(child->pid(), SIGKILL);
  EXPECT_EQ(read_all(output), "");
  EXPECT_TRUE(is_running(*child));
}

TEST(KillDescendants, OfAProcessWithoutAnyDoesNothing) {
  auto child = Child::spawn(shell_options("exit 0"));
  ASSERT_TRUE(child);
  kill_descendants(child->pid(), SIGKILL);
  EXPECT_EQ(end_of(*child).code, 0);
}

}  // namespace
}  // namespace precast::process::testing
