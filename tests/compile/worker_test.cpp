// The worker as the resolver uses it: what it may hold, what it must have seen, and when its late end is forgiven.
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>

#include "compile/support.hpp"
#include "compile/worker_process.hpp"
#include "identity/environment.hpp"
#include "process/child.hpp"
#include "process/descriptor_posix.hpp"

namespace precast::compile {
namespace {

using precast::testing::count_events;
using precast::testing::read_trace;
using precast::testing::wait_for_event;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace stdfs = std::filesystem;

class Worker : public testing::ResolverTest {
 protected:
  Worker() { ::setenv("FAKE_EP_COUNTER", (folder_ / "counter").c_str(), 1); }
  ~Worker() override {
    for (const char* name : {"FAKE_EP_VERSION", "LD_PRELOAD"}) ::unsetenv(name);
  }
};

TEST_F(Worker, OfAnotherVersionRefuses) {
  WorkerRun run;
  run.request.precast_version = "0.0.1";
  run.request.model = folder_ / "model.onnx";
  run.worker = std::getenv("PRECAST_WORKER");
  run.working_directory = folder_.path();
  run.log = folder_ / "log";
  run.deadline = std::chrono::seconds(60);
  const auto outcome = run_worker(files_, run);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_FALSE(outcome->ready);
  ASSERT_TRUE(outcome->failed);
  EXPECT_THAT(outcome->failed->message, HasSubstr("precast is 0.0.1"));
}

// /dev/null, its log, the socket and the pipe; and what ORT and the EP opened, none of which lies in the store.
TEST_F(Worker, HoldsNoFileOfTheStore) {
  precast::testing::Precast precast;
  precast.env["FAKE_EP_FAULT"] = "hang@compile";
  const auto run = precast.start(precast.fake({"compile", model().native()}));
  ASSERT_TRUE(wait_for_event(precast.trace(), "hang"));
  const stdfs::path descriptors = "/proc/" + std::to_string(read_trace(precast.trace()).back().pid) + "/fd";
  EXPECT_EQ(stdfs::read_symlink(descriptors / "0"), "/dev/null");
  EXPECT_THAT(stdfs::read_symlink(descriptors / "1").native(), StartsWith("pipe:"));
  EXPECT_EQ(stdfs::read_symlink(descriptors / "1"), stdfs::read_symlink(descriptors / "2"));
  EXPECT_THAT(stdfs::read_symlink(descriptors / "4").native(), StartsWith("pipe:"));
  for (const auto& entry : stdfs::directory_iterator(descriptors)) {
    const std::string target = stdfs::read_symlink(entry.path()).native();
    EXPECT_FALSE(target.starts_with(precast.store().native())) << target;
    EXPECT_FALSE(target.starts_with("/dev/pts")) << target;
  }
  run->signal(SIGINT);
  EXPECT_EQ(run->wait().code, 130);
}

// This process loaded one version of the EP, and the worker another.
TEST_F(Worker, MustHaveSeenWhatTheIdentitySays) {
  (void)resolve(request(model("first.onnx", false)));  // this process has the EP
  const Request wanted = request(model());
  ::setenv("FAKE_EP_VERSION", "9.9.9", 1);
  const Resolution refused = resolve(wanted);
  ::unsetenv("FAKE_EP_VERSION");
  EXPECT_EQ(refused.outcome, Outcome::failed);
  EXPECT_THAT(refused.reason, HasSubstr("the worker saw something else than precast"));
  EXPECT_THAT(refused.reason, HasSubstr("9.9.9"));
  EXPECT_FALSE(*store_->read_failed(refused.key)) << "not the EP's fault";
  EXPECT_EQ(resolve(wanted).outcome, Outcome::compiled);
}

TEST_F(Worker, MayMapNoLibraryThatTheIdentityLacks) {
  const stdfs::path stranger = folder_ / "libstranger.so";
  stdfs::copy_file(precast::testing::fake_ep_library(), stranger);
  Request wanted = request(model());
  wanted.worker_environment = {"LD_PRELOAD"};
  ::setenv("LD_PRELOAD", stranger.c_str(), 1);
  const Resolution refused = resolve(wanted);
  EXPECT_EQ(refused.outcome, Outcome::failed) << refused.reason;
  EXPECT_THAT(refused.reason, HasSubstr("'" + stranger.native() + "', which is not part of the compile's identity"));
  wanted.extra_files = {stranger};
  const Resolution named = resolve(wanted);
  EXPECT_EQ(named.outcome, Outcome::compiled) << named.reason;
}

TEST_F(Worker, ThatHangsAfterTheCompileReturnedIsForgiven) {
  ::setenv("FAKE_EP_FAULT", "hang@load#1", 1);
  Request wanted = request(model());
  wanted.compile_timeout = std::chrono::seconds(8);  // the compile itself must not take that long
  const Resolution answer = resolve(wanted);
  EXPECT_EQ(answer.outcome, Outcome::compiled) << answer.reason;
  EXPECT_EQ(compiles(), 1U);
  EXPECT_EQ(count_events(trace(), "load_begin"), 2U) << "the second one by a fresh worker";
}

// It crashes after the compile returned, as if by itself, and a process that it left behind has the binary open.
TEST_F(Worker, IsNotForgivenWhileSomebodyStillWritesItsResult) {
  ::setenv("FAKE_EP_FAULT", "hang@load#1", 1);
  process::Descriptor writer;
  std::thread crash([&] {
    ASSERT_TRUE(wait_for_event(trace(), "hang"));
    for (const auto& entry : stdfs::recursive_directory_iterator(store_->layout().tmp())) {
      if (entry.path().extension() != ".bin") continue;
      writer = process::Descriptor(::open(entry.path().c_str(), O_RDWR | O_CLOEXEC));
    }
    EXPECT_EQ(::kill(read_trace(trace()).back().pid, SIGSEGV), 0);
  });
  const Resolution answer = resolve(request(model()));
  crash.join();
  ASSERT_GE(writer.get(), 0);
  EXPECT_EQ(answer.outcome, Outcome::failed);
  EXPECT_THAT(answer.reason, HasSubstr("signal 11"));
  EXPECT_EQ(count_events(trace(), "load_begin"), 1U);
}

}  // namespace
}  // namespace precast::compile
