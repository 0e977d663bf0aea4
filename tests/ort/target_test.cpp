#include "ort/target.hpp"

#include <gmock/gmock.h>

#include "ort/support.hpp"

namespace precast::ort {
namespace {

using enum DeviceClass;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tests::description;
using tests::device;
using tests::disk;
using tests::found_ep;
using tests::TempFolder;
using tests::text_of;

using Options = std::map<std::string, std::string>;

TargetRequest request_for(std::optional<DeviceClass> device_class) {
  TargetRequest request;
  request.device = device_class;
  return request;
}

TEST(BindTarget, takes_the_first_class_of_the_eps_own_preference) {
  const auto target =
      bind_target(description("OpenVINOExecutionProvider", {cpu, gpu, npu}), request_for(std::nullopt), {});
  ASSERT_TRUE(target) << text_of(target.error());
  EXPECT_EQ(target->device.device_class, npu);
  EXPECT_FALSE(target->simulated);
}

TEST(BindTarget, takes_the_first_device_of_the_wanted_class) {
  EpDescription ep = description("OpenVINOExecutionProvider", {npu, gpu, gpu, cpu});
  ep.devices[1].name = "first";
  const auto target = bind_target(ep, request_for(gpu), {{"precision", "FP16"}});
  ASSERT_TRUE(target) << text_of(target.error());
  EXPECT_EQ(target->device.name, "first");
  EXPECT_EQ(target->provider_options.at("precision"), "FP16");
}

TEST(BindTarget, an_absent_class_is_refused_with_those_that_there_are) {
  const auto target = bind_target(description("OpenVINOExecutionProvider", {cpu, gpu}), request_for(npu), {});
  ASSERT_FALSE(target);
  EXPECT_THAT(text_of(target.error()),
              AllOf(HasSubstr("ep_unavailable"), HasSubstr("no npu device"), HasSubstr("gpu, cpu")));
}

TEST(BindTarget, an_ep_without_devices_is_refused) {
  const auto target = bind_target(description("WebGpuExecutionProvider", {}), request_for(std::nullopt), {});
  ASSERT_FALSE(target);
  EXPECT_THAT(text_of(target.error()), HasSubstr("ep_unavailable: EP WebGpuExecutionProvider has no device"));
}

TEST(BindTarget, an_unknown_ep_binds_the_class_of_its_first_device) {
  const auto target = bind_target(description("fake", {gpu, npu, cpu}), request_for(std::nullopt), {});
  ASSERT_TRUE(target) << text_of(target.error());
  EXPECT_EQ(target->device.device_class, gpu);
}

TEST(BindTarget, qnn_without_a_snapdragon_needs_to_be_told_the_machine) {
  for (const std::optional<DeviceClass> wanted :
       {std::optional<DeviceClass>{}, std::optional{npu}, std::optional{cpu}}) {
    const auto refused = bind_target(description("QNNExecutionProvider", {cpu}), request_for(wanted), {});
    ASSERT_FALSE(refused);
    EXPECT_THAT(text_of(refused.error()),
                AllOf(HasSubstr("ep_unavailable"), HasSubstr("Snapdragon"), HasSubstr("soc_model")));
    for (const Options& options : {Options{{"soc_model", "60"}}, Options{{"htp_arch", "73"}}}) {
      const auto target = bind_target(description("QNNExecutionProvider", {cpu}), request_for(wanted), options);
      ASSERT_TRUE(target) << text_of(target.error());
      EXPECT_EQ(target->device.device_class, cpu);
      const Target::Simulated simulated = target->simulated.value_or(Target::Simulated{"none", "none"});
      EXPECT_EQ(simulated.soc_model, options.contains("soc_model") ? "60" : "");
      EXPECT_EQ(simulated.htp_arch, options.contains("htp_arch") ? "73" : "");
    }
  }
}

TEST(BindTarget, qnn_does_not_simulate_a_gpu) {
  const auto target = bind_target(description("QNNExecutionProvider", {cpu}), request_for(gpu), {{"soc_model", "60"}});
  ASSERT_FALSE(target);
  EXPECT_THAT(text_of(target.error()), HasSubstr("no gpu device"));
}

TEST(BindTarget, qnn_on_a_snapdragon_simulates_nothing) {
  const auto target =
      bind_target(description("QNNExecutionProvider", {cpu, npu}), request_for(std::nullopt), {{"soc_model", "60"}});
  ASSERT_TRUE(target) << text_of(target.error());
  EXPECT_EQ(target->device.device_class, npu);
  EXPECT_FALSE(target->simulated);
}

TEST(DevicesOfEp, leaves_derived_names_out_unless_there_is_no_other) {
  const std::vector<DeviceInfo> all = {device("CPUExecutionProvider", cpu), device("X.AUTO", cpu), device("X", gpu),
                                       device("XY", npu)};
  EXPECT_THAT(devices_of_ep(all, "X"), ElementsAre(all[2]));
  EXPECT_THAT(devices_of_ep({all[0], all[1], all[3]}, "X"), ElementsAre(all[1]));
  EXPECT_THAT(devices_of_ep(all, "Z"), IsEmpty());
}

class ProviderOptions : public testing::Test {
 protected:
  Result<Options> effective(const FoundEp& ep, const Options& requested, const std::vector<std::string>& extra = {}) {
    return effective_provider_options(disk(), ep, requested, extra);
  }
  FoundEp qnn() {
    FoundEp ep = found_ep("QNNExecutionProvider");
    ep.library = temp_.write("qnn/libonnxruntime_providers_qnn.so");
    return ep;
  }
  TempFolder temp_;
};

TEST_F(ProviderOptions, the_request_wins_over_the_table) {
  EpSpec spec;
  spec.name = "TestExecutionProvider";
  spec.default_options = {{"a", "table"}, {"b", "table"}};
  const FoundEp ep{"TestExecutionProvider", "explicit", "/x.so", &spec};
  const Options requested = {{"b", "mine"}, {"c", "mine"}};
  EXPECT_EQ(effective(ep, requested).value_or(Options{}), (Options{{"a", "table"}, {"b", "mine"}, {"c", "mine"}}));
}

TEST_F(ProviderOptions, a_declared_file_becomes_an_absolute_path) {
  const auto file = temp_.write("config.json");
  const auto options =
      effective(found_ep("OpenVINOExecutionProvider"), {{"load_config", std::filesystem::relative(file).string()}});
  ASSERT_TRUE(options) << text_of(options.error());
  EXPECT_EQ(options->at("load_config"), file.string());
}

TEST_F(ProviderOptions, a_declared_file_may_lie_in_the_home_folder) {
  const char* home = std::getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  const auto file = temp_.write("config.json");
  ASSERT_EQ(setenv("HOME", temp_.path().c_str(), 1), 0);
  const auto options = effective(found_ep("OpenVINOExecutionProvider"), {{"load_config", "~/config.json"}});
  ASSERT_EQ(setenv("HOME", before.c_str(), 1), 0);
  ASSERT_TRUE(options) << text_of(options.error());
  EXPECT_EQ(options->at("load_config"), file.string());
}

TEST_F(ProviderOptions, a_declared_file_that_is_missing_or_a_folder_is_named_with_its_key) {
  std::filesystem::create_directories(temp_ / "folder");
  for (const char* name : {"missing.json", "folder"}) {
    const auto options = effective(found_ep("OpenVINOExecutionProvider"), {{"load_config", (temp_ / name).string()}});
    ASSERT_FALSE(options);
    EXPECT_THAT(text_of(options.error()),
                AllOf(HasSubstr("bad_input: provider option 'load_config'"), HasSubstr(name)));
  }
  EXPECT_FALSE(effective(found_ep("OpenVINOExecutionProvider"), {{"load_config", ""}}));
}

TEST_F(ProviderOptions, openvinos_load_config_may_be_inline_json) {
  const std::string json = R"(  {"CPU": {"NUM_STREAMS": "1"}})";
  const auto options = effective(found_ep("OpenVINOExecutionProvider"), {{"load_config", json}});
  ASSERT_TRUE(options) << text_of(options.error());
  EXPECT_EQ(options->at("load_config"), json);
}

TEST_F(ProviderOptions, an_undeclared_value_is_text_even_if_such_a_file_exists) {
  const std::string relative = std::filesystem::relative(temp_.write("calibration.txt")).string();
  const auto plain = effective(found_ep("fake"), {{"table", relative}});
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->at("table"), relative);
  const auto declared = effective(found_ep("fake"), {{"table", relative}}, {"table"});
  ASSERT_TRUE(declared);
  EXPECT_EQ(declared->at("table"), (temp_ / "calibration.txt").string());
  EXPECT_FALSE(effective(found_ep("fake"), {{"table", "missing"}}, {"table"}));
}

TEST_F(ProviderOptions, qnns_backend_is_the_one_beside_the_plugin) {
  EXPECT_EQ(effective(qnn(), {}).value_or(Options{}), Options{});  // nothing beside it, nothing to say
  const std::string backend = temp_.write("qnn/libQnnHtp.so").string();
  EXPECT_EQ(effective(qnn(), {}).value_or(Options{}), (Options{{"backend_path", backend}}));
  const Options by_type = {{"backend_type", "htp"}};
  EXPECT_EQ(effective(qnn(), by_type).value_or(Options{}), by_type);
}

TEST_F(ProviderOptions, a_bare_library_name_lies_beside_the_plugin) {
  const std::string gpu_backend = temp_.write("qnn/libQnnGpu.so").string();
  EXPECT_EQ(effective(qnn(), {{"backend_path", "libQnnGpu.so"}}).value_or(Options{}),
            (Options{{"backend_path", gpu_backend}}));
  for (const char* wrong : {"QnnHtp.dll", "/missing/libQnnHtp.so", ""}) {
    const auto options = effective(qnn(), {{"backend_path", wrong}});
    ASSERT_FALSE(options) << wrong;
    EXPECT_THAT(text_of(options.error()), HasSubstr("bad_input: provider option 'backend_path'"));
  }
}

}  // namespace
}  // namespace precast::ort
