#include "ort/catalog.hpp"

#include <gmock/gmock.h>

#include "ort/support.hpp"

namespace precast::ort {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using tests::checkout_eps;
using tests::disk;
using tests::runtime;
using tests::TempFolder;
using tests::text_of;

using Options = std::map<std::string, std::string>;

std::optional<ErrorCode> code_of(const Result<Target>& target) {
  return target ? std::nullopt : std::optional(target.error().code);
}

class CatalogTest : public testing::Test {
 protected:
  Result<Target> choose(const std::string& ep, std::optional<DeviceClass> device = {}, const Options& options = {}) {
    return catalog_.choose(disk(), TargetRequest{ep, device, options}, {});
  }
  Result<EpDescription> describe(const std::string& ep) {
    const auto found = select_ep(catalog_.found(), parse_ep_reference(ep));
    if (!found) return std::unexpected<Error>(found.error());
    return catalog_.describe(**found);
  }
  Catalog catalog_{runtime(), checkout_eps()};
};

TEST_F(CatalogTest, describes_openvino) {
  const auto ep = describe("openvino");
  ASSERT_TRUE(ep) << text_of(ep.error());
  EXPECT_THAT(ep->version, HasSubstr("1."));
  EXPECT_EQ(ep->version, ep->devices.at(0).ep_metadata.at("version"));
  EXPECT_FALSE(ep->vendor.empty());
  EXPECT_THAT(ep->devices, AllOf(Not(IsEmpty()), Each(Field(&DeviceInfo::ep_name, "OpenVINOExecutionProvider"))));
  EXPECT_EQ(ep->devices.back().device_class, DeviceClass::cpu);
  EXPECT_EQ(ep->devices.back().name, ep->devices.back().ep_metadata.at("FULL_DEVICE_NAME"));
}

TEST_F(CatalogTest, describes_qnn_without_a_snapdragon) {
  const auto ep = describe("qnn");
  ASSERT_TRUE(ep) << text_of(ep.error());
  EXPECT_EQ(ep->version, "0.1.0");
  EXPECT_THAT(ep->devices, ElementsAre(Field(&DeviceInfo::device_class, DeviceClass::cpu)));
}

TEST_F(CatalogTest, describes_the_cpu_ep_by_onnx_runtimes_version) {
  const auto ep = describe("cpu");
  ASSERT_TRUE(ep) << text_of(ep.error());
  EXPECT_EQ(ep->version, runtime()->version());
  EXPECT_THAT(ep->devices, SizeIs(1));
}

TEST_F(CatalogTest, an_ep_without_a_device_here_is_described_all_the_same) {
  // OpenVINO's devices keep their names whatever the library is registered as, so this name has none.
  const FoundEp ep{"other_name", "explicit", tests::kOpenvinoLibrary, nullptr};
  const auto described = catalog_.describe(ep);
  ASSERT_TRUE(described) << text_of(described.error());
  EXPECT_THAT(described->devices, IsEmpty());
}

TEST_F(CatalogTest, an_unknown_ep_is_registered_under_its_own_name) {
  Catalog catalog(runtime(), {FoundEp{"my_qnn", "explicit", tests::kQnnLibrary, nullptr}});
  const auto target = catalog.choose(disk(), TargetRequest{"my_qnn", {}, {{"any", "thing"}}}, {});
  ASSERT_TRUE(target) << text_of(target.error());
  EXPECT_EQ(target->device.ep_name, "my_qnn");
  EXPECT_FALSE(target->simulated);
  EXPECT_EQ(target->provider_options, (Options{{"any", "thing"}}));
  EXPECT_TRUE(catalog.device_of(*target));
}

TEST_F(CatalogTest, a_library_is_registered_once_and_a_second_source_refused) {
  const auto first = describe("qnn");
  const auto again = describe("qnn");
  ASSERT_TRUE(first && again);
  EXPECT_EQ(again->devices, first->devices);
  FoundEp other = first->found;
  other.source = "pypi";
  other.library = "/elsewhere/libonnxruntime_providers_qnn.so";
  Catalog catalog(runtime(), {other});  // the process counts, not the catalogue
  const auto refused = catalog.describe(other);
  ASSERT_FALSE(refused);
  EXPECT_THAT(text_of(refused.error()),
              AllOf(HasSubstr("busy"), HasSubstr("QNNExecutionProvider"), HasSubstr("/elsewhere/")));
}

TEST_F(CatalogTest, a_library_that_onnx_runtime_refuses_is_unavailable_with_its_words) {
  const TempFolder temp;
  const FoundEp broken{"broken", "explicit", temp.write("broken.so", "no library"), nullptr};
  const auto refused = catalog_.describe(broken);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::ep_unavailable);
  EXPECT_EQ(refused.error().path, broken.library);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("EP broken cannot be registered: "), HasSubstr("broken.so")));
}

TEST_F(CatalogTest, auto_prefers_what_really_binds) {
  const auto target = choose("");
  ASSERT_TRUE(target) << text_of(target.error());
  EXPECT_EQ(target->ep.found.name, "OpenVINOExecutionProvider");  // QNN was not told a machine
  const auto same = choose("AUTO", DeviceClass::cpu);
  ASSERT_TRUE(same) << text_of(same.error());
  EXPECT_EQ(same->device, target->device);
}

TEST_F(CatalogTest, auto_takes_qnn_when_it_is_told_the_machine) {
  for (const std::optional<DeviceClass> device : {std::optional<DeviceClass>{}, std::optional{DeviceClass::npu}}) {
    const auto target = choose("auto", device, {{"soc_model", "60"}});
    ASSERT_TRUE(target) << text_of(target.error());
    EXPECT_EQ(target->ep.found.name, "QNNExecutionProvider");
    EXPECT_TRUE(target->simulated);
    EXPECT_EQ(target->provider_options.at("backend_path"), tests::kQnnFolder / "libQnnHtp.so");
  }
}

TEST_F(CatalogTest, auto_ends_with_the_cpu_ep) {
  Catalog catalog(runtime(), {tests::found_ep("CPUExecutionProvider", "built_in")});
  const auto target = catalog.choose(disk(), TargetRequest{}, {});
  ASSERT_TRUE(target) << text_of(target.error());
  EXPECT_EQ(target->alias(), "cpu");
  EXPECT_FALSE(target->makes_ep_context());
  const auto none = catalog.choose(disk(), TargetRequest{"", DeviceClass::npu, {}}, {});
  ASSERT_FALSE(none);
  EXPECT_THAT(text_of(none.error()), HasSubstr("ep_unavailable: no EP has a device of class npu"));
}

TEST_F(CatalogTest, auto_passes_over_an_ep_that_does_not_load) {
  const TempFolder temp;
  std::vector<FoundEp> found = {
      FoundEp{"VitisAIExecutionProvider", "explicit", temp.write("vitis.so", "no library"), find_ep("vitisai")},
      tests::found_ep("CPUExecutionProvider", "built_in")};
  Catalog catalog(runtime(), found);
  const auto target = catalog.choose(disk(), TargetRequest{}, {});
  ASSERT_TRUE(target) << text_of(target.error());
  EXPECT_EQ(target->alias(), "cpu");
}

TEST_F(CatalogTest, a_named_ep_is_not_replaced_by_another) {
  EXPECT_EQ(code_of(choose("webgpu")), ErrorCode::ep_unavailable);
  EXPECT_EQ(code_of(choose("nonsense")), ErrorCode::bad_input);
  EXPECT_EQ(code_of(choose("openvino", DeviceClass::npu)), ErrorCode::ep_unavailable);
  EXPECT_EQ(code_of(choose("qnn")), ErrorCode::ep_unavailable);
}

TEST_F(CatalogTest, a_wrong_option_is_reported_before_the_ep_is_loaded) {
  Catalog catalog(runtime(), {FoundEp{"VitisAIExecutionProvider", "explicit", "/missing.so", find_ep("vitisai")}});
  for (const char* ep : {"vitisai", "auto"}) {
    const auto target = catalog.choose(disk(), TargetRequest{ep, {}, {{"config_file", "/missing.json"}}}, {});
    ASSERT_FALSE(target);
    EXPECT_THAT(text_of(target.error()), HasSubstr("bad_input: provider option 'config_file'"));
  }
}

TEST_F(CatalogTest, finds_the_device_again_even_if_its_metadata_moved) {
  auto target = choose("openvino");
  ASSERT_TRUE(target) << text_of(target.error());
  target->device.ep_metadata["RANGE_FOR_STREAMS"] = "1 999";
  EXPECT_TRUE(catalog_.device_of(*target));
  target->device.name = "another";
  const auto gone = catalog_.device_of(*target);
  ASSERT_FALSE(gone);
  EXPECT_THAT(text_of(gone.error()), AllOf(HasSubstr("ep_unavailable"), HasSubstr("'another'")));
}

}  // namespace
}  // namespace precast::ort
