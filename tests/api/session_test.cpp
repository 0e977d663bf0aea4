#include <algorithm>
#include <array>
#include <fstream>

#include <unistd.h>

#include "api/support.hpp"

namespace precast {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using testing::Folder;
using ::testing::HasSubstr;
using testing::Library;
using testing::runtime;
using testing::values_of;
namespace stdfs = std::filesystem;

TEST_F(Library, RuntimeNamesItselfAndItsEps) {
  EXPECT_THAT(runtime().version(), HasSubstr("1."));
  EXPECT_TRUE(runtime().library().is_absolute());
  const auto eps = runtime().eps();
  ASSERT_TRUE(eps);
  const auto fake = std::ranges::find(*eps, "fake_ep", &EpInfo::name);
  ASSERT_NE(fake, eps->end());
  EXPECT_EQ(fake->source, "explicit");
  EXPECT_TRUE(fake->makes_compiled_models);
  ASSERT_EQ(fake->devices.size(), 1U);
  EXPECT_EQ(fake->devices[0].device_class, "cpu");
  const auto cpu = std::ranges::find(*eps, "CPUExecutionProvider", &EpInfo::name);
  ASSERT_NE(cpu, eps->end());
  EXPECT_FALSE(cpu->makes_compiled_models);
}

TEST_F(Library, ASecondOnnxRuntimeIsRefused) {
  RuntimeOptions other;
  other.ort_library = folder_ / "libonnxruntime.so.1";
  stdfs::copy_file(runtime().library(), other.ort_library);
  const auto loaded = Runtime::load(other);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::bad_input);
}

TEST_F(Library, AMissThenAHitWithItsLease) {
  const auto path = model();
  const auto first = cache().resolve(path, on_fake_ep());
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->outcome(), Outcome::compiled);
  EXPECT_TRUE(first->compiled());
  EXPECT_EQ(first->ep(), "fake_ep");
  EXPECT_EQ(first->device(), "cpu");
  EXPECT_EQ(first->artifacts().front().path, "model.onnx");
  EXPECT_TRUE(stdfs::exists(first->path()));
  const auto second = cache().resolve(path, on_fake_ep());
  ASSERT_TRUE(second);
  EXPECT_EQ(second->outcome(), Outcome::hit);
  EXPECT_EQ(second->key(), first->key());
  EXPECT_EQ(second->generation(), first->generation());
  EXPECT_EQ(second->reason(), "");
  EXPECT_EQ(events("compile_begin"), 1U);
}

TEST_F(Library, AStoreThatCannotBeUsedIsAnErrorOnlyWhenStrict) {
  std::ofstream(folder_ / "file") << "no folder";
  CacheOptions options;
  options.root = folder_ / "file";
  const auto opened = CompileCache::open(runtime(), options);
  ASSERT_TRUE(opened);
  EXPECT_THAT(opened->problem(), HasSubstr("is not a folder"));
  const auto path = model();
  const auto answer = opened->resolve(path, on_fake_ep());
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->outcome(), Outcome::uncached);
  EXPECT_EQ(answer->path(), path);
  options.strict = true;
  EXPECT_FALSE(CompileCache::open(runtime(), options));
}

TEST_F(Library, AStopEndsACompile) {
  ::setenv("FAKE_EP_FAULT", "hang@compile", 1);
  std::stop_source stop;
  CacheOptions options;
  options.root = folder_ / "store";
  options.stop = stop.get_token();
  const auto opened = CompileCache::open(runtime(), options);
  ASSERT_TRUE(opened);
  const auto path = model();
  std::thread asks([&] {
    EXPECT_TRUE(testing::wait_for_event(trace(), "hang"));
    stop.request_stop();
  });
  const auto answer = opened->resolve(path, on_fake_ep());
  asks.join();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::cancelled);
}

TEST_F(Library, BadOptionsAreNamed) {
  CompileOptions options = on_fake_ep();
  options.device = "tpu";
  const auto answer = cache().resolve(model(), options);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::bad_input);
  EXPECT_THAT(answer.error().message, HasSubstr("'tpu'"));
  options = on_fake_ep();
  options.ep = "no_such_ep";
  EXPECT_THAT(cache().resolve(model(), options).error().message, HasSubstr("no_such_ep"));
}

TEST_F(Library, ASessionSaysWhatItIsBeforeAndAfterOpening) {
  Session one = session();
  EXPECT_FALSE(one.is_open());
  EXPECT_EQ(one.ep(), "");
  EXPECT_EQ(one.running_path(), stdfs::path());
  EXPECT_FALSE(one.outcome());
  ASSERT_TRUE(one.open());
  ASSERT_TRUE(one.open()) << "opening what is open does nothing";
  EXPECT_EQ(events("compile_begin"), 1U);
  EXPECT_EQ(one.ep(), "fake_ep");
  EXPECT_EQ(one.device(), "cpu");
  EXPECT_EQ(one.outcome(), Outcome::compiled);
  EXPECT_THAT(one.running_path().native(), HasSubstr("/generations/"));
  ASSERT_EQ(one.inputs().size(), 1U);
  EXPECT_EQ(one.inputs().front().dtype, "float32");
  EXPECT_EQ(one.inputs().front().shape, (std::vector<std::int64_t>{1, 8}));
  EXPECT_EQ(one.inputs().front().dimensions.size(), 2U);
  EXPECT_EQ(one.outputs().size(), 1U);
  one.reset();
  EXPECT_TRUE(one.inputs().empty());
}

TEST_F(Library, ASessionCountsNodesWhenAskedTo) {
  CompileOptions options = on_fake_ep();
  options.count_nodes = true;
  Session counts = session(options);
  EXPECT_TRUE(counts.provider_nodes().empty());
  ASSERT_TRUE(counts.open());
  const std::map<std::string, std::uint64_t> expected{{"fake_ep", 1}};
  EXPECT_EQ(counts.provider_nodes(), expected);
  ASSERT_TRUE(counts.perf_window({}, [](Session&) -> Result<void> { return {}; }));
  EXPECT_EQ(counts.provider_nodes(), expected);
  Session plain = session();
  ASSERT_TRUE(plain.open());
  EXPECT_TRUE(plain.provider_nodes().empty());
  CompileOptions cpu = options;
  cpu.ep = "cpu";
  Session source = session(cpu);
  ASSERT_TRUE(source.open());
  EXPECT_TRUE(source.provider_nodes().contains("CPUExecutionProvider"));
}

TEST_F(Library, RunGivesWhatTheSourceGives) {
  Session compiled = session();
  ASSERT_TRUE(compiled.open());
  const auto on_ep = compiled.run(inputs(compiled));
  ASSERT_TRUE(on_ep) << on_ep.error().message;
  CompileOptions cpu;
  cpu.ep = "cpu";
  Session source = session(cpu);
  ASSERT_TRUE(source.open());
  EXPECT_EQ(source.outcome(), Outcome::nothing_to_compile);
  const auto on_cpu = source.run(inputs(source));
  ASSERT_TRUE(on_cpu) << on_cpu.error().message;
  const auto a = values_of(*on_ep);
  const auto b = values_of(*on_cpu);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
}

TEST_F(Library, WrongInputsAreNamed) {
  Session one = session();
  ASSERT_TRUE(one.open());
  const std::string name = one.inputs().front().name;
  const auto refused = [&](const Tensors& given) {
    const auto outputs = one.run(given);
    EXPECT_FALSE(outputs);
    EXPECT_EQ(outputs.error().code, ErrorCode::bad_input);
    return outputs.error().message;
  };
  EXPECT_THAT(refused({}), HasSubstr("no inputs"));
  Tensors extra = inputs(one);
  extra.emplace("surprise", Ort::Value(nullptr));
  EXPECT_THAT(refused(extra), HasSubstr("'surprise'"));
  EXPECT_THAT(refused(inputs(one, {2, 4})), AllOf(HasSubstr(name), HasSubstr("[2, 4]"), HasSubstr("[1, 8]")));
  Tensors wrong;
  std::vector<std::int64_t> integers(8);
  const std::array<std::int64_t, 2> shape{1, 8};
  wrong.emplace(name,
                Ort::Value::CreateTensor<std::int64_t>(Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault),
                                                       integers.data(), integers.size(), shape.data(), shape.size()));
  EXPECT_THAT(refused(wrong), AllOf(HasSubstr(name), HasSubstr("int64"), HasSubstr("float32")));
  Tensors empty;
  empty.emplace(name, Ort::Value(nullptr));
  EXPECT_THAT(refused(empty), HasSubstr(name));
}

TEST_F(Library, AfterAnErrorEverythingIsThatErrorUntilReset) {
  CompileOptions options = on_fake_ep();
  Session one(cache(), folder_ / "missing.onnx", options);
  const auto opened = one.open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::not_found);
  testing::make_model(folder_ / "missing.onnx");
  EXPECT_FALSE(one.open());
  EXPECT_EQ(one.run({}).error().code, ErrorCode::not_found);
  EXPECT_TRUE(one.inputs().empty());
  one.reset();
  EXPECT_TRUE(one.open());
}

TEST_F(Library, ResetGivesTheLeaseBack) {
  Session one = session();
  ASSERT_TRUE(one.open());
  const stdfs::path running = one.running_path();
  one.reset();
  EXPECT_FALSE(one.is_open());
  CompileOptions rebuild = on_fake_ep();
  rebuild.rebuild = true;
  ASSERT_TRUE(cache().resolve(folder_ / "model.onnx", rebuild));
  EXPECT_FALSE(stdfs::exists(running)) << "retention takes what nobody holds";
}

TEST_F(Library, APrivateGenerationGoesAtResetAndSurvivesAPerfWindow) {
  CompileOptions options = on_fake_ep();
  options.no_cache = true;
  Session one = session(options);
  ASSERT_TRUE(one.open());
  const stdfs::path running = one.running_path();
  EXPECT_EQ(one.outcome(), Outcome::uncached);
  EXPECT_NE(running, folder_ / "model.onnx");
  const auto window = one.perf_window({}, [&](Session& inside) -> Result<void> {
    EXPECT_EQ(inside.running_path(), running);
    return {};
  });
  ASSERT_TRUE(window) << window.error().message;
  EXPECT_TRUE(stdfs::exists(running));
  EXPECT_EQ(events("compile_begin"), 1U) << "three opens, one compile";
  one.reset();
  EXPECT_FALSE(stdfs::exists(running));
}

TEST_F(Library, APerfWindowMeasuresWithItsOptionsAndRestoresTheSessionsOwn) {
  Session one = session();
  ASSERT_TRUE(one.open());
  const auto before = values_of(*one.run(inputs(one)));
  const stdfs::path running = one.running_path();
  PerfOptions options;
  options.session_options = {{"session.intra_op.allow_spinning", "0"}};
  options.warmup = 2;
  const auto statistics = one.perf_window(options, [&](Session& inside) -> Result<void> {
    for (int i = 0; i < 5; ++i) {
      const auto outputs = inside.run(inputs(inside));
      if (!outputs) return std::unexpected(outputs.error());
    }
    EXPECT_EQ(inside.running_path(), running);
    const auto nested = inside.perf_window({}, [](Session&) -> Result<void> { return {}; });
    EXPECT_FALSE(nested);
    return {};
  });
  ASSERT_TRUE(statistics) << statistics.error().message;
  EXPECT_EQ(statistics->run_ms.size(), 3U) << "warm-ups do not count";
  EXPECT_THAT(statistics->run_ms, Each(::testing::Gt(0.0)));
  EXPECT_EQ(values_of(*one.run(inputs(one))), before);
  // Create, release, create, ...: never two alive at once in this process.
  int alive = 0;
  for (const testing::TraceLine& line : testing::read_trace(trace())) {
    if (line.pid != ::getpid()) continue;
    if (line.event == "create_ep") ++alive;
    if (line.event == "release") --alive;
    EXPECT_LE(alive, 1);
  }
}

TEST_F(Library, AFailingPerfWindowRestoresTheSession) {
  Session one = session();
  ASSERT_TRUE(one.open());
  const auto failed = one.perf_window({}, [](Session&) { return Result<void>(fail(ErrorCode::io, "my own trouble")); });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "my own trouble");
  EXPECT_TRUE(one.run(inputs(one)));
  EXPECT_THROW((void)one.perf_window({}, [](Session&) -> Result<void> { throw std::runtime_error("thrown"); }),
               std::runtime_error);
  EXPECT_TRUE(one.run(inputs(one)));
  PerfOptions bad;
  bad.session_options = {{"session.intra_op_thread_affinities", "nonsense"}};
  EXPECT_FALSE(one.perf_window(bad, [](Session&) -> Result<void> { return {}; }));
  EXPECT_TRUE(one.run(inputs(one)));
}

TEST_F(Library, TheCallersOptionsAreNotChanged) {
  CompileOptions options = on_fake_ep();
  options.session_options = {{"session.intra_op.allow_spinning", "0"}};
  const CompileOptions copy = options;
  Session one = session(options);
  ASSERT_TRUE(one.open());
  EXPECT_EQ(options.session_options, copy.session_options);
  EXPECT_EQ(options.provider_options, copy.provider_options);
}

TEST_F(Library, AResetInsideAPerfWindowLeavesTheSessionReset) {
  Session one = session();
  ASSERT_TRUE(one.open());
  const auto window = one.perf_window({}, [](Session& inside) -> Result<void> {
    inside.reset();
    return {};
  });
  EXPECT_TRUE(window) << window.error().message;
  EXPECT_FALSE(one.is_open());
  ASSERT_TRUE(one.open());
  EXPECT_THROW((void)one.perf_window({},
                                     [](Session& inside) -> Result<void> {
                                       inside.reset();
                                       throw std::runtime_error("thrown");
                                     }),
               std::runtime_error);
  EXPECT_TRUE(one.open());
  EXPECT_TRUE(one.run(inputs(one)));
}

}  // namespace
}  // namespace precast
