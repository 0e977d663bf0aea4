#include "ort/discovery.hpp"

#include <gmock/gmock.h>

#include "fs/counting_file_system.hpp"
#include "ort/support.hpp"

namespace precast::ort {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using tests::disk;
using tests::TempFolder;
using tests::text_of;

constexpr const char* kQnnFile = "libonnxruntime_providers_qnn.so";
constexpr const char* kOpenvinoFile = "libonnxruntime_providers_openvino_plugin.so";

std::vector<std::string> names_and_sources(const std::vector<FoundEp>& found) {
  std::vector<std::string> texts;
  texts.reserve(found.size());
  for (const FoundEp& ep : found) texts.push_back(ep.name + "@" + ep.source);
  return texts;
}

// A machine with QNN in every place.
DiscoveryOptions everywhere(const TempFolder& temp) {
  DiscoveryOptions options;
  options.explicit_libraries = {{"QNN", temp.write("given/qnn.so")}};
  options.ep_directory = temp.write(std::string("directory/qnn/") + kQnnFile).parent_path().parent_path();
  temp.write(std::string("checkout/.deps/eps/qnn/onnxruntime_qnn/") + kQnnFile);
  options.executable_directory = temp / "checkout/build/bin";
  temp.write(std::string("venv/lib/python3.11/site-packages/onnxruntime_qnn/") + kQnnFile);
  options.virtual_env = temp / "venv";
  options.system_directories = {temp.write(std::string("system/") + kQnnFile).parent_path()};
  return options;
}

TEST(Discovery, looks_in_the_order_of_the_contract) {
  const TempFolder temp;
  const auto found = discover_eps(disk(), everywhere(temp));
  ASSERT_TRUE(found) << text_of(found.error());
  EXPECT_THAT(names_and_sources(*found), ElementsAre("QNNExecutionProvider@explicit", "QNNExecutionProvider@directory",
                                                     "QNNExecutionProvider@bundled", "QNNExecutionProvider@pypi",
                                                     "QNNExecutionProvider@system", "CPUExecutionProvider@built_in"));
  for (const FoundEp& ep : *found) {
    EXPECT_EQ(ep.spec, find_ep(ep.name));
    EXPECT_TRUE(ep.library.empty() || ep.library.is_absolute()) << ep.library;
  }
}

TEST(Discovery, finds_the_same_when_one_ep_is_asked_for) {
  const TempFolder temp;
  DiscoveryOptions options = everywhere(temp);
  const auto all = discover_eps(disk(), options);
  options.only = "qnn@pypi";
  const auto one = discover_eps(disk(), options);
  ASSERT_TRUE(all && one);
  EXPECT_EQ(names_and_sources(*one), names_and_sources(*all));
  options.only = "openvino";
  const auto other = discover_eps(disk(), options);
  ASSERT_TRUE(other);
  EXPECT_THAT(names_and_sources(*other), ElementsAre("QNNExecutionProvider@explicit", "CPUExecutionProvider@built_in"));
}

TEST(Discovery, is_cheap_for_one_ep) {
  DiscoveryOptions options;
  options.executable_directory = tests::kDeps.parent_path() / "build/bin";
  options.only = "openvino";
  fs::CountingFileSystem counting(disk());
  const auto found = discover_eps(counting, options);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->front().library, tests::kOpenvinoLibrary);
  EXPECT_LE(counting.counts().total(), 15U);
}

TEST(Discovery, finds_the_eps_of_this_checkout) {
  EXPECT_THAT(names_and_sources(tests::checkout_eps()),
              ElementsAre("OpenVINOExecutionProvider@bundled", "QNNExecutionProvider@bundled",
                          "CPUExecutionProvider@built_in"));
}

TEST(Discovery, walks_up_to_the_checkout_from_a_deeper_build_folder) {
  const TempFolder temp;
  temp.write(std::string("checkout/.deps/eps/mine/any/") + kOpenvinoFile);
  DiscoveryOptions options;
  options.system_directories.clear();
  options.executable_directory = temp / "checkout/out/build/dev/bin";
  auto found = discover_eps(disk(), options);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->front().source, "bundled");
  options.executable_directory = temp / "checkout/a/b/c/d/e";
  found = discover_eps(disk(), options);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->front().source, "built_in");
}

TEST(Discovery, conda_comes_after_the_virtual_environment_and_has_the_same_source) {
  const TempFolder temp;
  const std::string package = "/lib/python3.12/site-packages/onnxruntime_ep_openvino/";
  DiscoveryOptions options;
  options.system_directories.clear();
  options.virtual_env = temp / "venv";
  options.conda_prefix = temp / "conda";
  temp.write("conda" + package + kOpenvinoFile);
  auto found = discover_eps(disk(), options);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->front().library, temp / ("conda" + package + kOpenvinoFile));
  temp.write("venv" + package + kOpenvinoFile);
  found = discover_eps(disk(), options);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->front().library, temp / ("venv" + package + kOpenvinoFile));
  EXPECT_THAT(names_and_sources(*found),
              ElementsAre("OpenVINOExecutionProvider@pypi", "CPUExecutionProvider@built_in"));
}

TEST(Discovery, a_folder_in_the_place_of_a_library_is_no_library) {
  const TempFolder temp;
  std::filesystem::create_directories(temp / "system" / kQnnFile);
  DiscoveryOptions options;
  options.system_directories = {temp / "system"};
  const auto found = discover_eps(disk(), options);
  ASSERT_TRUE(found);
  EXPECT_THAT(names_and_sources(*found), ElementsAre("CPUExecutionProvider@built_in"));
}

TEST(Discovery, an_unknown_explicit_ep_keeps_its_name) {
  const TempFolder temp;
  DiscoveryOptions options;
  options.system_directories.clear();
  options.explicit_libraries = {{"Fake_ep", temp.write("fake.so")}};
  const auto found = discover_eps(disk(), options);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->front().name, "Fake_ep");
  EXPECT_EQ(found->front().spec, nullptr);
}

TEST(Discovery, a_relative_explicit_path_is_made_absolute) {
  const TempFolder temp;
  const auto library = temp.write("fake.so");
  DiscoveryOptions options;
  options.explicit_libraries = {{"fake", std::filesystem::relative(library)}};
  const auto found = discover_eps(disk(), options);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->front().library, library);
}

struct WrongExplicit {
  const char* name;
  const char* file;
  const char* expected;
};

TEST(Discovery, a_wrong_explicit_library_is_named_with_its_option) {
  const TempFolder temp;
  temp.write("there.so");
  std::filesystem::create_directories(temp / "folder");
  for (const WrongExplicit& wrong : {WrongExplicit{"qnn", "missing.so", "not_found: --ep-library qnn="},
                                     WrongExplicit{"qnn", "folder", "bad_input: --ep-library qnn="},
                                     WrongExplicit{"a/b", "there.so", "bad_input: --ep-library a/b="},
                                     WrongExplicit{"", "there.so", "bad_input: --ep-library ="},
                                     WrongExplicit{"cpu", "there.so", "bad_input: --ep-library cpu="}}) {
    DiscoveryOptions options;
    options.explicit_libraries = {{wrong.name, temp / wrong.file}};
    const auto found = discover_eps(disk(), options);
    ASSERT_FALSE(found) << wrong.name << '=' << wrong.file;
    EXPECT_THAT(text_of(found.error()), HasSubstr(wrong.expected));
    EXPECT_FALSE(found.error().hint.empty());
  }
}

TEST(Discovery, two_explicit_libraries_for_one_ep_are_refused) {
  const TempFolder temp;
  const auto library = temp.write("there.so");
  DiscoveryOptions options;
  options.explicit_libraries = {{"qnn", library}, {"QNNExecutionProvider", library}};
  const auto found = discover_eps(disk(), options);
  ASSERT_FALSE(found);
  EXPECT_THAT(text_of(found.error()), AllOf(HasSubstr("bad_input"), HasSubstr("QNNExecutionProvider twice")));
}

TEST(Discovery, an_ep_path_that_is_no_folder_is_an_error_that_names_the_variable) {
  const TempFolder temp;
  DiscoveryOptions options;
  options.ep_directory = temp / "missing";
  const auto found = discover_eps(disk(), options);
  ASSERT_FALSE(found);
  EXPECT_THAT(text_of(found.error()), AllOf(HasSubstr("not_found: PRECAST_EP_PATH"), HasSubstr("missing")));
}

TEST(SelectEp, reads_names_aliases_and_sources) {
  EXPECT_EQ(parse_ep_reference("openvino").name, "OpenVINOExecutionProvider");
  EXPECT_EQ(parse_ep_reference("openvino").source, "");
  EXPECT_EQ(parse_ep_reference("OpenVINO@PyPI").name, "OpenVINOExecutionProvider");
  EXPECT_EQ(parse_ep_reference("OpenVINO@PyPI").source, "pypi");
  EXPECT_EQ(parse_ep_reference("fake").name, "fake");
}

TEST(SelectEp, takes_the_first_or_the_one_of_the_source) {
  const std::vector<FoundEp> found = {tests::found_ep("QNNExecutionProvider", "bundled"),
                                      tests::found_ep("QNNExecutionProvider", "pypi"), tests::found_ep("fake")};
  EXPECT_EQ(select_ep(found, parse_ep_reference("qnn")).value_or(nullptr), &found[0]);
  EXPECT_EQ(select_ep(found, parse_ep_reference("qnn@pypi")).value_or(nullptr), &found[1]);
  EXPECT_EQ(select_ep(found, parse_ep_reference("FAKE")).value_or(nullptr), &found[2]);
}

TEST(SelectEp, tells_unknown_absent_and_other_source_apart) {
  const std::vector<FoundEp> found = {tests::found_ep("QNNExecutionProvider", "bundled"), tests::found_ep("fake")};
  const auto unknown = select_ep(found, parse_ep_reference("quinn"));
  ASSERT_FALSE(unknown);
  EXPECT_THAT(text_of(unknown.error()),
              AllOf(HasSubstr("bad_input"), HasSubstr("'quinn'"), HasSubstr("qnn, "), HasSubstr(", fake")));
  const auto absent = select_ep(found, parse_ep_reference("openvino"));
  ASSERT_FALSE(absent);
  EXPECT_THAT(text_of(absent.error()),
              AllOf(HasSubstr("ep_unavailable"), HasSubstr("onnxruntime-ep-openvino"), HasSubstr("--ep-library")));
  const auto elsewhere = select_ep(found, parse_ep_reference("qnn@system"));
  ASSERT_FALSE(elsewhere);
  EXPECT_THAT(text_of(elsewhere.error()),
              AllOf(HasSubstr("ep_unavailable"), HasSubstr("'system'"), HasSubstr("bundled")));
}

}  // namespace
}  // namespace precast::ort
