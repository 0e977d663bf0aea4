// The lines that say how far a compile is.
#include "cli/progress.hpp"

#include <gtest/gtest.h>

namespace precast::cli {
namespace {

using namespace std::chrono_literals;

const util::WallTime kNow{1000s};

std::string line(const compile::Progress& progress) {
  return progress_line("'x.onnx'", progress, 3s, kNow);
}

TEST(ProgressLine, SaysWhatIsDoneAndForHowLong) {
  EXPECT_EQ(line({.stage = compile::Stage::reading}), "reading 'x.onnx' (3.0 s so far)");
  EXPECT_EQ(line({.stage = compile::Stage::compiling}), "compiling 'x.onnx' (3.0 s so far)");
  EXPECT_EQ(line({.stage = compile::Stage::opening}), "opening 'x.onnx' (3.0 s so far)");
}

TEST(ProgressLine, SaysHowLongAnEarlierCompileTook) {
  EXPECT_EQ(line({.stage = compile::Stage::compiling, .estimate_seconds = 12}),
            "compiling 'x.onnx' (3.0 s so far, about 12.0 s in all)");
  EXPECT_EQ(line({.stage = compile::Stage::checking, .estimate_seconds = 12}),
            "checking the compiled 'x.onnx' (3.0 s so far)")
      << "the estimate is the compile's";
}

TEST(ProgressLine, NamesWhoIsWaitedFor) {
  compile::Progress progress{.stage = compile::Stage::waiting};
  EXPECT_EQ(line(progress), "waiting for another compile of 'x.onnx' (3.0 s so far)");
  progress.holder = fs::LockHolder{.pid = 12, .since = kNow - 60s};
  progress.estimate_seconds = 90;
  EXPECT_EQ(line(progress), "waiting for pid 12 (at 'x.onnx' for " + util::format_duration(60s) + " so far, about " +
                                util::format_duration(90s) + " in all)");
}

}  // namespace
}  // namespace precast::cli
