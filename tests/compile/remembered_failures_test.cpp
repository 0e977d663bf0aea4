// Which failures keep the next request from compiling, for how long, and which never do.
#include <sys/stat.h>

#include <gmock/gmock.h>

#include "compile/support.hpp"
#include "compile/worker_protocol.hpp"

namespace precast::compile {
namespace {

using precast::testing::write_file;
using ::testing::HasSubstr;
using ::testing::Not;

class RememberedFailure : public testing::ResolverTest {
 protected:
  // One attempt under a fault of the EP.
  Resolution attempt(const Request& wanted, const std::string& fault) {
    ::setenv("FAKE_EP_FAULT", fault.c_str(), 1);
    Resolution answer = resolve(wanted);
    ::unsetenv("FAKE_EP_FAULT");
    return answer;
  }
  static Request retried(Request wanted) {
    wanted.retry_failed = true;
    return wanted;
  }
};

TEST_F(RememberedFailure, HoldsUntilItsTimeHasPassed) {
  Request wanted = request(model());
  ASSERT_EQ(attempt(wanted, "fail@compile").outcome, Outcome::failed);
  EXPECT_THAT(resolve(wanted).reason, HasSubstr("remembered"));
  wanted.retry_failed_after = std::chrono::seconds(0);
  EXPECT_EQ(resolve(wanted).outcome, Outcome::compiled);
  EXPECT_EQ(compiles(), 2U);
}

TEST_F(RememberedFailure, HasReasonTimeCountAndTheEndOfTheLog) {
  const Request wanted = request(model());
  const std::string fault = "flood=1@compile;fail@compile";
  const Resolution failed = attempt(wanted, fault);
  EXPECT_EQ(attempt(retried(wanted), fault).outcome, Outcome::failed);
  const auto record = store_->read_failed(failed.key);
  ASSERT_TRUE(record && *record);
  EXPECT_EQ((*record)->kind, "compile_failed");
  EXPECT_EQ((*record)->reason, failed.reason);
  EXPECT_EQ((*record)->count, 2U);
  EXPECT_NE((*record)->time, "");
  EXPECT_THAT(failed.log_tail, HasSubstr("a line of the flood"));
  EXPECT_EQ((*record)->log_tail, failed.log_tail);
  EXPECT_EQ(resolve(wanted).log_tail, failed.log_tail) << "shown again";
}

TEST_F(RememberedFailure, GoesWithTheNextSuccess) {
  const Request wanted = request(model());
  const Resolution failed = attempt(wanted, "fail@compile");
  ASSERT_TRUE(*store_->read_failed(failed.key));
  ASSERT_EQ(resolve(retried(wanted)).outcome, Outcome::compiled);
  EXPECT_FALSE(*store_->read_failed(failed.key));
}

TEST_F(RememberedFailure, ThatNothingCanBeCompiledHasNoExpiry) {
  Request nothing = request(model());
  nothing.target.provider_options["claim"] = "none";
  ASSERT_EQ(resolve(nothing).outcome, Outcome::nothing_to_compile);
  nothing.retry_failed_after = std::chrono::seconds(0);
  const Resolution again = resolve(nothing);
  EXPECT_EQ(again.outcome, Outcome::nothing_to_compile);
  EXPECT_THAT(again.reason, HasSubstr("remembered"));
  EXPECT_THAT(resolve(retried(nothing)).reason, Not(HasSubstr("remembered")));
}

TEST_F(RememberedFailure, CrashesCountInARowOnly) {
  const Request wanted = request(model());
  (void)attempt(wanted, "segv@compile");
  (void)attempt(wanted, "fail@compile");
  (void)attempt(retried(wanted), "segv@compile");
  ASSERT_EQ(compiles(), 3U);
  EXPECT_THAT(attempt(wanted, "segv@compile").reason, Not(HasSubstr("remembered")))
      << "the first after another failure";
  EXPECT_THAT(attempt(wanted, "segv@compile").reason, HasSubstr("remembered"));
  EXPECT_EQ(compiles(), 4U);
}

TEST_F(RememberedFailure, IsNotALibraryThatCannotBeLoaded) {
  const Request wanted = request(model());
  (void)resolve(request(model("first.onnx", false)));  // this process has the EP
  const Resolution failed = attempt(wanted, "no_factories");
  EXPECT_EQ(failed.outcome, Outcome::failed);
  ASSERT_TRUE(failed.error);
  EXPECT_EQ(failed.error->code, ErrorCode::ep_unavailable);
  EXPECT_FALSE(*store_->read_failed(failed.key));
  EXPECT_EQ(resolve(wanted).outcome, Outcome::compiled);
}

// "Unsupported" is the worker's answer to a request of another version, and an EP's that runs no node.
TEST_F(RememberedFailure, IsNotAWorkerOfAnotherVersion) {
  WorkerEvent refusal;
  refusal.code = ErrorCode::unsupported;
  refusal.message = "precast-worker is version 0.0.1";
  write_file(folder_ / "refusal", serialize_line(refusal));
  const auto worker = folder_ / "worker";
  write_file(worker, "#!/bin/sh\ncat '" + (folder_ / "refusal").native() + "' >&4\nexit 1\n");
  ASSERT_EQ(::chmod(worker.c_str(), 0700), 0);
  const Request wanted = request(model());
  const std::string real = std::getenv("PRECAST_WORKER");
  ::setenv("PRECAST_WORKER", worker.c_str(), 1);
  const Resolution refused = resolve(wanted);
  ::setenv("PRECAST_WORKER", real.c_str(), 1);
  EXPECT_EQ(refused.outcome, Outcome::failed);
  EXPECT_THAT(refused.reason, HasSubstr("version 0.0.1"));
  ASSERT_TRUE(refused.error);
  EXPECT_EQ(refused.error->code, ErrorCode::compile_failed);
  EXPECT_FALSE(*store_->read_failed(refused.key));
  EXPECT_EQ(resolve(wanted).outcome, Outcome::compiled);
}

TEST_F(RememberedFailure, IsNoMatterToARebuild) {
  Request wanted = request(model());
  (void)attempt(wanted, "fail@compile");
  wanted.rebuild = true;
  EXPECT_EQ(resolve(wanted).outcome, Outcome::compiled);
}

TEST_F(RememberedFailure, OfARebuildLeavesTheEntryThatWasThere) {
  const Request wanted = request(model());
  const Resolution known = resolve(wanted);
  Request rebuild = wanted;
  rebuild.rebuild = true;
  EXPECT_EQ(attempt(rebuild, "fail@compile").outcome, Outcome::failed);
  const Resolution after = resolve(wanted);
  EXPECT_EQ(after.outcome, Outcome::hit);
  EXPECT_EQ(after.generation, known.generation);
}

// In the EP's own words, since ORT has no code for them.
TEST_F(RememberedFailure, IsNotWhatAilsTheMachine) {
  for (const auto& [words, code] : {std::pair("cannot map weights: Cannot allocate memory", ErrorCode::io),
                                    {"caught std::bad_alloc", ErrorCode::io},
                                    {"CUDA out of memory", ErrorCode::io},
                                    {"Failed to allocate memory", ErrorCode::io},
                                    {"libfoo.so.1: cannot open shared object file", ErrorCode::ep_unavailable},
                                    {"read of tuning.bin: Input/output error", ErrorCode::io},
                                    {"out.bin: No space left on device", ErrorCode::no_space},
                                    {"out.bin: Disk quota exceeded", ErrorCode::no_space}}) {
    Request wanted = request(model());
    wanted.rebuild = true;
    const Resolution failed = attempt(wanted, std::string("complain=") + words);
    EXPECT_EQ(failed.outcome, Outcome::failed) << words;
    ASSERT_TRUE(failed.error) << words;
    EXPECT_EQ(failed.error->code, code) << words;
    EXPECT_THAT(failed.reason, HasSubstr(words));
    EXPECT_FALSE(*store_->read_failed(failed.key)) << words;
  }
  EXPECT_TRUE(*store_->read_failed(attempt(request(model()), "complain=cannot do this").key));
}

}  // namespace
}  // namespace precast::compile
