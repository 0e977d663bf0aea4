#include <algorithm>

#include <gmock/gmock.h>

#include "fs/counting_file_system.hpp"
#include "identity/library_closure.hpp"
#include "support.hpp"

namespace precast::identity::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

class Libraries : public TempFolder {
 protected:
  Libraries() {
    settings_ =
        plain_settings(write("ort/libonnxruntime.so.1", elf_bytes({.filler = "ort"})), folder_ / "ep/plugin.so");
  }
  void plugin(const ElfSpec& spec) { write("ep/plugin.so", elf_bytes(spec)); }
  std::vector<std::string> names() {
    const auto evidence = take_library_evidence(fs_, digester_, settings_);
    EXPECT_TRUE(evidence) << evidence.error().message;
    return evidence ? names_of(*evidence) : std::vector<std::string>{};
  }
  std::vector<stdfs::path> paths() {
    const auto evidence = take_library_evidence(fs_, digester_, settings_);
    EXPECT_TRUE(evidence) << evidence.error().message;
    std::vector<stdfs::path> result;
    for (const auto& one : *evidence) result.push_back(one.path);
    return result;
  }

  fs::CountingFileSystem fs_{fs::FileSystem::posix()};
  RecordingDigester digester_{fs::FileSystem::posix()};  // not counted: the seam shows what this layer itself does
  Settings settings_;
};

TEST_F(Libraries, UnknownEpHasOrtPluginAndClosureOnly) {
  plugin({.needed = {"libdep.so", "libc.so.6"}, .runpath = "$ORIGIN/sub"});
  write("ep/sub/libdep.so", elf_bytes({.needed = {"libdeep.so.2"}, .runpath = "${ORIGIN}"}));
  write("ep/sub/libdeep.so.2", elf_bytes({}));
  write("ep/libother.so", elf_bytes({}));
  EXPECT_THAT(names(), UnorderedElementsAre("libonnxruntime.so.1", "plugin.so", "libdep.so", "libdeep.so.2"));
}

TEST_F(Libraries, RpathOfTheLoaderHoldsAndRunpathDoesNot) {
  write("ep/a/libone.so", elf_bytes({.needed = {"libtwo.so"}}));
  write("ep/a/libtwo.so", elf_bytes({.filler = "2"}));
  plugin({.needed = {"libone.so"}, .rpath = "$ORIGIN/a"});
  EXPECT_THAT(names(), Contains("libtwo.so"));
  plugin({.needed = {"libone.so"}, .runpath = "$ORIGIN/a"});
  EXPECT_THAT(names(), AllOf(Contains("libone.so"), Not(Contains("libtwo.so"))));
}

TEST_F(Libraries, RunpathSwitchesOwnRpathOff) {
  write("ep/r/libone.so", elf_bytes({}));
  stdfs::create_directories(folder_ / "ep/p");
  plugin({.needed = {"libone.so"}, .rpath = "$ORIGIN/r", .runpath = "$ORIGIN/p"});
  EXPECT_THAT(names(), Not(Contains("libone.so")));
}

TEST_F(Libraries, RunpathSwitchesTheLoadersRpathOff) {
  write("ep/r/libone.so", elf_bytes({.needed = {"libtwo.so"}, .runpath = "/nowhere"}));
  write("ep/r/libtwo.so", elf_bytes({.filler = "2"}));
  plugin({.needed = {"libone.so"}, .rpath = "$ORIGIN/r"});
  EXPECT_THAT(names(), AllOf(Contains("libone.so"), Not(Contains("libtwo.so"))));
}

TEST_F(Libraries, SearchOrderIsRpathThenLibraryPathThenRunpath) {
  for (const char* place : {"r", "env", "p"})
    write("x/" + std::string(place) + "/libone.so", elf_bytes({.filler = place}));
  settings_.environment = {{"LD_LIBRARY_PATH", (folder_ / "x/env").string()}};
  plugin({.needed = {"libone.so"}, .rpath = "$ORIGIN/../x/r"});
  EXPECT_THAT(paths(), AllOf(Contains(folder_ / "x/r/libone.so"), Not(Contains(folder_ / "x/env/libone.so"))));
  plugin({.needed = {"libone.so"}, .runpath = "$ORIGIN/../x/p"});
  EXPECT_THAT(paths(), AllOf(Contains(folder_ / "x/env/libone.so"), Not(Contains(folder_ / "x/p/libone.so"))));
  settings_.environment.clear();
  EXPECT_THAT(paths(), Contains(folder_ / "x/p/libone.so"));
}

TEST_F(Libraries, FileOfAnotherMachineDoesNotEndTheSearch) {
  write("ep/one/libdep.so", elf_bytes({.machine = 183}));
  write("ep/two/libdep.so", elf_bytes({}));
  plugin({.needed = {"libdep.so"}, .runpath = "$ORIGIN/one:$ORIGIN/two"});
  EXPECT_THAT(paths(), Contains(folder_ / "ep/two/libdep.so"));
}

TEST_F(Libraries, VariantsForBetterProcessorsAreAllTaken) {
  write("ep/libdep.so", elf_bytes({}));
  write("ep/glibc-hwcaps/x86-64-v3/libdep.so", elf_bytes({.filler = "v3"}));
  plugin({.needed = {"libdep.so"}, .runpath = "$ORIGIN"});
  EXPECT_THAT(paths(),
              AllOf(Contains(folder_ / "ep/libdep.so"), Contains(folder_ / "ep/glibc-hwcaps/x86-64-v3/libdep.so")));
}

TEST_F(Libraries, CyclesEnd) {
  plugin({.needed = {"liba.so"}, .rpath = "$ORIGIN"});
  write("ep/liba.so", elf_bytes({.needed = {"libb.so"}}));
  write("ep/libb.so", elf_bytes({.needed = {"liba.so", "plugin.so"}, .filler = "b"}));
  EXPECT_EQ(names().size(), 4U);
}

TEST_F(Libraries, DanglingLinkIsPassedOver) {
  stdfs::create_directories(folder_ / "ep/one");
  stdfs::create_symlink("nowhere", folder_ / "ep/one/libdep.so");
  write("ep/two/libdep.so", elf_bytes({}));
  plugin({.needed = {"libdep.so"}, .runpath = "$ORIGIN/one:$ORIGIN/two"});
  EXPECT_THAT(paths(), Contains(folder_ / "ep/two/libdep.so"));
}

TEST_F(Libraries, DotDotBehindALinkMeansWhatTheKernelSays) {
  write("real/deep/plugin.so", elf_bytes({.needed = {"libdep.so"}, .runpath = "$ORIGIN/../lib"}));
  write("real/lib/libdep.so", elf_bytes({.filler = "right"}));
  write("lib/libdep.so", elf_bytes({.filler = "wrong"}));
  stdfs::create_directory_symlink("real/deep", folder_ / "ep");
  settings_.target.ep.found.library = folder_ / "ep/plugin.so";
  bool right = false;
  for (const auto& path : paths()) right = right || stdfs::canonical(path) == folder_ / "real/lib/libdep.so";
  EXPECT_TRUE(right);
}

TEST_F(Libraries, TablePatternsOptionLibrariesAndExtraFilesAreIn) {
  settings_.target.ep.found.spec = ort::find_ep("qnn");
  plugin({});
  write("ep/libQnnSystem.so", elf_bytes({.filler = "sys"}));
  write("ep/libQnnHtpV73Skel.so",
        "\x7f"
        "ELF\x01\x01 a library of the DSP");
  write("ep/readme.txt", "no part of it");
  const stdfs::path backend =
      write("elsewhere/libMyBackend.so", elf_bytes({.needed = {"libmore.so"}, .rpath = "$ORIGIN"}));
  write("elsewhere/libmore.so", elf_bytes({.filler = "more"}));
  settings_.target.provider_options["backend_path"] = backend.string();
  settings_.extra_files = {write("tables/tune.bin", "tuning")};
  EXPECT_THAT(names(), UnorderedElementsAre("libonnxruntime.so.1", "plugin.so", "libQnnSystem.so",
                                            "libQnnHtpV73Skel.so", "libMyBackend.so", "libmore.so", "tune.bin"));
}

TEST_F(Libraries, BareOptionLibraryIsFoundBesideThePluginAndElseNamed) {
  settings_.target.ep.found.spec = ort::find_ep("qnn");
  plugin({});
  write("ep/myBackend.so", elf_bytes({.filler = "backend"}));
  settings_.target.provider_options["backend_path"] = "myBackend.so";
  EXPECT_THAT(names(), Contains("myBackend.so"));
  settings_.target.provider_options["backend_path"] = "QnnHtp.dll";
  const auto evidence = take_library_evidence(fs_, digester_, settings_);
  ASSERT_FALSE(evidence);
  EXPECT_EQ(evidence.error().code, ErrorCode::bad_input);
  EXPECT_THAT(evidence.error().message, AllOf(HasSubstr("backend_path"), HasSubstr("QnnHtp.dll")));
}

TEST_F(Libraries, BuiltInEpIsOrtsLibrary) {
  settings_.target.ep.found.library.clear();
  EXPECT_THAT(names(), ElementsAre("libonnxruntime.so.1"));
}

TEST_F(Libraries, MissingPluginAndBrokenLibraryAreErrorsThatNameThem) {
  EXPECT_THAT(take_library_evidence(fs_, digester_, settings_).error().message, HasSubstr("plugin.so"));
  plugin({.needed = {"libdep.so"}, .runpath = "$ORIGIN"});
  write("ep/libdep.so", elf_bytes({}).substr(0, 80));
  EXPECT_THAT(take_library_evidence(fs_, digester_, settings_).error().message, HasSubstr("libdep.so"));
}

TEST_F(Libraries, WarmReadsNothingAndAsksTheDigesterTwice) {
  plugin({.needed = {"libdep.so"}, .runpath = "$ORIGIN/sub"});
  write("ep/sub/libdep.so", elf_bytes({.needed = {"libdeep.so"}, .rpath = "$ORIGIN/../deep"}));
  write("ep/deep/libdeep.so", elf_bytes({.filler = "deep"}));
  const std::vector<std::string> cold = names();
  ASSERT_EQ(cold.size(), 4U);
  ASSERT_EQ(digester_.facts_.size(), 1U);
  fs_.reset();
  digester_.groups_.clear();
  EXPECT_EQ(names(), cold);
  const fs::CallCounts counts = fs_.counts();
  EXPECT_TRUE(counts.bytes_read.empty());
  EXPECT_EQ(counts.calls.count("open"), 0U);
  EXPECT_THAT(digester_.groups_,
              ElementsAre("ep:" + (folder_ / "ep/plugin.so").string(), "ep:" + (folder_ / "ep/plugin.so").string()));
  EXPECT_LE(counts.total(), 4U);  // two listings, one look at a path with ".."
}

TEST_F(Libraries, ReplacedBetweenDigestAndHeaderIsNoticedAndNothingRemembered) {
  plugin({.needed = {"libdep.so"}, .runpath = "$ORIGIN"});
  write("ep/libdep.so", elf_bytes({.filler = "old"}));
  digester_.after_digest_ = [&] {
    write("ep/new", elf_bytes({.filler = "new"}));
    stdfs::rename(folder_ / "ep/new", folder_ / "ep/plugin.so");
  };
  const auto evidence = take_library_evidence(fs_, digester_, settings_);
  ASSERT_FALSE(evidence);
  EXPECT_EQ(evidence.error().code, ErrorCode::busy);
  EXPECT_THAT(evidence.error().message, HasSubstr("plugin.so"));
  EXPECT_TRUE(digester_.facts_.empty());
}

TEST_F(Libraries, ReplacedDependencyIsFollowedToItsNewNeeds) {
  plugin({.needed = {"libdep.so"}, .runpath = "$ORIGIN"});
  write("ep/libdep.so", elf_bytes({.needed = {"libold.so"}, .rpath = "$ORIGIN"}));
  write("ep/libold.so", elf_bytes({.filler = "old"}));
  write("ep/libnew.so", elf_bytes({.filler = "new"}));
  EXPECT_THAT(names(), AllOf(Contains("libold.so"), Not(Contains("libnew.so"))));
  write("ep/libdep.so", elf_bytes({.needed = {"libnew.so"}, .rpath = "$ORIGIN"}));
  for (int run = 0; run < 2; ++run) {
    EXPECT_THAT(names(), AllOf(Contains("libnew.so"), Not(Contains("libold.so")))) << run;
  }
}

TEST(SystemFolders, AreTheLinkersOwnOnly) {
  for (const char* folder : {"/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/./."}) {
    EXPECT_TRUE(is_system_folder(folder)) << folder;
  }
  for (const char* folder : {"/usr/lib/python3", "/usr/local/lib", "/opt/lib", "/usr/lib/x86_64-linux-gnu/openvino"}) {
    EXPECT_FALSE(is_system_folder(folder)) << folder;
  }
}

// ---- the real EPs ---------------------------------------------------------------------------------------------------

const stdfs::path kDeps = PRECAST_DEPS_DIR;

stdfs::path real_ort() {
  for (const auto& entry : stdfs::directory_iterator(kDeps / "ort/lib")) {
    if (entry.is_regular_file() && entry.path().filename().string().starts_with("libonnxruntime.so"))
      return entry.path();
  }
  return {};
}

class RealEps : public TempFolder {
 protected:
  Result<std::vector<FileEvidence>> take(const char* alias, const stdfs::path& plugin) {
    Settings settings = plain_settings(real_ort(), plugin);
    settings.target.ep.found.spec = ort::find_ep(alias);
    settings.environment = environment_;
    return take_library_evidence(fs_, digester_, settings);
  }
  std::vector<std::pair<std::string, std::string>> environment_;
  fs::CountingFileSystem fs_{fs::FileSystem::posix()};
  RecordingDigester digester_{fs::FileSystem::posix()};
};

TEST_F(RealEps, QnnBringsItsOwnCxxLibrary) {
  const auto evidence = take("qnn", kDeps / "eps/qnn/onnxruntime_qnn/libonnxruntime_providers_qnn.so");
  ASSERT_TRUE(evidence) << evidence.error().message;
  const std::vector<std::string> names = names_of(*evidence);
  EXPECT_THAT(names, AllOf(Contains("libQnnHtp.so"), Contains("libHtpPrepare.so"), Contains("libQnnSystem.so"),
                           Contains("libonnxruntime_providers_qnn.so")));
  for (const char* glob : {"libc++-", "libc++abi-", "libunwind-"}) {
    EXPECT_TRUE(std::any_of(evidence->begin(), evidence->end(), [&](const FileEvidence& one) {
      return one.path.parent_path() == kDeps / "eps/qnn/onnxruntime_qnn.libs" &&
             one.path.filename().string().starts_with(glob);
    })) << glob;
  }
  EXPECT_THAT(names, Not(Contains("libc.so.6")));
}

TEST_F(RealEps, OpenVinoBringsPluginsTbbAndTuning) {
  const stdfs::path plugin = kDeps / "eps/openvino/onnxruntime_ep_openvino/libonnxruntime_providers_openvino_plugin.so";
  const auto cold = take("openvino", plugin);
  ASSERT_TRUE(cold) << cold.error().message;
  const std::vector<std::string> names = names_of(*cold);
  EXPECT_THAT(names, AllOf(Contains("libopenvino_intel_cpu_plugin.so"), Contains(HasSubstr("libopenvino.so.")),
                           Contains(HasSubstr("libopenvino_onnx_frontend.so.")), Contains(HasSubstr("libtbb.so.")),
                           Contains(HasSubstr("libhwloc.so.")), Contains("cache.json")));
  EXPECT_THAT(names, Not(Contains("libstdc++.so.6")));
  digester_.from_memory_ = true;
  fs_.reset();
  const auto warm = take("openvino", plugin);
  ASSERT_TRUE(warm);
  EXPECT_EQ(*warm, *cold);
  EXPECT_TRUE(fs_.counts().bytes_read.empty());
  EXPECT_LE(fs_.counts().total(), 3U);
}

TEST_F(RealEps, LibraryPathOverridesARunpath) {
  write("override/libopenvino.so.2641", elf_bytes({.filler = "mine"}));
  const stdfs::path plugin = kDeps / "eps/openvino/onnxruntime_ep_openvino/libonnxruntime_providers_openvino_plugin.so";
  const auto real = read_elf(fs::FileSystem::posix(), plugin);
  ASSERT_TRUE(real);
  for (const std::string& name : real->facts.needed) write("override/" + name, elf_bytes({.filler = name}));
  environment_ = {{"LD_LIBRARY_PATH", (folder_ / "override").string()}};
  const auto evidence = take("openvino", plugin);
  ASSERT_TRUE(evidence) << evidence.error().message;
  EXPECT_TRUE(std::any_of(evidence->begin(), evidence->end(), [&](const FileEvidence& one) {
    return one.path.parent_path() == folder_ / "override" && one.path.filename().string().starts_with("libopenvino.so");
  }));
}

}  // namespace
}  // namespace precast::identity::test
