// precast perf as a user sees it: what its report says of the run, and what becomes of it where no file can be written.
#include <csignal>
#include <functional>
#include <thread>

#include <gmock/gmock.h>

#include "support/bundles.hpp"

namespace precast::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
namespace stdfs = std::filesystem;
using nlohmann::json;

class PerfCommand : public ::testing::Test {
 protected:
  PerfCommand() { precast_.env["XDG_STATE_HOME"] = (folder_ / "state").native(); }
  [[nodiscard]] static std::vector<std::string> perf(std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{
        "perf", stored_bundle("tiny").native(), "--iterations", "2", "--warmup", "1", "--max-new-tokens", "4"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  // A long run, once its first request has begun. `interfere` happens before it is interrupted.
  [[nodiscard]] Ran interrupted(std::vector<std::string> arguments, const std::function<void()>& interfere = {}) const {
    const std::vector<std::string> endless{
        "perf", stored_bundle("tiny").native(), "--iterations", "1000000", "--warmup", "0", "--max-new-tokens", "4"};
    arguments.insert(arguments.begin(), endless.begin(), endless.end());
    const auto running = precast_.start(arguments);
    EXPECT_TRUE(running->wait_for_words("request 1 of"));
    if (interfere) interfere();
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    running->signal(SIGINT);
    return running->wait(std::chrono::seconds(60));
  }

  Precast precast_;
  Folder folder_;
};

TEST_F(PerfCommand, NamesTheEpThatTakesEffect) {
  const json report = precast_.json(perf())["report"];
  EXPECT_EQ(report["benchmark_info"]["ep"], "cpu");
  EXPECT_EQ(report["benchmark_info"]["effective_device"], "cpu");
  EXPECT_EQ(report["benchmark_info"]["device"], "config") << "asked for";
  EXPECT_TRUE(report["method"]["interrupted"].is_null());
  EXPECT_THAT(precast_.run(perf()).out, ContainsRegex("\n  EP +cpu\n"));
}

TEST_F(PerfCommand, TakesItsFormatInAnyCase) {
  EXPECT_THAT(precast_.run(perf({"-f", "MD"})).out, HasSubstr("| model |"));
}

TEST_F(PerfCommand, InterruptedItSaysAfterHowMuch) {
  const stdfs::path file = folder_ / "report.json";
  const Ran ran = interrupted({"-o", file.native()});
  EXPECT_EQ(ran.code, 130) << ran.err;
  const std::string words = json::parse(read_file(file))["method"]["interrupted"];
  EXPECT_THAT(words, ::testing::MatchesRegex("after [0-9]+ of 1000000 requests"));
  EXPECT_THAT(ran.err, HasSubstr("warning: interrupted " + words));
  EXPECT_THAT(ran.out, HasSubstr(words));
}

// The place was free when it looked, and is not any more.
TEST_F(PerfCommand, WhatWasMeasuredIsShownThoughNoFileCanBeWritten) {
  const stdfs::path file = folder_ / "report.json";
  const Ran text = interrupted({"-o", file.native()}, [&] { write_file(file, "somebody else's"); });
  EXPECT_EQ(text.code, 2) << text.err;
  EXPECT_THAT(text.out, HasSubstr("model TTFT"));
  EXPECT_THAT(text.err, HasSubstr("error: the report '" + file.native() + "' exists already"));
  EXPECT_THAT(text.err, Not(HasSubstr("report: '")));
  EXPECT_EQ(read_file(file), "somebody else's");
  stdfs::remove(file);
  const Ran with_json = interrupted({"--json", "-o", file.native()}, [&] { write_file(file, "somebody else's"); });
  EXPECT_EQ(with_json.code, 2) << with_json.err;
  const json document = with_json.json();
  EXPECT_GT(document["report"]["requests"].size(), 0U) << document.dump(2);
  EXPECT_TRUE(document["report_path"].is_null());
  EXPECT_EQ(document["error"]["code"], "bad_input");
}

}  // namespace
}  // namespace precast::testing
