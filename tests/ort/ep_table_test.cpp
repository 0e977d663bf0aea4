#include "ort/ep_table.hpp"

#include <set>

#include <gmock/gmock.h>

#include "ort/target.hpp"

namespace precast::ort {
namespace {

using testing::Contains;
using testing::ElementsAre;

TEST(EpTable, finds_an_ep_by_name_or_alias_in_any_case) {
  for (const char* text : {"OpenVINOExecutionProvider", "openvinoexecutionprovider", "openvino", "OpenVINO"}) {
    ASSERT_NE(find_ep(text), nullptr) << text;
    EXPECT_EQ(find_ep(text)->name, "OpenVINOExecutionProvider");
  }
  EXPECT_EQ(find_ep("nvtensorrtrtx"), find_ep("nv_tensorrt_rtx"));
  EXPECT_EQ(find_ep("fake"), nullptr);
  EXPECT_EQ(find_ep(""), nullptr);
}

TEST(EpTable, has_every_ep_of_the_contract_once) {
  std::set<std::string_view> names;
  for (const EpSpec& ep : ep_table()) {
    EXPECT_TRUE(names.insert(ep.name).second) << ep.name;
    EXPECT_FALSE(ep.aliases.empty()) << ep.name;
    EXPECT_FALSE(ep.device_classes.empty()) << ep.name;
    for (const std::string_view alias : ep.aliases) EXPECT_EQ(find_ep(alias), &ep) << alias;
  }
  EXPECT_EQ(names.size(), 10U);
  EXPECT_EQ(known_ep_aliases(), "cpu, openvino, qnn, nv_tensorrt_rtx, vitisai, migraphx, cuda, tensorrt, dml, webgpu");
}

TEST(EpTable, knows_which_eps_make_compiled_models) {
  for (const char* name : {"openvino", "qnn", "tensorrt", "nv_tensorrt_rtx", "vitisai"}) {
    EXPECT_TRUE(find_ep(name)->makes_ep_context) << name;
  }
  for (const char* name : {"cpu", "cuda", "webgpu", "dml"}) EXPECT_FALSE(find_ep(name)->makes_ep_context) << name;
}

TEST(EpTable, names_what_enters_an_identity) {
  EXPECT_TRUE(matches_any(find_ep("openvino")->environment, "ONEDNN_MAX_CPU_ISA"));
  EXPECT_TRUE(matches_any(find_ep("openvino")->environment, "ORT_OPENVINO_ACCEPT_OPS"));
  EXPECT_FALSE(matches_any(find_ep("openvino")->environment, "TBB_ENABLE_SANITIZERS"));
  EXPECT_TRUE(matches_any(find_ep("openvino")->dependent_files, "libtbb.so.12"));
  EXPECT_TRUE(matches_any(find_ep("qnn")->dependent_files, "libHtpPrepare.so"));
  EXPECT_TRUE(matches_any(find_ep("qnn")->environment, "ADSP_LIBRARY_PATH"));
  EXPECT_TRUE(matches_any(find_ep("qnn")->run_time_options, "profiling_level"));
  EXPECT_FALSE(matches_any(find_ep("qnn")->run_time_options, "vtcm_mb"));
}

TEST(EpTable, device_classes_have_names) {
  for (const DeviceClass device_class : {DeviceClass::cpu, DeviceClass::gpu, DeviceClass::npu}) {
    EXPECT_EQ(parse_device_class(to_string(device_class)), device_class);
  }
  EXPECT_EQ(parse_device_class("NPU"), DeviceClass::npu);
  EXPECT_EQ(parse_device_class("tpu"), std::nullopt);
}

TEST(EpTable, preferences_name_known_eps_and_end_with_the_cpu) {
  for (const Preference& preference : preference_table()) {
    ASSERT_NE(find_ep(preference.ep), nullptr) << preference.ep;
    EXPECT_EQ(find_ep(preference.ep)->name, preference.ep);
    EXPECT_THAT(find_ep(preference.ep)->device_classes, Contains(preference.device_class)) << preference.ep;
  }
  EXPECT_EQ(preference_table().front().ep, "QNNExecutionProvider");
  EXPECT_EQ(preference_table().back().ep, "CPUExecutionProvider");
}

TEST(EpTable, environment_of_an_unknown_ep_is_passed_on_but_is_no_identity) {
  Target target;
  target.ep.found.name = "fake-ep.2";
  EXPECT_THAT(environment_passed_globs(target), ElementsAre("FAKE_EP_2_*"));
  EXPECT_THAT(environment_identity_globs(target), ElementsAre());
  EXPECT_TRUE(target.makes_ep_context());
  EXPECT_EQ(target.alias(), "fake-ep.2");
}

TEST(EpTable, environment_of_a_known_ep_is_both) {
  Target target;
  target.ep.found.name = "QNNExecutionProvider";
  target.ep.found.spec = find_ep("qnn");
  EXPECT_THAT(environment_passed_globs(target), ElementsAre("ORT_QNN_*", "QNN_*", "ADSP_LIBRARY_PATH"));
  EXPECT_EQ(environment_identity_globs(target), environment_passed_globs(target));
  EXPECT_EQ(target.alias(), "qnn");
}

}  // namespace
}  // namespace precast::ort
