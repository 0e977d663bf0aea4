// The faults of README.md, each in a process of its own.

#include <algorithm>
#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <unistd.h>

#include "test_folder.hpp"

namespace precast::fake_ep::test {
namespace {

using testing::HasSubstr;
using testing::Not;

namespace fs = std::filesystem;

class FaultTest : public FakeEpTest {
 protected:
  FaultTest() : source_(model()) {}

  Ended compile(const std::string& fault, const std::string& output = "out.onnx") const {
    return run_host({compile_step(source_, output)}, {{"FAKE_EP_FAULT", fault}});
  }

  Ended hang(const std::string& fault) const {
    return run_hanging_host({compile_step(source_, "out.onnx")},
                            {{"FAKE_EP_FAULT", fault}, {"FAKE_EP_TRACE", path("trace")}});
  }

  int open_status(const std::string& output = "out.onnx") const {
    return run_host({"no_compile", "run=" + path(output)}).exit_status;
  }

  std::string source_;
};

TEST_F(FaultTest, FailingCallbacksGiveTheStatusesThatRealEpsGive) {
  const std::vector<std::pair<std::string, int>> expected = {
      {"factories", 111}, {"devices", 111}, {"create_ep", 111}, {"compile", 111},      {"compile_late", 111},
      {"run_start", 111}, {"compute", 111}, {"load", 0},        {"create_state", 101}, {"capability", 101},
      {"release_ep", 0},  {"validate", 0},  {"unload", 0},
  };
  for (const auto& [where, status] : expected) {
    EXPECT_EQ(run_host({"run=" + source_}, {{"FAKE_EP_FAULT", "fail@" + where}}).exit_status, status) << where;
  }
  EXPECT_EQ(run_host({"run=" + source_}, {{"FAKE_EP_FAULT", "fail=5@compile"}}).exit_status, 105);
  EXPECT_EQ(run_host({"verdict=x"}, {{"FAKE_EP_FAULT", "fail@validate"}}).exit_status, 111);
}

TEST_F(FaultTest, CrashesKillTheProcessWhereTheyAreAsked) {
  for (const std::string where : {"factories", "devices", "create_ep", "capability", "compile", "compile_before_write",
                                  "compile_after_write", "compile_late", "release_ep", "unload"}) {
    EXPECT_EQ(compile("abort@" + where, where + ".onnx").signal, SIGABRT) << where;
  }
  EXPECT_EQ(compile("segv").signal, SIGSEGV);
  EXPECT_EQ(compile("throw").signal, SIGABRT);
  EXPECT_EQ(compile("exit").exit_status, 7);
  EXPECT_EQ(compile("exit=0@compile").exit_status, 0);
  EXPECT_FALSE(exists("out.onnx"));
}

TEST_F(FaultTest, TheBinaryIsThereAfterWritingAndNotBefore) {
  compile("abort@compile_before_write", "before.onnx");
  EXPECT_FALSE(exists("before_fake.bin"));
  compile("abort@compile_after_write", "after.onnx");
  EXPECT_TRUE(exists("after_fake.bin"));
  EXPECT_FALSE(exists("after.onnx"));
}

TEST_F(FaultTest, ACrashAtUnloadComesAfterACompleteOutput) {
  EXPECT_EQ(compile("segv@unload").signal, SIGSEGV);
  EXPECT_EQ(open_status(), 0);
}

TEST_F(FaultTest, ASessionsOwnFaultsLeaveOtherSessionsAlone) {
  const Ended host = run_host({"run=" + source_, "option=fault=fail@compute", "run=" + source_});
  EXPECT_EQ(host.exit_status, 111);
  EXPECT_EQ(outputs(host, 0).empty(), false);
  EXPECT_THAT(host.errors, HasSubstr("fail@compute"));
}

TEST_F(FaultTest, HangsEndBySigtermOnlyWhereTheyListen) {
  EXPECT_EQ(hang("hang").signal, SIGTERM);
  fs::remove(path("trace"));
  EXPECT_EQ(hang("sleep_forever_ignoring_sigterm").signal, SIGKILL);
}

TEST_F(FaultTest, GrandchildrenOutliveTheCompiler) {
  for (const std::string fault : {"grandchild", "grandchild_setsid"}) {
    fs::remove(path("trace"));
    EXPECT_EQ(hang(fault).signal, SIGTERM);
    const std::string trace = content("trace");
    const auto line = trace.find("grandchild ");
    ASSERT_NE(line, std::string::npos) << trace;
    const pid_t grandchild = std::stoi(trace.substr(line + std::string("grandchild ").size()));
    EXPECT_EQ(::getsid(grandchild) == grandchild, fault == "grandchild_setsid");
    EXPECT_EQ(::kill(grandchild, SIGKILL), 0);
  }
}

TEST_F(FaultTest, SlowSleepsAndGoesOn) {
  ASSERT_EQ(run_host({compile_step(source_, "out.onnx")},
                     {{"FAKE_EP_FAULT", "slow=50@compile"}, {"FAKE_EP_TRACE", path("trace")}})
                .exit_status,
            0);
  const std::string trace = content("trace");
  const auto time_of = [&](const std::string& event) {
    const auto line = trace.find(event);
    return std::stoll(trace.substr(trace.find(' ', line + event.size() + 1)));
  };
  EXPECT_GE(time_of("compile_end") - time_of("compile_begin"), 50'000'000);
}

TEST_F(FaultTest, FloodFillsBothStreamsAndGoesOn) {
  const Ended host = compile("flood=1@compile");
  EXPECT_EQ(host.exit_status, 0);
  EXPECT_GE(host.output.size(), 1024U * 1024);
  EXPECT_GE(host.errors.size(), 1024U * 1024);
}

TEST_F(FaultTest, ALimitCountsOverAllProcesses) {
  const Variables variables = {{"FAKE_EP_FAULT", "fail@compile#2"}, {"FAKE_EP_COUNTER", path("counter")}};
  EXPECT_EQ(run_host({"run=" + source_}, variables).exit_status, 111);
  EXPECT_EQ(run_host({"run=" + source_}, variables).exit_status, 111);
  EXPECT_EQ(run_host({"run=" + source_}, variables).exit_status, 0);
}

TEST_F(FaultTest, WhatIsNotUnderstoodIsRefused) {
  for (const std::string fault : {"abrot@compile", "abort@compiler", "abort=3", "slow@compile", "bad_reference=odd",
                                  "truncate_binary@compile", "fail#0", "fail#1"}) {
    EXPECT_NE(run_host({"devices"}, {{"FAKE_EP_FAULT", fault}}).exit_status, 0) << fault;
    EXPECT_NE(run_host({"option=fault=" + fault, "run=" + source_}).exit_status, 0) << fault;
  }
}

TEST_F(FaultTest, BadReferencesAreWrittenAndRefused) {
  const std::vector<std::pair<std::string, int>> expected = {
      {"absolute", 109}, {"dotdot", 109}, {"empty", 111}, {"link", 0}, {"notutf8", 0}};
  fs::create_directory(path("out"));
  for (const auto& [kind, status] : expected) {
    ASSERT_EQ(compile("bad_reference=" + kind, "out/" + kind + ".onnx").exit_status, 0) << kind;
    EXPECT_EQ(open_status("out/" + kind + ".onnx"), status) << kind;
  }
  EXPECT_TRUE(fs::is_symlink(path("out/link_fake.bin")));
  EXPECT_TRUE(exists("link_fake.bin.outside"));
  EXPECT_TRUE(exists("out/notutf8_fake\xFF.bin"));
}

TEST_F(FaultTest, DamagedBinariesAreWrittenAndRefused) {
  for (const std::string fault : {"truncate_binary", "empty_binary", "missing_binary"}) {
    for (const bool embedded : {false, true}) {
      const std::string output = fault + (embedded ? "_embedded.onnx" : ".onnx");
      const Ended host = run_host({compile_step(source_, output, embedded)}, {{"FAKE_EP_FAULT", fault}});
      ASSERT_EQ(host.exit_status, 0) << output << host.errors;
      EXPECT_EQ(open_status(output), 111) << output;
    }
  }
  EXPECT_EQ(fs::file_size(path("empty_binary_fake.bin")), 0U);
  EXPECT_FALSE(exists("missing_binary_fake.bin"));
}

TEST_F(FaultTest, AnotherSourceIsNotClaimed) {
  ASSERT_EQ(compile("other_source=SomebodyElse").exit_status, 0);
  EXPECT_THAT(content("out.onnx"), HasSubstr("SomebodyElse"));
  EXPECT_NE(open_status(), 0);
}

TEST_F(FaultTest, RefuseLoadFailsOnlyTheLoad) {
  ASSERT_EQ(compile("refuse_load").exit_status, 0);
  EXPECT_EQ(run_host({"run=" + path("out.onnx")}, {{"FAKE_EP_FAULT", "refuse_load"}}).exit_status, 111);
  EXPECT_EQ(open_status(), 0);
}

TEST_F(FaultTest, NullInfoAndNoFactoriesAreReportedByOrt) {
  EXPECT_EQ(run_host({"run=" + source_}, {{"FAKE_EP_FAULT", "null_info"}}).exit_status, 101);
  const Ended none = run_host({"devices"}, {{"FAKE_EP_FAULT", "no_factories"}});
  EXPECT_THAT(none.output, Not(HasSubstr("device fake")));
}

TEST_F(FaultTest, LogErrorClaimNothingFallsBackSilently) {
  const Ended host = run_host({"fallback", "run=" + source_}, {{"FAKE_EP_FAULT", "log_error_claim_nothing"}});
  EXPECT_EQ(host.exit_status, 0);
  EXPECT_THAT(host.errors, HasSubstr("the device is not usable"));
}

TEST_F(FaultTest, SourcesChangeDuringTheCompile) {
  write("other", "other");
  write("grows", "abc");
  write("flips", "abc");
  write("kept", "kept");
  const std::string faults = "modify_source=" + path("grows") + ";flip_source=" + path("flips") +
                             ";swap_back=" + path("kept") + "," + path("other");
  ASSERT_EQ(compile(faults).exit_status, 0);
  EXPECT_EQ(content("grows"), "abc!");
  EXPECT_EQ(content("flips"), std::string("ab\x9C"));
  EXPECT_EQ(content("kept"), "kept");
  ASSERT_EQ(compile("swap_back=" + path("kept") + "," + path("other") + ";abort@compile_before_write", "x.onnx").signal,
            SIGABRT);
  EXPECT_EQ(content("kept"), "other");
  ASSERT_EQ(compile("swap=" + path("grows") + "," + path("flips"), "y.onnx").exit_status, 0);
  EXPECT_EQ(content("grows"), std::string("ab\x9C"));
  EXPECT_FALSE(exists("flips"));
}

}  // namespace
}  // namespace precast::fake_ep::test
