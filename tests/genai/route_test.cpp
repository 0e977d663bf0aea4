// Which EP each stage gets, with which options, and what of a request is said to take effect.
#include "support.hpp"

namespace precast::genai::testing {
namespace {

using ort::DeviceClass;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Options = std::map<std::string, std::string>;

constexpr const char* kOpenVino = "OpenVINOExecutionProvider";
constexpr const char* kQnn = "QNNExecutionProvider";

Bundle qnn_pipeline() {
  return bundle_of(pipeline(R"([{"QNN": {"backend_path": "libQnnHtp.so"}}])", R"([{"QNN": {}}])"));
}

TEST(Route, WithoutAnEpTheConfigRules) {
  const Bundle bundle = qnn_pipeline();
  for (const char* ep : {"", "config", "auto"}) {
    const Route route = route_of(bundle, ep);
    EXPECT_EQ(route.stages[1].providers, bundle.stages[1].providers);
    EXPECT_EQ(route.effective_ep, kQnn);
    EXPECT_TRUE(route.requested_ep.empty());
    EXPECT_FALSE(route.no_op);
    EXPECT_TRUE(route.uses_hardware);
    EXPECT_FALSE(*patched_config(bundle, route, {}));
  }
}

TEST(Route, CpuInAnySpellingTakesProvidersAway) {
  const Bundle bundle = qnn_pipeline();
  for (const char* ep : {"cpu", "CPU", "cpuexecutionprovider", "CPUExecutionProvider", "cpu@built_in"}) {
    const Route route = route_of(bundle, ep);
    EXPECT_EQ(route.effective_ep, "cpu");
    EXPECT_EQ(route.effective_device, DeviceClass::cpu);
    EXPECT_FALSE(route.stages[0].rerouted);
    EXPECT_TRUE(route.stages[1].rerouted);
    EXPECT_THAT(route.stages[1].providers, IsEmpty());
    EXPECT_THAT(route.warnings, IsEmpty());
    EXPECT_FALSE(route.uses_hardware);
  }
}

TEST(Route, AnEpReplacesHardwareStagesOnly) {
  const Route route = route_of(qnn_pipeline(), "openvino@pypi", "npu");
  EXPECT_EQ(route.requested_ep, kOpenVino);
  EXPECT_EQ(route.requested_source, "pypi");
  EXPECT_EQ(route.stages[0].ep, "");
  EXPECT_EQ(route.stages[1].ep, kOpenVino);
  EXPECT_EQ(route.stages[1].options, (Options{{"device_type", "NPU"}}));
  EXPECT_TRUE(route.stages[1].made_up);
  EXPECT_EQ(route.effective_ep, kOpenVino);
  EXPECT_EQ(route.effective_device, DeviceClass::npu);
}

TEST(Route, AMadeUpDeviceTypeIsTheCpuUnlessADeviceIsAskedFor) {
  const Bundle bundle = qnn_pipeline();
  EXPECT_EQ(route_of(bundle, "openvino").stages[1].options.at("device_type"), "CPU");
  EXPECT_EQ(route_of(bundle, "openvino", "GPU").stages[1].options.at("device_type"), "GPU");
}

TEST(Route, TheSameEpKeepsItsOptionsEvenEmptyOnes) {
  const Bundle bundle = qnn_pipeline();
  const Route route = route_of(bundle, "qnn");
  EXPECT_EQ(route.stages[2].providers, bundle.stages[2].providers);
  EXPECT_THAT(route.stages[2].options, IsEmpty());
  EXPECT_TRUE(route.no_op);
}

TEST(Route, OptionsAreBorrowedFromAnotherStageOfThatEp) {
  const Bundle bundle =
      bundle_of(pipeline(R"([{"QNN": {"backend_path": "x"}}])", R"([{"OpenVINO": {"device_type": "GPU", "a": "1"}}])"));
  const Route route = route_of(bundle, "openvino", "npu");
  EXPECT_EQ(route.stages[1].options, (Options{{"device_type", "GPU"}, {"a", "1"}}));
  EXPECT_EQ(route.stages[1].borrowed_from, "iterator");
  EXPECT_EQ(route.effective_device, DeviceClass::gpu);  // the config beats the request
  EXPECT_THAT(route.warnings, Contains(AllOf(HasSubstr("npu"), HasSubstr("gpu"))));
}

TEST(Route, OptionsOfAnotherEpAreNeverTaken) {
  const Route route = route_of(qnn_pipeline(), "cuda");
  EXPECT_THAT(route.stages[1].options, IsEmpty());
  EXPECT_EQ(route.stages[1].providers.size(), 1U);
  EXPECT_THAT(route.warnings, Contains(AllOf(HasSubstr("'context'"), HasSubstr("without options"))));
  EXPECT_EQ(route.effective_device, DeviceClass::gpu);  // CUDA has no other
}

TEST(Route, APipelineOnTheCpuStaysThere) {
  const Bundle bundle = bundle_of(pipeline("[]", R"([{"cpu": {}}])"));
  const Route route = route_of(bundle, "qnn", "npu");
  EXPECT_EQ(route.effective_ep, "cpu");
  EXPECT_EQ(route.effective_device, DeviceClass::cpu);
  EXPECT_TRUE(route.no_op);
  EXPECT_THAT(route.warnings, Contains(AllOf(HasSubstr(kQnn), HasSubstr("runs on cpu"))));
  EXPECT_TRUE(route_of(bundle, "cpu").no_op);
  EXPECT_THAT(route_of(bundle, "cpu").warnings, IsEmpty());
}

TEST(Route, AFlatDecoderIsAlwaysRerouted) {
  const Route route = route_of(bundle_of(flat("[]")), "openvino");
  EXPECT_EQ(route.stages[0].ep, kOpenVino);
  EXPECT_TRUE(route.stages[0].rerouted);
  EXPECT_EQ(route.effective_device, DeviceClass::cpu);
  EXPECT_TRUE(route.uses_hardware);
}

TEST(Route, UnknownNamesAreRefusedWithTheValidOnes) {
  const auto ep = route_bundle(qnn_pipeline(), {.ep = "hal9000"});
  ASSERT_FALSE(ep);
  EXPECT_EQ(ep.error().code, ErrorCode::bad_input);
  EXPECT_THAT(ep.error().message, HasSubstr("hal9000"));
  EXPECT_THAT(ep.error().hint, HasSubstr("openvino"));
  EXPECT_FALSE(route_bundle(qnn_pipeline(), {.device = "tpu"}));
}

TEST(Route, AReferenceWithoutANameIsRefused) {
  for (const char* ep : {"@", "@pypi", " @ "}) {
    const auto route = route_bundle(qnn_pipeline(), {.ep = ep});
    ASSERT_FALSE(route) << ep;
    EXPECT_EQ(route.error().code, ErrorCode::bad_input);
    EXPECT_THAT(route.error().message, HasSubstr("names no EP"));
  }
}

TEST(Route, TheCpuEpHasNoOtherDevice) {
  for (const char* device : {"npu", "GPU"}) {
    const auto route = route_bundle(qnn_pipeline(), {.ep = "cpu", .device = device});
    ASSERT_FALSE(route) << device;
    EXPECT_EQ(route.error().code, ErrorCode::bad_input);
    EXPECT_THAT(route.error().message, HasSubstr("the CPU EP has no device"));
  }
  EXPECT_TRUE(route_bundle(qnn_pipeline(), {.ep = "cpu", .device = "cpu"}));
}

TEST(Route, WhatHasNoEffectIsAnErrorWhereThatIsAskedFor) {
  const Bundle on_cpu = bundle_of(pipeline("[]", "[]"));
  for (const RouteRequest& request :
       {RouteRequest{.ep = "qnn", .require_effect = true}, RouteRequest{.device = "npu", .require_effect = true}}) {
    const auto route = route_bundle(on_cpu, request);
    ASSERT_FALSE(route);
    EXPECT_EQ(route.error().code, ErrorCode::bad_input);
    EXPECT_THAT(route.error().message, HasSubstr("was asked for"));
    EXPECT_THAT(route.error().hint, HasSubstr("provider_options"));
  }
  EXPECT_TRUE(route_bundle(on_cpu, {.ep = "cpu", .device = "cpu", .require_effect = true}));
  EXPECT_THAT(route_of(on_cpu, "qnn").warnings, Contains(HasSubstr("provider_options in genai_config.json")));
}

TEST(Route, SeveralEpsAreMixed) {
  const Route route = route_of(bundle_of(pipeline(R"([{"cuda": {}}])", R"([{"QNN": {}}])")), "");
  EXPECT_EQ(route.effective_ep, "mixed");
  EXPECT_EQ(route.effective_device, std::nullopt);
}

TEST(Route, ARequestAloneProvesNoDevice) {
  const Route route = route_of(bundle_of(flat(R"([{"QNN": {}}])")), "qnn", "npu");
  EXPECT_EQ(route.effective_device, std::nullopt);
  EXPECT_THAT(route.warnings, IsEmpty()) << "the EP's devices say it";
}

TEST(Route, ForbiddenFallbackStandsInHardwareStagesOnly) {
  const auto route = route_bundle(qnn_pipeline(), {.forbid_cpu_fallback = true});
  ASSERT_TRUE(route);
  EXPECT_THAT(route->stages[0].session_entries, IsEmpty());
  EXPECT_EQ(route->stages[1].session_entries.at("session.disable_cpu_ep_fallback"), "1");
}

TEST(ProvenDevice, FollowsFromTheOptions) {
  const auto device = [](const std::string& ep, Options options) {
    return proven_device({.name = ep, .ep = ep, .options = std::move(options)});
  };
  EXPECT_EQ(device("dml", {}), DeviceClass::gpu);
  EXPECT_EQ(device("dml", {{"device_filter", "npu"}}), DeviceClass::npu);
  EXPECT_EQ(device("dml", {{"device_filter", "any"}}), std::nullopt);
  EXPECT_EQ(device("vitisai", {}), DeviceClass::npu);
  EXPECT_EQ(device("openvino", {}), std::nullopt);
  EXPECT_EQ(device("openvino", {{"device_type", "NPU"}}), DeviceClass::npu);
  EXPECT_EQ(device("openvino", {{"device_type", "GPU.1"}}), DeviceClass::gpu);
  EXPECT_EQ(device("openvino", {{"device_type", "AUTO:GPU,CPU"}}), std::nullopt);
  EXPECT_EQ(device("qnn", {}), std::nullopt);
  EXPECT_EQ(device("qnn", {{"backend_path", "/opt/cpu/libQnnHtp.so"}}), DeviceClass::npu);
  EXPECT_EQ(device("qnn", {{"backend_path", R"(C:\qnn\QnnGpu.dll)"}}), DeviceClass::gpu);
  EXPECT_EQ(device("qnn", {{"backend_path", "libQnnCpu.so"}}), DeviceClass::cpu);
  EXPECT_EQ(device("qnn", {{"backend_type", "htp"}}), DeviceClass::npu);
  EXPECT_EQ(device("qnn", {{"backend_type", "htp"}, {"backend_path", "libQnnCpu.so"}}), std::nullopt);
  EXPECT_EQ(device("RyzenAI", {}), std::nullopt);
}

TEST(CheckOptions, ALibraryThatIsNotThereIsOurError) {
  const fs::testing::TemporaryFolder eps;
  put(eps / "libQnnHtp.so", "");
  const std::map<std::string, std::filesystem::path> libraries = {{kQnn, eps / "libonnxruntime_providers_qnn.so"}};
  const auto check = [&](const std::string& path) {
    return check_options(fs::FileSystem::posix(),
                         route_of(bundle_of(flat(R"([{"QNN": {"backend_path": ")" + path + R"("}}])")), ""), libraries);
  };
  EXPECT_TRUE(check("libQnnHtp.so"));
  EXPECT_TRUE(check((eps / "libQnnHtp.so").string()));
  for (const std::string path : {"QnnHtp.dll", "/nowhere/libQnnHtp.so", "", ".", "libQnnHtp.so\\u0000"}) {
    const auto checked = check(path);
    ASSERT_FALSE(checked) << path;
    EXPECT_EQ(checked.error().code, ErrorCode::bad_input);
    EXPECT_THAT(checked.error().message, AllOf(HasSubstr("'decoder'"), HasSubstr("'backend_path'")));
  }
}

}  // namespace
}  // namespace precast::genai::testing
