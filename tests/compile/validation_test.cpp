// Request::validate where time and links matter; the rest is in tests/cli/run_command_test.cpp.
#include <thread>

#include <gmock/gmock.h>

#include "compile/support.hpp"

namespace precast::compile {
namespace {

using ::testing::HasSubstr;
using testing::ResolverTest;
namespace stdfs = std::filesystem;

class ValidationTest : public ResolverTest {
 protected:
  ~ValidationTest() override { ::unsetenv("FAKE_EP_FAULT"); }
  static Request validated(const stdfs::path& model) {
    Request request = ResolverTest::request(model);
    request.validate = true;
    return request;
  }
};

TEST_F(ValidationTest, WhatTakesTooLongIsANote) {
  ::setenv("FAKE_EP_FAULT", "hang@compute", 1);
  Request wanted = validated(model());
  wanted.validation_limit = std::chrono::milliseconds(500);
  const Resolution answer = resolve(wanted);
  EXPECT_EQ(answer.outcome, Outcome::compiled) << answer.reason;
  EXPECT_THAT(answer.validation, HasSubstr("not validated: it takes longer than 500 ms"));
}

TEST_F(ValidationTest, AModelThatIsReachedThroughALinkIsComparedWithItsSource) {
  const auto target = model("blob", false);
  stdfs::create_symlink(target, folder_ / "linked.onnx");
  const Request wanted = validated(folder_ / "linked.onnx");
  const Resolution miss = resolve(wanted);
  EXPECT_EQ(miss.outcome, Outcome::compiled);
  EXPECT_THAT(miss.validation, HasSubstr("agrees"));
  const Resolution hit = resolve(wanted);
  EXPECT_EQ(hit.outcome, Outcome::hit);
  EXPECT_THAT(hit.validation, HasSubstr("agrees"));
}

TEST_F(ValidationTest, ACancelledOneIsAnInterrupt) {
  util::CancelToken cancel;
  Services services = resolver_->services();
  services.cancel = &cancel;
  Resolver resolver(services);
  ::setenv("FAKE_EP_FAULT", "hang@compute", 1);
  std::thread stops([&] {
    EXPECT_TRUE(precast::testing::wait_for_event(trace(), "hang"));
    cancel.cancel();
  });
  const auto answer = resolver.resolve(validated(model()));
  stops.join();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::cancelled);
  EXPECT_THAT(answer.error().message, HasSubstr("while validating"));
}

TEST_F(ValidationTest, AWinnersResultThatWasWaitedForIsValidatedToo) {
  const Request wanted = validated(model());
  Request slow = request(wanted.model);
  ::setenv("FAKE_EP_FAULT", "slow=400@compile", 1);
  std::thread compiles_first([&] { (void)resolve(slow); });
  EXPECT_TRUE(precast::testing::wait_for_event(trace(), "compile_begin"));
  const Resolution answer = resolve(wanted);
  compiles_first.join();
  EXPECT_EQ(answer.outcome, Outcome::hit) << answer.reason;
  EXPECT_THAT(answer.validation, HasSubstr("agrees"));
  EXPECT_EQ(compiles(), 1U);
}

}  // namespace
}  // namespace precast::compile
