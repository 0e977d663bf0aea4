// Signals that come in pairs, as `timeout` sends them: one to the process, one to its group.
#include <csignal>

#include <gmock/gmock.h>

#include "support/models.hpp"
#include "support/program.hpp"

namespace precast::testing {
namespace {

namespace stdfs = std::filesystem;

TEST(Signals, TwoAtOnceAreOneAndNothingIsLeft) {
  Precast precast;
  Folder folder;
  const auto model = make_model(folder / "tiny.onnx");
  precast.env["FAKE_EP_FAULT"] = "hang@compile";
  for (int round = 1; round <= 3; ++round) {
    const auto running = precast.start(precast.fake({"compile", model.native()}));
    ASSERT_TRUE(wait_for_event(precast.trace(), "hang", static_cast<std::size_t>(round)));
    ASSERT_EQ(::kill(running->pid(), SIGTERM), 0);
    running->signal(SIGTERM);
    EXPECT_EQ(running->wait().code, 130);
    EXPECT_TRUE(stdfs::is_empty(precast.store() / "tmp"));
    EXPECT_TRUE(stdfs::is_empty(precast.store() / "leases"));
  }
}

}  // namespace
}  // namespace precast::testing
