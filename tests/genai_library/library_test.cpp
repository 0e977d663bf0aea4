// genai ends the process where it finds no ORT, so each library is loaded in a child.
#include "genai/library.hpp"

#include <sys/stat.h>

#include "genai_native/support.hpp"

namespace precast::genai {
namespace {

using ::testing::HasSubstr;

// What a child says that loads as told: "loaded", or code and message.
std::string load_in_child(const LibraryOptions& options, const std::function<void()>& prepare = {}) {
  fs::testing::TemporaryFolder folder;
  const auto said = folder / "said";
  const int code = fs::testing::in_child([&] {
    if (prepare) prepare();
    const auto runtime = testing::load_ort();
    const auto library = Library::load(fs::FileSystem::posix(), *runtime, options);
    const std::string text = library ? "loaded " + (*library)->location().source + " " + (*library)->location().version
                                     : std::string(to_string(library.error().code)) + ": " + library.error().message +
                                           " (" + library.error().hint + ")";
    testing::put(said, text);
    (void)std::fflush(nullptr);
    return 0;
  });
  EXPECT_EQ(code, 0) << "the child ended";
  return testing::contents(said);
}

LibraryOptions named(const std::filesystem::path& library) {
  LibraryOptions options;
  options.library = library;
  return options;
}

TEST(GenaiLibrary, TheNamedOneIsLoaded) {
  EXPECT_EQ(load_in_child(named(testing::kGenai)), "loaded option 0.18.0");
}

TEST(GenaiLibrary, TheEnvironmentNamesOneToo) {
  EXPECT_EQ(load_in_child({}, [] { ::setenv("PRECAST_GENAI_LIBRARY", testing::kGenai.c_str(), 1); }),
            "loaded environment 0.18.0");
  EXPECT_THAT(load_in_child({}, [] { ::setenv("PRECAST_GENAI_LIBRARY", "/no/such.so", 1); }),
              HasSubstr("PRECAST_GENAI_LIBRARY names '/no/such.so', which is not a file"));
  // The option wins.
  EXPECT_EQ(load_in_child(named(testing::kGenai), [] { ::setenv("PRECAST_GENAI_LIBRARY", "/no/such.so", 1); }),
            "loaded option 0.18.0");
}

TEST(GenaiLibrary, AMissingOneIsNamed) {
  EXPECT_THAT(load_in_child(named("/no/such.so")),
              HasSubstr("--genai-library names '/no/such.so', which is not a file"));
  EXPECT_THAT(load_in_child(named("/tmp")), HasSubstr("which is not a file"));
}

TEST(GenaiLibrary, WhatIsNoLibraryIsRefusedWithTheReason) {
  fs::testing::TemporaryFolder folder;
  testing::put(folder / "text.so", "no library");
  EXPECT_THAT(load_in_child(named(folder / "text.so")), HasSubstr("cannot be loaded from"));
}

// The loader would end the process with SIGBUS.
TEST(GenaiLibrary, OneThatIsCutOffIsRefused) {
  fs::testing::TemporaryFolder folder;
  const std::string whole = testing::contents(testing::kGenai);
  for (const std::size_t kept : {whole.size() / 3, whole.size() / 10, std::size_t{4096}, std::size_t{100}}) {
    testing::put(folder / "cut.so", whole.substr(0, kept));
    EXPECT_THAT(load_in_child(named(folder / "cut.so")), HasSubstr("is cut off")) << kept;
  }
  testing::put(folder / "cut.so", whole.substr(0, 20));
  EXPECT_THAT(load_in_child(named(folder / "cut.so")), HasSubstr("cannot be loaded from"));
}

TEST(GenaiLibrary, AMissingSymbolIsNamed) {
  const std::string said = load_in_child(named(testing::kOrt));  // a library, but another one
  EXPECT_THAT(said, HasSubstr("is not an onnxruntime-genai that precast can use: it has no Oga"));
  EXPECT_THAT(said, HasSubstr("--genai-library"));
}

TEST(GenaiLibrary, AnotherOrtForGenaiIsRefused) {
  fs::testing::TemporaryFolder folder;
  std::filesystem::copy_file(std::filesystem::canonical(testing::kOrt), folder / "libonnxruntime.so");
  const auto other = [&] { ::setenv("ORT_LIB_PATH", (folder / "libonnxruntime.so").c_str(), 1); };
  EXPECT_THAT(load_in_child(named(testing::kGenai), other), HasSubstr("unset ORT_LIB_PATH"));
  EXPECT_THAT(load_in_child(named(testing::kGenai), [] { ::setenv("ORT_LIB_PATH", "", 1); }),
              HasSubstr("set and empty"));
  const auto fifo = [&] {
    (void)::mkfifo((folder / "fifo").c_str(), 0600);
    ::setenv("ORT_LIB_PATH", (folder / "fifo").c_str(), 1);
  };
  EXPECT_THAT(load_in_child(named(testing::kGenai), fifo), HasSubstr("which is not a file"));
  const auto same = [] { ::setenv("ORT_LIB_PATH", testing::kOrt.c_str(), 1); };
  EXPECT_EQ(load_in_child(named(testing::kGenai), same), "loaded option 0.18.0");
}

TEST(GenaiLibrary, IsFoundInTheCheckoutAndElseSaysHowToInstallIt) {
  LibraryOptions checkout;
  checkout.executable_directory = std::filesystem::path(PRECAST_SOURCE_DIR) / "build/bin";
  const auto found = find_library(fs::FileSystem::posix(), checkout);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->source, "bundled");
  fs::testing::TemporaryFolder folder;
  LibraryOptions nowhere;
  nowhere.executable_directory = folder.path();
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) ::unsetenv(name);
  const auto missing = find_library(fs::FileSystem::posix(), nowhere);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::ep_unavailable);
  EXPECT_THAT(missing.error().hint, HasSubstr("tools/setup genai"));
}

TEST(GenaiLibrary, AFailureIsNotRememberedAndAnotherOneAfterwardsIsRefused) {
  EXPECT_EQ(fs::testing::in_child([] {
              const auto runtime = testing::load_ort();
              fs::FileSystem& files = fs::FileSystem::posix();
              if (Library::load(files, *runtime, named("/no/such.so"))) return 1;
              if (!Library::load(files, *runtime, named(testing::kGenai))) return 2;
              if (!Library::load(files, *runtime, {})) return 3;
              const auto other = Library::load(files, *runtime, named("/no/such.so"));
              return !other && other.error().code == ErrorCode::bad_input ? 0 : 4;
            }),
            0);
}

}  // namespace
}  // namespace precast::genai
