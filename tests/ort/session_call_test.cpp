#include "ort/session_call.hpp"

#include <array>
#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>

#include <gmock/gmock.h>

#include "model_generator/model_generator.hpp"
#include "ort/support.hpp"

namespace precast::ort {
namespace {

using model_generator::Kind;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using tests::checkout_eps;
using tests::disk;
using tests::runtime;
using tests::TempFolder;
using tests::text_of;

using Options = std::map<std::string, std::string>;

const Options kSnapdragon = {{"soc_model", "60"}, {"htp_arch", "73"}};

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

class SessionCall : public testing::Test {
 protected:
  Target target(const std::string& ep) {
    const Options options = ep == "qnn" ? kSnapdragon : Options{};
    auto chosen = catalog_.choose(disk(), TargetRequest{ep, {}, options}, {});
    EXPECT_TRUE(chosen) << text_of(chosen.error());
    return chosen.value_or(Target{});
  }
  std::filesystem::path model(Kind kind, const std::string& name = "model.onnx") {
    model_generator::Options options;
    options.kind = kind;
    options.output = temp_ / name;
    const auto made = model_generator::generate(options);
    EXPECT_TRUE(made) << text_of(made.error());
    return options.output;
  }
  // 1 x 8 floats through a session: y(0).
  static float run(Ort::Session& session) {
    std::array<float, 8> x = {1, 2, 3, 4, 5, 6, 7, 8};
    const std::array<std::int64_t, 2> shape = {1, 8};
    const auto memory = Ort::MemoryInfo::CreateCpu(OrtArenaAllocator, OrtMemTypeDefault);
    const Ort::Value input = Ort::Value::CreateTensor<float>(memory, x.data(), x.size(), shape.data(), shape.size());
    const Ort::AllocatorWithDefaultOptions allocator;
    const auto in = session.GetInputNameAllocated(0, allocator);
    const auto out = session.GetOutputNameAllocated(0, allocator);
    const std::array<const char*, 1> ins = {in.get()};
    const std::array<const char*, 1> outs = {out.get()};
    auto values = session.Run(Ort::RunOptions{}, ins.data(), &input, 1, outs.data(), 1);
    float sum = 0;
    for (std::size_t i = 0; i < 8; ++i) sum += values.at(0).GetTensorData<float>()[i];
    return sum;
  }

  TempFolder temp_;
  Catalog catalog_{runtime(), checkout_eps()};
};

class RealEp : public SessionCall, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Eps, RealEp, testing::Values("openvino", "qnn"),
                         [](const auto& ep) { return std::string(ep.param); });

TEST_P(RealEp, compiles_and_opens_what_it_compiled) {
  const Target bound = target(GetParam());
  const auto source = model(Kind::tiny);
  std::filesystem::create_directory(temp_ / "out");
  const auto output = temp_ / "out/model.onnx";
  const auto compiled = compile_model(catalog_, bound, {}, {.model = source, .output = output});
  ASSERT_TRUE(compiled) << text_of(compiled.error());
  EXPECT_GT(std::distance(std::filesystem::directory_iterator(temp_ / "out"), {}), 1);  // with its binary

  std::filesystem::remove(source);
  auto opened = open_session(
      catalog_, bound, {}, {.model = output, .compiled = true, .want_node_counts = true, .forbid_cpu_fallback = true});
  ASSERT_TRUE(opened) << text_of(opened.error());
  EXPECT_THAT(opened->provider_nodes, ElementsAre(Pair(bound.ep.found.name, 1U)));
}

TEST_P(RealEp, computes_what_the_cpu_ep_computes) {
  const Target bound = target(GetParam());
  const auto source = model(Kind::tiny);
  const auto output = temp_ / "out.onnx";
  const auto made = compile_model(catalog_, bound, {}, {.model = source, .output = output, .embed = true});
  ASSERT_TRUE(made) << text_of(made.error());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(temp_.path()), {}), 2);  // embedded: no binary
  auto compiled = open_session(catalog_, bound, {}, {.model = output, .compiled = true});
  auto reference = open_session(catalog_, target("cpu"), {}, {.model = source});
  ASSERT_TRUE(compiled) << text_of(compiled.error());
  ASSERT_TRUE(reference) << text_of(reference.error());
  EXPECT_NEAR(run(compiled->session), run(reference->session), 0.1);
}

TEST_P(RealEp, tells_that_it_runs_no_node_from_a_failure) {
  const auto source = model(Kind::unsupported);
  const auto compiled = compile_model(catalog_, target(GetParam()), {}, {.model = source, .output = temp_ / "o.onnx"});
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, ErrorCode::unsupported) << text_of(compiled.error());
  EXPECT_EQ(compiled.error().path, source);
  EXPECT_FALSE(std::filesystem::exists(temp_ / "o.onnx"));
}

TEST_P(RealEp, compiles_every_partition) {
  const Target bound = target(GetParam());
  const auto source = model(Kind::two_partition);
  const auto output = temp_ / "out.onnx";
  const auto compiled = compile_model(catalog_, bound, {}, {.model = source, .output = output});
  ASSERT_TRUE(compiled) << text_of(compiled.error());
  const auto opened = open_session(catalog_, bound, {}, {.model = output, .compiled = true, .want_node_counts = true});
  ASSERT_TRUE(opened) << text_of(opened.error());
  EXPECT_THAT(opened->provider_nodes, ElementsAre(Pair("CPUExecutionProvider", 1U), Pair(bound.ep.found.name, 2U)));
  const auto refused =
      open_session(catalog_, bound, {}, {.model = output, .compiled = true, .forbid_cpu_fallback = true});
  EXPECT_FALSE(refused);
}

TEST_P(RealEp, never_overwrites_an_output_nor_the_model_itself) {
  const Target bound = target(GetParam());
  const auto source = model(Kind::tiny);
  const std::string before = bytes_of(source);
  for (const auto& output : {source, temp_.write("there.onnx", "mine")}) {
    const std::string kept = bytes_of(output);
    const auto compiled = compile_model(catalog_, bound, {}, {.model = source, .output = output});
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.error().code, ErrorCode::compile_failed);
    EXPECT_THAT(text_of(compiled.error()), HasSubstr("exists"));
    EXPECT_EQ(bytes_of(output), kept);
  }
  EXPECT_EQ(bytes_of(source), before);
}

TEST_P(RealEp, a_source_model_does_not_open_as_a_compiled_one) {
  const auto source = model(Kind::tiny);
  const auto opened = open_session(catalog_, target(GetParam()), {}, {.model = source, .compiled = true});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::compile_failed);
  EXPECT_THAT(text_of(opened.error()), AllOf(HasSubstr(source.string()), HasSubstr("compil")));
}

TEST_P(RealEp, judges_the_compatibility_of_what_it_compiled) {
  const Target bound = target(GetParam());
  const auto output = temp_ / "out.onnx";
  ASSERT_TRUE(compile_model(catalog_, bound, {}, {.model = model(Kind::tiny), .output = output}));
  const auto opened = open_session(catalog_, bound, {}, {.model = output, .compiled = true});
  ASSERT_TRUE(opened) << text_of(opened.error());
  const Ort::AllocatorWithDefaultOptions allocator;
  const std::string key = "ep_compatibility_info." + bound.ep.found.name;
  const auto value = opened->session.GetModelMetadata().LookupCustomMetadataMapAllocated(key.c_str(), allocator);
  ASSERT_NE(value, nullptr);
  const auto own = check_compatibility(catalog_, bound, value.get());
  ASSERT_TRUE(own) << text_of(own.error());
  // QNN validates nothing on x86 ("Skip compatibility validation on x86 platforms").
  const bool judges = bound.alias() == "openvino";
  EXPECT_EQ(*own, judges ? Compatibility::optimal : Compatibility::not_applicable);
  const auto none = check_compatibility(catalog_, bound, "");
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, Compatibility::not_applicable);
}

TEST_F(SessionCall, a_blob_of_another_openvino_is_unsupported) {
  const std::string other =
      R"({"ovep_compat_ver":"1.0","ovep_ver":"1.8.1","ovep_bin_ver":"1.1","ov_compat_string":"meta=1.0;ov=2020.1.1;isa=SSE"})";
  const auto judged = check_compatibility(catalog_, target("openvino"), other);
  ASSERT_TRUE(judged) << text_of(judged.error());
  EXPECT_EQ(*judged, Compatibility::unsupported);
}

TEST_F(SessionCall, a_missing_backend_is_a_failure_and_not_nothing_to_compile) {
  Target bound = target("qnn");
  bound.provider_options["backend_path"] = "QnnHtp.dll";  // ORT itself would run all of it on the CPU, status OK
  const auto compiled = compile_model(catalog_, bound, {}, {.model = model(Kind::tiny), .output = temp_ / "out.onnx"});
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, ErrorCode::compile_failed) << text_of(compiled.error());
  EXPECT_THAT(compiled.error().message, HasSubstr("logged before: "));
}

TEST_F(SessionCall, log_lines_of_an_ep_are_captured_while_the_capture_lives) {
  const Target bound = target("qnn");
  const auto source = model(Kind::tiny);
  std::vector<std::string> after;
  {
    const LogCapture capture(*runtime());
    ASSERT_TRUE(open_session(catalog_, bound, {}, {.model = source}));
    EXPECT_THAT(capture.lines(), Not(IsEmpty()));  // QNN warns about what this machine lacks
    EXPECT_FALSE(capture.has_errors());
  }
  const int sink = runtime()->add_log_sink([&after](const LogLine& line) { after.push_back(line.message); },
                                           ORT_LOGGING_LEVEL_ERROR);
  ASSERT_TRUE(open_session(catalog_, bound, {}, {.model = source, .want_node_counts = true}));
  EXPECT_THAT(after, IsEmpty());  // warnings are below what it asked for, and so are the lines of the count
  const LogCapture errors(*runtime());
  Target broken = bound;
  broken.provider_options["backend_path"] = "QnnHtp.dll";
  // Whether it opens on the CPU or not is QNN's affair; that it complains is what counts.
  [[maybe_unused]] const auto ignored = open_session(catalog_, broken, {}, {.model = source});
  EXPECT_TRUE(errors.has_errors());
  EXPECT_THAT(after, Not(IsEmpty()));
  runtime()->remove_log_sink(sink);
}

TEST_F(SessionCall, the_cpu_ep_opens_a_source_model) {
  const auto opened =
      open_session(catalog_, target("cpu"), {},
                   {.model = model(Kind::two_partition), .want_node_counts = true, .forbid_cpu_fallback = true});
  ASSERT_TRUE(opened) << text_of(opened.error());
  EXPECT_THAT(opened->provider_nodes, ElementsAre(Pair("CPUExecutionProvider", 3U)));
  const auto quiet = open_session(catalog_, target("cpu"), {}, {.model = temp_ / "model.onnx"});
  ASSERT_TRUE(quiet);
  EXPECT_THAT(quiet->provider_nodes, IsEmpty());
}

TEST_F(SessionCall, node_counts_are_of_one_session_whatever_other_threads_open) {
  const Target cpu = target("cpu");
  const auto source = model(Kind::two_partition);
  std::atomic<int> wrong{0};
  std::vector<std::jthread> threads;
  threads.reserve(4);
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const auto opened = open_session(catalog_, cpu, {}, {.model = source, .want_node_counts = true});
        if (!opened || opened->provider_nodes.at("CPUExecutionProvider") != 3) ++wrong;
      }
    });
  }
  threads.clear();  // joins
  EXPECT_EQ(wrong, 0);
}

TEST_F(SessionCall, a_missing_model_is_not_found_and_named) {
  for (const char* ep : {"cpu", "openvino"}) {
    const auto opened = open_session(catalog_, target(ep), {}, {.model = temp_ / "missing.onnx"});
    ASSERT_FALSE(opened);
    EXPECT_THAT(text_of(opened.error()), AllOf(HasSubstr("not_found"), HasSubstr("missing.onnx")));
  }
}

TEST_F(SessionCall, options_that_onnx_runtime_refuses_are_bad_input) {
  SessionSettings settings;
  settings.config_entries[std::string(2000, 'k')] = "v";
  const auto options = make_session_options(catalog_, target("cpu"), settings);
  ASSERT_FALSE(options);
  EXPECT_THAT(text_of(options.error()), AllOf(HasSubstr("bad_input"), HasSubstr("CPUExecutionProvider")));
}

TEST_F(SessionCall, free_dimensions_and_levels_reach_onnx_runtime) {
  const auto source = model(Kind::dynamic);
  SessionSettings settings;
  settings.free_dimensions["batch"] = 3;
  settings.optimization_level = ORT_ENABLE_BASIC;
  auto opened = open_session(catalog_, target("cpu"), settings, {.model = source});
  ASSERT_TRUE(opened) << text_of(opened.error());
  EXPECT_EQ(opened->session.GetInputTypeInfo(0).GetTensorTypeAndShapeInfo().GetShape().at(0), 3);
  // QNN compiles static shapes only, so this shows that the override takes part in a compile.
  const auto compiled = compile_model(catalog_, target("qnn"), settings, {.model = source, .output = temp_ / "o.onnx"});
  EXPECT_TRUE(compiled) << text_of(compiled.error());
}

TEST(OptimizationLevel, has_names_and_numbers) {
  for (const auto& [text, level] :
       {std::pair{"disable", 0}, {"Basic", 1}, {"extended", 2}, {"layout", 3}, {"all", 99}, {"0", 0}, {"99", 99}}) {
    EXPECT_EQ(parse_optimization_level(text).value_or(-1), level) << text;
  }
  for (const char* text : {"", "4", "most", "1x", "-1"}) EXPECT_FALSE(parse_optimization_level(text)) << text;
  EXPECT_EQ(optimization_level_name(99), "all");
}

TEST(NodePlacement, is_read_from_onnx_runtimes_lines) {
  const auto line = [](const char* message) {
    return LogLine{ORT_LOGGING_LEVEL_VERBOSE, "onnxruntime", "", message, ""};
  };
  EXPECT_THAT(parse_node_placement({line("Node placements"), line(" Node(s) placed on [A]. Number of nodes: 12"),
                                    line(" Node(s) placed on [CPUExecutionProvider]. Number of nodes: 3")}),
              ElementsAre(Pair("A", 12U), Pair("CPUExecutionProvider", 3U)));
  EXPECT_THAT(parse_node_placement({line(" All nodes placed on [A]. Number of nodes: 1")}), ElementsAre(Pair("A", 1U)));
  EXPECT_THAT(parse_node_placement({line("placed on [A"), line("placed on [A]. Number of nodes: x"), line("")}),
              IsEmpty());
}

}  // namespace
}  // namespace precast::ort
