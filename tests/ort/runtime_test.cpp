#include "ort/runtime.hpp"

#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>
#include <gmock/gmock.h>

#include "ort/support.hpp"

namespace precast::ort {
namespace {

using testing::AllOf;
using testing::ExitedWithCode;
using testing::HasSubstr;
using tests::kOrtLibrary;
using tests::runtime;
using tests::TempFolder;
using tests::text_of;

RuntimeOptions library(const std::filesystem::path& path) {
  return {.library = path, .executable_directory = {}, .assume_cpu_vendor = {}};
}

// What `options` give in a process that has no ORT yet, on stderr, for EXPECT_EXIT.
void print_load(const RuntimeOptions& options) {
  const auto loaded = Runtime::load(options);
  const std::string text = loaded ? (*loaded)->source() + " " + (*loaded)->library().string() : text_of(loaded.error());
  (void)std::fprintf(stderr, "%s\n", text.c_str());
  std::_Exit(loaded ? 0 : 1);
}

void print_find(const RuntimeOptions& options) {
  const auto found = find_runtime(options);
  (void)std::fprintf(stderr, "%s\n",
                     (found ? found->source + " " + found->library.string() : text_of(found.error())).c_str());
  std::_Exit(found ? 0 : 1);
}

class FreshProcess : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(FreshProcess, loads_the_library_that_is_named) {
  EXPECT_EXIT(print_load(library(kOrtLibrary)), ExitedWithCode(0), "option .*/libonnxruntime.so.1.");
}

TEST_F(FreshProcess, loads_the_library_of_the_variable) {
  EXPECT_EXIT(
      {
        setenv("PRECAST_ORT_LIBRARY", kOrtLibrary.c_str(), 1);
        print_load(library(kOrtLibrary));  // as the command line hands it on
      },
      ExitedWithCode(0), "environment .*/libonnxruntime.so.1.");
}

TEST_F(FreshProcess, finds_the_library_of_the_checkout) {
  const RuntimeOptions options{
      .library = {}, .executable_directory = tests::kDeps.parent_path() / "build/bin", .assume_cpu_vendor = {}};
  EXPECT_EXIT(print_find(options), ExitedWithCode(0), "bundled .*/libonnxruntime.so.1.");
}

TEST_F(FreshProcess, prefers_the_library_beside_the_program) {
  const TempFolder temp;
  temp.write("bin/libonnxruntime.so.1");
  temp.write(".deps/ort/lib/libonnxruntime.so.1");
  EXPECT_EXIT(print_find({.library = {}, .executable_directory = temp / "bin", .assume_cpu_vendor = {}}),
              ExitedWithCode(0), "beside .*/bin/");
}

TEST_F(FreshProcess, a_missing_library_is_named) {
  EXPECT_EXIT(print_load(library("/missing/libonnxruntime.so")), ExitedWithCode(1),
              "not_found: --ort-library names '/missing/libonnxruntime.so'");
}

TEST_F(FreshProcess, a_library_that_is_not_onnx_runtime_is_refused_and_forgotten) {
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&std::getenv), &info), 0);
  const std::filesystem::path libc = info.dli_fname;
  EXPECT_EXIT(print_load(library(libc)), ExitedWithCode(1), "ep_unavailable: .* is not ONNX Runtime");
  EXPECT_EXIT(
      {
        if (Runtime::load(library(libc))) std::_Exit(2);
        print_load(library(kOrtLibrary));
      },
      ExitedWithCode(0), "option ");
}

TEST_F(FreshProcess, a_file_that_is_no_library_is_refused_with_the_loaders_words) {
  const TempFolder temp;
  EXPECT_EXIT(print_load(library(temp.write("libonnxruntime.so", "text"))), ExitedWithCode(1),
              "ep_unavailable: cannot load ONNX Runtime from '.*': .*(file too short|invalid ELF)");
}

// Its static initialiser throws, and may do so in dlopen.
TEST_F(FreshProcess, onnxruntime_genai_is_not_onnx_runtime) {
  const auto genai = tests::kDeps / "genai/onnxruntime_genai_core/bin/libonnxruntime-genai.so";
  EXPECT_EXIT(print_load(library(genai)), ExitedWithCode(1), "ep_unavailable: ");
}

// The loader would end the process with SIGBUS.
TEST_F(FreshProcess, a_library_that_is_cut_off_is_refused) {
  const TempFolder temp;
  const std::filesystem::path cut = temp.path() / "libonnxruntime.so.1";
  std::filesystem::copy_file(std::filesystem::canonical(kOrtLibrary), cut);
  for (int i = 0; i < 6; ++i) {
    std::filesystem::resize_file(cut, std::filesystem::file_size(cut) / 4);
    if (std::filesystem::file_size(cut) < 64) break;
    EXPECT_EXIT(print_load(library(cut)), ExitedWithCode(1), "ep_unavailable: the library '.*' is cut off");
  }
}

TEST_F(FreshProcess, an_onnx_runtime_that_is_mapped_already_is_used) {
  EXPECT_EXIT(
      {
        if (dlopen(kOrtLibrary.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) std::_Exit(2);
        print_load({});
      },
      ExitedWithCode(0), "loaded .*/libonnxruntime.so.1.");
  EXPECT_EXIT(
      {
        if (dlopen(kOrtLibrary.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) std::_Exit(2);
        print_load(library("/other/libonnxruntime.so"));
      },
      ExitedWithCode(1), "bad_input: ONNX Runtime '.*' is loaded in this process already; '/other/");
}

const OrtApi* no_api(uint32_t) noexcept {
  return nullptr;
}
const char* old_version() noexcept {
  return "1.17.3";
}

OrtApiBase old_runtime() {
  return {.GetApi = &no_api, .GetVersionString = &old_version};
}

TEST_F(FreshProcess, an_old_onnx_runtime_is_refused_with_its_version) {
  EXPECT_EXIT(
      {
        const OrtApiBase old = old_runtime();
        const auto used = Runtime::use(&old);
        (void)std::fprintf(stderr, "%s\n", used ? "used" : text_of(used.error()).c_str());
        std::_Exit(used ? 0 : 1);
      },
      ExitedWithCode(1), "ep_unavailable: ONNX Runtime 1.17.3 at '.*' is too old: precast needs API version 23");
}

TEST_F(FreshProcess, the_hosts_own_onnx_runtime_can_be_used) {
  EXPECT_EXIT(
      {
        void* handle = dlopen(kOrtLibrary.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) std::_Exit(2);
        const auto get = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(handle, "OrtGetApiBase"));
        const auto used = Runtime::use(get());
        const auto loaded = Runtime::load({});
        (void)std::fprintf(stderr, "%s\n", used ? (*used)->source().c_str() : text_of(used.error()).c_str());
        std::_Exit(used && loaded && *used == *loaded ? 0 : 1);
      },
      ExitedWithCode(0), "loaded");
}

// {vendor of the CPU device, number of OpenVINO's devices} in a process of its own, on stderr.
void print_vendor(const RuntimeOptions& options) {
  const auto loaded = Runtime::load(options);
  if (!loaded) {
    (void)std::fprintf(stderr, "%s\n", text_of(loaded.error()).c_str());
    std::_Exit(1);
  }
  Catalog catalog(*loaded, tests::checkout_eps());
  const auto cpu = catalog.choose(tests::disk(), TargetRequest{"cpu", {}, {}}, {});
  const auto openvino = catalog.choose(tests::disk(), TargetRequest{"openvino", DeviceClass::cpu, {}}, {});
  (void)std::fprintf(stderr, "%x %s\n", cpu ? cpu->device.vendor_id : 0U,
                     openvino ? "openvino" : text_of(openvino.error()).c_str());
  std::_Exit(0);
}

TEST_F(FreshProcess, the_cpus_vendor_can_be_assumed) {
  RuntimeOptions options = library(kOrtLibrary);
  options.assume_cpu_vendor = "Intel";
  EXPECT_EXIT(print_vendor(options), ExitedWithCode(0), "^8086 openvino\n");
  options.assume_cpu_vendor = "amd";
  EXPECT_EXIT(print_vendor(options), ExitedWithCode(0), "^1022 ep_unavailable: .*Intel");
  EXPECT_EXIT(
      {
        setenv("PRECAST_ASSUME_CPU_VENDOR", "intel", 1);
        print_vendor(library(kOrtLibrary));
      },
      ExitedWithCode(0), "^8086 openvino\n");
  options.assume_cpu_vendor = "acorn";
  EXPECT_EXIT(print_vendor(options), ExitedWithCode(1), "bad_input: PRECAST_ASSUME_CPU_VENDOR.*'acorn'");
}

TEST(Runtime, says_what_it_is) {
  const auto ort = runtime();
  EXPECT_EQ(ort->library(), std::filesystem::canonical(kOrtLibrary));
  EXPECT_EQ(ort->version().substr(0, 2), "1.");
  EXPECT_THAT(ort->build_info(), HasSubstr("git"));
  EXPECT_EQ(&ort->compile_api(), ort->api().GetCompileApi());
}

TEST(Runtime, is_one_per_process) {
  const auto ort = runtime();
  const auto again = Runtime::load({});
  ASSERT_TRUE(again) << text_of(again.error());
  EXPECT_EQ(*again, ort);
  const auto other = Runtime::load(library("/other/libonnxruntime.so"));
  ASSERT_FALSE(other);
  EXPECT_THAT(text_of(other.error()), AllOf(HasSubstr("bad_input"), HasSubstr("/other/libonnxruntime.so")));
}

TEST(ToError, keeps_ort_words_on_one_line) {
  const Error error =
      to_error(Ort::Exception("first\n  second \n\xff", ORT_EP_FAIL), "X did not do Y", ErrorCode::compile_failed);
  EXPECT_EQ(error.code, ErrorCode::compile_failed);
  EXPECT_EQ(error.message, "X did not do Y: first second \\xff");
  EXPECT_EQ(to_error(Ort::Exception("gone", ORT_NO_SUCHFILE), "X", ErrorCode::compile_failed).code,
            ErrorCode::not_found);
}

}  // namespace
}  // namespace precast::ort
