// Symbolic dimensions and what else real EPs do not take in their stride: what each does, and what precast makes of it.
#include <gmock/gmock.h>

#include "integration/real_eps.hpp"
#include "model_generator/model_generator.hpp"
#include "support/models.hpp"
#include "support/program.hpp"

namespace precast::testing {
namespace {

using model_generator::Kind;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class DynamicShapes : public ::testing::Test {
 protected:
  DynamicShapes() { precast_.env["PRECAST_ASSUME_CPU_VENDOR"] = "intel"; }

  std::filesystem::path generate(Kind kind) { return make_model(folder_ / "model.onnx", {.kind = kind, .output = {}}); }
  nlohmann::json ask(const char* command, const RealEp& ep, const std::filesystem::path& model, int code,
                     std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{command, model.native()};
    for (const std::string& argument : arguments_for(ep)) arguments.push_back(argument);
    for (std::string& argument : more) arguments.push_back(std::move(argument));
    int ended = -1;
    auto json = precast_.json(std::move(arguments), &ended);
    EXPECT_EQ(ended, code) << json.dump(2);
    return json;
  }
  static std::string reason(const nlohmann::json& json) { return json.value("reason", ""); }
  // Nothing of a failed compile stays but its record.
  void expect_clean_store() {
    EXPECT_TRUE(std::filesystem::is_empty(precast_.store() / "tmp"));
    EXPECT_EQ(precast_.json({"cache", "ls"})["entries"].size(), 0U);
    EXPECT_EQ(precast_.run({"cache", "verify"}).code, 0);
  }

  Precast precast_;
  Folder folder_;
};

TEST_F(DynamicShapes, OneCompileOnOpenVinoServesEverySize) {
  const auto model = generate(Kind::dynamic);
  for (const std::vector<std::string>& embed : {std::vector<std::string>{}, {"--embed"}}) {
    EXPECT_EQ(ask("compile", openvino(), model, 0, embed)["outcome"], "compiled");
    const auto hit = ask("compile", openvino(), model, 0, embed);
    ASSERT_EQ(hit["outcome"], "hit") << hit.dump(2);
    const std::filesystem::path compiled = hit["path"].get<std::string>();
    for (const std::int64_t batch : {1, 3, 64}) {
      const Outputs expected = run_model(openvino(), model, false, batch);
      EXPECT_EQ(largest_difference(expected, run_model(openvino(), compiled, true, batch)), 0) << batch;
      EXPECT_GT(largest_value(expected), 0);
    }
  }
}

// QNN wants static shapes. The model runs all the same, on the CPU.
TEST_F(DynamicShapes, QnnRunsNoNodeOfThem) {
  const auto model = generate(Kind::dynamic);
  const auto first = ask("compile", qnn(), model, 5);
  EXPECT_EQ(first["outcome"], "nothing_to_compile");
  EXPECT_EQ(first["path"], model.native());
  EXPECT_THAT(reason(first), AllOf(HasSubstr("QNNExecutionProvider runs no node of"), Not(HasSubstr("remembered"))));
  EXPECT_THAT(reason(ask("compile", qnn(), model, 5)), HasSubstr("remembered"));
  const auto opened = ask("resolve", qnn(), model, 0, {"--open"});
  EXPECT_EQ(opened["path"], model.native());
  EXPECT_GT(largest_value(run_model(qnn(), model, false, 3)), 0);
  expect_clean_store();
}

// ORT writes the compiled model without the weights that only the branches use, and refuses what it wrote: the source
// opens and runs, and no compiled model of it can be made. Found with ORT 1.32.
TEST_F(DynamicShapes, BranchesOnOuterWeightsDoNotCompileAndTheSourceRuns) {
  const auto model = generate(Kind::branch);
  const auto first = ask("compile", openvino(), model, 1);
  EXPECT_EQ(first["outcome"], "failed");
  EXPECT_EQ(first["path"], model.native());
  EXPECT_THAT(reason(first), AllOf(HasSubstr("OpenVINOExecutionProvider did not compile '" + model.native() + "'"),
                                   HasSubstr("This is an invalid model"), HasSubstr("'weight'")));
  const auto remembered = ask("compile", openvino(), model, 1);
  EXPECT_THAT(reason(remembered), AllOf(HasSubstr("'weight'"), HasSubstr("remembered")));
  EXPECT_EQ(remembered["timings_ms"]["compile"].get<double>(), 0);
  const auto opened = ask("resolve", openvino(), model, 0, {"--open"});
  EXPECT_EQ(opened["outcome"], "failed");
  EXPECT_EQ(opened["path"], model.native());
  EXPECT_GT(largest_value(run_model(openvino(), model, false, 3)), 0);
  expect_clean_store();
}

// QNN divides by the number of elements. Only the worker ends.
TEST_F(DynamicShapes, QnnCrashesWhereNoElementsAreLeftAndOnlyTheWorkerEnds) {
  const auto model = generate(Kind::empty);
  for (int crash = 1; crash <= 2; ++crash) {
    const auto json = ask("compile", qnn(), model, 1);
    EXPECT_EQ(json["outcome"], "failed");
    EXPECT_THAT(reason(json), AllOf(HasSubstr("QNNExecutionProvider ended the worker while compiling"),
                                    HasSubstr("signal 8"), Not(HasSubstr("remembered"))));
  }
  EXPECT_THAT(reason(ask("compile", qnn(), model, 1)), AllOf(HasSubstr("signal 8"), HasSubstr("remembered")));
  EXPECT_EQ(ask("resolve", qnn(), model, 0)["path"], model.native());
  EXPECT_EQ(ask("resolve", qnn(), model, 0, {"--open"})["ep"], "CPUExecutionProvider") << "nor is it opened on QNN";
  EXPECT_EQ(ask("run", qnn(), model, 0)["ep"], "CPUExecutionProvider");
  expect_clean_store();
  EXPECT_EQ(ask("compile", openvino(), model, 0)["outcome"], "compiled") << "another EP's business";
}

}  // namespace
}  // namespace precast::testing
