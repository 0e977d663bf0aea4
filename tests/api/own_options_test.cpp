// Session options of the caller's own, and compiling in the caller's process.
#include <algorithm>

#include <unistd.h>

#include "api/support.hpp"

namespace precast {
namespace {

using ::testing::HasSubstr;
using testing::Library;
using testing::values_of;
namespace stdfs = std::filesystem;

class OwnOptions : public Library {
 protected:
  // Those whose profile lies under this prefix afterwards.
  Ort::SessionOptions profiling(const std::string& prefix) {
    Ort::SessionOptions options = plain();
    options.EnableProfiling((folder_ / prefix).c_str());
    return options;
  }
  static Ort::SessionOptions plain() {
    (void)testing::runtime();  // ORT must be there first
    return {};
  }
  bool has_profile(const std::string& prefix) const {
    return std::ranges::any_of(stdfs::directory_iterator(folder_.path()), [&](const stdfs::directory_entry& entry) {
      return entry.path().filename().string().starts_with(prefix);
    });
  }
  std::size_t here(std::string_view event) const {
    const auto lines = testing::read_trace(trace());
    return static_cast<std::size_t>(std::ranges::count_if(
        lines, [&](const testing::TraceLine& line) { return line.event == event && line.pid == ::getpid(); }));
  }
  std::size_t stored() const {
    const stdfs::path keys = folder_ / "store" / "keys";
    if (!stdfs::exists(keys)) return 0;
    return static_cast<std::size_t>(std::ranges::count_if(
        stdfs::recursive_directory_iterator(keys),
        [](const stdfs::directory_entry& entry) { return entry.path().filename().string().starts_with("marker"); }));
  }
};

TEST_F(OwnOptions, CompileInThisProcessForThisSessionAlone) {
  const auto path = model();
  Session one(cache(), path, on_fake_ep(), plain());
  ASSERT_TRUE(one.open()) << one.open().error().message;
  EXPECT_EQ(one.outcome(), Outcome::uncached);
  EXPECT_THAT(one.reason(), HasSubstr("session options"));
  EXPECT_NE(one.running_path(), path);
  EXPECT_EQ(here("compile_begin"), 1U);
  EXPECT_EQ(stored(), 0U);
  const stdfs::path running = one.running_path();
  const auto before = values_of(*one.run(inputs(one)));
  const auto window = one.perf_window({}, [&](Session& inside) -> Result<void> {
    EXPECT_EQ(inside.running_path(), running);
    EXPECT_TRUE(inside.run(inputs(inside)));
    return {};
  });
  ASSERT_TRUE(window) << window.error().message;
  EXPECT_EQ(values_of(*one.run(inputs(one))), before);
  EXPECT_EQ(events("compile_begin"), 1U) << "three opens, one compile";
  one.reset();
  EXPECT_FALSE(stdfs::exists(running));
}

TEST_F(OwnOptions, AreNotWhatAnotherSessionGets) {
  const auto path = model();
  Session own(cache(), path, on_fake_ep(), plain());
  ASSERT_TRUE(own.open());
  Session other(cache(), path, on_fake_ep());
  ASSERT_TRUE(other.open());
  EXPECT_EQ(other.outcome(), Outcome::compiled);
  EXPECT_EQ(events("compile_begin"), 2U);
  EXPECT_EQ(here("compile_begin"), 1U);
  Session again(cache(), path, on_fake_ep(), plain());
  ASSERT_TRUE(again.open());
  EXPECT_EQ(again.outcome(), Outcome::uncached) << "a stored one is not looked for";
}

TEST_F(OwnOptions, ReachOrtAndAreNotChanged) {
  const Ort::SessionOptions own = profiling("profile");
  {
    Session one(cache(), model(), on_fake_ep(), own);
    ASSERT_TRUE(one.open()) << one.open().error().message;
    ASSERT_TRUE(one.run(inputs(one)));
  }
  EXPECT_TRUE(has_profile("profile"));
  EXPECT_FALSE(own.HasConfigEntry("session.disable_model_compile"));
  EXPECT_FALSE(own.HasConfigEntry("ep.context_file_path"));
}

TEST_F(OwnOptions, AreThereWhenTheSourceRuns) {
  ::setenv("FAKE_EP_FAULT", "fail@compile_after_write", 1);
  const auto path = model();
  const auto refused = cache().resolve(path, on_fake_ep(), plain());
  ::unsetenv("FAKE_EP_FAULT");
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_EQ(refused->outcome(), Outcome::failed);
  EXPECT_EQ(refused->path(), path);
  CompileOptions cpu;
  cpu.ep = "cpu";
  {
    Session source(cache(), path, cpu, profiling("cpu-profile"));
    ASSERT_TRUE(source.open());
    EXPECT_EQ(source.running_path(), path);
  }
  EXPECT_TRUE(has_profile("cpu-profile"));
}

TEST_F(OwnOptions, ServeAModelInMemoryAsWell) {
  const std::string text = testing::read_file(model());
  const ModelBytes bytes{std::as_bytes(std::span(text)), {}};
  Session one(cache(), bytes, on_fake_ep(), plain());
  ASSERT_TRUE(one.open()) << one.open().error().message;
  EXPECT_EQ(one.outcome(), Outcome::uncached);
  EXPECT_EQ(here("compile_begin"), 1U);
  EXPECT_TRUE(one.run(inputs(one)));
  const auto answer = cache().resolve(bytes, on_fake_ep(), plain());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->compiled());
  EXPECT_EQ(stored(), 0U);
}

// The compile's level is not the one at which a source session runs: that has ORT's own, which joins MatMul and Add.
TEST_F(OwnOptions, ASourceSessionHasOrtsDefaultLevel) {
  Ort::SessionOptions own = plain();
  const stdfs::path optimized = folder_ / "optimized.onnx";
  own.SetOptimizedModelFilePath(optimized.c_str());
  CompileOptions cpu;
  cpu.ep = "cpu";
  cpu.optimization_level = 0;
  Session source(cache(), model(), cpu, own);
  ASSERT_TRUE(source.open()) << source.open().error().message;
  EXPECT_THAT(testing::read_file(optimized), HasSubstr("Gemm"));
}

TEST_F(OwnOptions, AnAnswerOwnsWhatWasCompiledForIt) {
  stdfs::path compiled;
  {
    const auto answer = cache().resolve(model(), on_fake_ep(), plain());
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_TRUE(answer->compiled());
    EXPECT_EQ(answer->outcome(), Outcome::uncached);
    compiled = answer->path();
    EXPECT_TRUE(stdfs::exists(compiled));
  }
  EXPECT_FALSE(stdfs::exists(compiled));
}

class InProcess : public OwnOptions {
 protected:
  InProcess() { ::setenv("PRECAST_WORKER", "/nonexistent/precast-worker", 1); }
  static CompileOptions here_on_fake_ep() {
    CompileOptions options = on_fake_ep();
    options.isolation = Isolation::in_process;
    return options;
  }
};

TEST_F(InProcess, CompilesWithoutAWorkerAndIsStored) {
  const auto path = model();
  const auto first = cache().resolve(path, here_on_fake_ep());
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->outcome(), Outcome::compiled) << first->reason();
  EXPECT_EQ(here("compile_begin"), 1U);
  const auto second = cache().resolve(path, here_on_fake_ep());
  EXPECT_EQ(second->outcome(), Outcome::hit);
  EXPECT_EQ(second->generation(), first->generation());
  EXPECT_EQ(events("compile_begin"), 1U);
}

TEST_F(InProcess, IsAnIdentityOfItsOwn) {
  const auto path = model();
  const auto in_process = cache().resolve(path, here_on_fake_ep());
  ::setenv("PRECAST_WORKER", (stdfs::path(PRECAST_BINARY_DIR) / "bin" / "precast-worker").c_str(), 1);
  const auto isolated = cache().resolve(path, on_fake_ep());
  ASSERT_TRUE(in_process && isolated);
  EXPECT_NE(in_process->key(), isolated->key());
  EXPECT_EQ(isolated->outcome(), Outcome::compiled);
}

TEST_F(InProcess, WhatFailsGivesTheSourceAndIsRemembered) {
  ::setenv("FAKE_EP_FAULT", "fail@compile", 1);
  const auto path = model();
  const auto failed = cache().resolve(path, here_on_fake_ep());
  ::unsetenv("FAKE_EP_FAULT");
  ASSERT_TRUE(failed) << failed.error().message;
  EXPECT_EQ(failed->outcome(), Outcome::failed);
  EXPECT_EQ(failed->path(), path);
  const auto again = cache().resolve(path, here_on_fake_ep());
  EXPECT_EQ(again->outcome(), Outcome::failed);
  EXPECT_THAT(again->reason(), HasSubstr("remembered"));
  EXPECT_EQ(events("compile_begin"), 1U);
}

TEST_F(InProcess, NothingToCompileIsItsOwnOutcome) {
  CompileOptions options = here_on_fake_ep();
  options.provider_options = {{"claim", "none"}};
  const auto nothing = cache().resolve(model(), options);
  ASSERT_TRUE(nothing) << nothing.error().message;
  EXPECT_EQ(nothing->outcome(), Outcome::nothing_to_compile) << nothing->reason();
}

TEST_F(InProcess, WhatComputesSomethingElseIsNotUsed) {
  CompileOptions options = here_on_fake_ep();
  options.validate = true;
  const auto path = model();
  const auto good = cache().resolve(path, options);
  ASSERT_TRUE(good);
  EXPECT_EQ(good->outcome(), Outcome::compiled);
  EXPECT_THAT(good->validation(), HasSubstr("agrees"));
  options.provider_options = {{"output_scale", "-1"}};
  const auto bad = cache().resolve(path, options);
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->outcome(), Outcome::failed);
  EXPECT_THAT(bad->reason(), HasSubstr("computes something else"));
}

// A bad run-time option must not destroy a good entry, and no worker is there to ask.
TEST_F(InProcess, ARefusedHitIsLookedAtHere) {
  const auto path = model();
  ASSERT_TRUE(cache().resolve(path, here_on_fake_ep()));
  CompileOptions odd = here_on_fake_ep();
  odd.session_options = {{"session.intra_op_thread_affinities", "nonsense"}};
  Session one(cache(), path, odd);
  const auto opened = one.open();
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("ffinit"));
  EXPECT_EQ(cache().resolve(path, here_on_fake_ep())->outcome(), Outcome::hit);
}

}  // namespace
}  // namespace precast
