// compile --share-weights: several models with one set of session options.
#include <algorithm>

#include <gmock/gmock.h>

#include "support/models.hpp"
#include "support/program.hpp"

namespace precast::testing {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
namespace stdfs = std::filesystem;

class ShareWeights : public ::testing::Test {
 protected:
  ShareWeights() {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      models_.push_back(make_model(folder_ / ("net" + std::to_string(seed) + ".onnx"), {.output = {}, .seed = seed}));
    }
  }
  [[nodiscard]] std::vector<std::string> together(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"compile", "--share-weights", "--output-dir", (folder_ / "out").native()};
    for (const stdfs::path& model : models_) arguments.push_back(model.native());
    std::ranges::move(more, std::back_inserter(arguments));
    return precast_.fake(std::move(arguments));
  }
  void expect_error(const std::vector<std::string>& arguments, const std::string& words) const {
    const Ran ran = precast_.run(arguments);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(words));
  }

  Precast precast_;
  Folder folder_;
  std::vector<stdfs::path> models_;
};

TEST_F(ShareWeights, AllAreToldToShareAndTheLastOneToStopInOneProcess) {
  int code = -1;
  const auto json = precast_.json(together(), &code);
  EXPECT_EQ(code, 0) << json.dump(2);
  ASSERT_EQ(json["results"].size(), 3U);
  std::vector<std::string> events;
  std::vector<int> processes;
  for (const TraceLine& line : read_trace(precast_.trace())) {
    if (line.event == "share" || line.event == "stop_share" || line.event == "compile_begin") {
      events.push_back(line.event);
      processes.push_back(line.pid);
    }
  }
  EXPECT_EQ(events, (std::vector<std::string>{"share", "compile_begin", "share", "compile_begin", "share", "stop_share",
                                              "compile_begin"}));
  EXPECT_THAT(processes, Each(processes.front()));
  for (const auto& result : json["results"]) {
    EXPECT_EQ(result["outcome"], "uncached");
    const auto run = precast_.json(precast_.fake({"run", result["published"].get<std::string>()}));
    EXPECT_EQ(run["outcome"], "precompiled") << run.dump(2);
  }
  EXPECT_EQ(precast_.json({"cache", "ls"})["entries"].size(), 0U);
}

TEST_F(ShareWeights, TheBinariesHaveNamesOfTheFirstModel) {
  ASSERT_EQ(precast_.run(together()).code, 0);
  for (const auto& entry : stdfs::directory_iterator(folder_ / "out")) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(name.ends_with(".onnx") || name.starts_with("net1_fake_ep_ctx")) << name;
  }
  EXPECT_TRUE(stdfs::exists(folder_ / "out" / "net3_fake_ep_ctx.onnx"));
}

TEST_F(ShareWeights, OneThatFailsLeavesNothingPublished) {
  precast_.env["FAKE_EP_COUNTER"] = (folder_ / "counter").native();
  precast_.env["FAKE_EP_FAULT"] = "slow=1@compile#1;fail@compile_late";
  int code = -1;
  const auto json = precast_.json(together(), &code);
  EXPECT_EQ(code, 1) << json.dump(2);
  for (const auto& result : json["results"]) {
    EXPECT_EQ(result["outcome"], "failed");
    EXPECT_TRUE(result["published"].is_null());
  }
  EXPECT_FALSE(stdfs::exists(folder_ / "out"));
}

TEST_F(ShareWeights, AnEpWithoutCompiledModelsHasNothingToShare) {
  int code = -1;
  std::vector<std::string> arguments{"compile", "--share-weights", "--ep",
                                     "cpu",     "--output-dir",    (folder_ / "out").native()};
  for (const stdfs::path& model : models_) arguments.push_back(model.native());
  const auto json = precast_.json(arguments, &code);
  EXPECT_EQ(code, 5) << json.dump(2);
  for (const auto& result : json["results"]) EXPECT_EQ(result["outcome"], "nothing_to_compile");
  EXPECT_EQ(count_events(precast_.trace(), "share"), 0U);
}

TEST_F(ShareWeights, WhatDoesNotGoTogetherIsSaid) {
  expect_error(together({"--embed"}), "cannot be embedded");
  expect_error(together({"--validate"}), "not validated");
  expect_error(precast_.fake({"compile", "--share-weights", models_[0].native(), models_[1].native()}), "--output-dir");
  expect_error(
      precast_.fake({"compile", "--share-weights", models_[0].native(), "--output-dir", folder_.path().native()}),
      "at least two models");
  expect_error(together({models_[0].native()}), "is named twice");
  write_file(folder_ / "bad.onnx", "no model");
  expect_error(together({(folder_ / "bad.onnx").native()}), "bad.onnx");
  EXPECT_EQ(count_events(precast_.trace(), "compile_begin"), 0U);
}

}  // namespace
}  // namespace precast::testing
