// Profiles by real ORT, and small ones made by hand for what real ORT writes seldom.
#include "bench/op_trace.hpp"

#include <cmath>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "ort/inference.hpp"
#include "ort/runtime.hpp"
#include "support/models.hpp"
#include "support/program.hpp"

namespace precast::bench {
namespace {

using precast::testing::Folder;
using ::testing::AllOf;
using ::testing::HasSubstr;

template <typename Rows, typename Name>
auto find_row(const Rows& rows, Name name) {
  for (const auto& row : rows) {
    if (name(row)) return row;
  }
  ADD_FAILURE() << "no such row";
  return typename Rows::value_type{};
}
OpTime by_node(const OpTrace& trace, const std::string& node) {
  return find_row(trace.by_node, [&](const OpTime& op) { return op.node == node; });
}
OpTime by_type(const OpTrace& trace, const std::string& op_type) {
  return find_row(trace.by_type, [&](const OpTime& op) { return op.op_type == op_type; });
}

// ---- real ORT
// ---------------------------------------------------------------------------------------------------------

// The profile of `runs` runs of `model` on the CPU EP.
std::filesystem::path profile_of(const std::filesystem::path& model, int runs) {
  ::setenv("ORT_DISABLE_TELEMETRY", "1", 1);
  const auto runtime =
      ort::Runtime::load({.library = std::filesystem::path(PRECAST_DEPS_DIR) / "ort/lib/libonnxruntime.so.1"});
  if (!runtime) throw std::runtime_error(runtime.error().message);
  Ort::SessionOptions options;
  options.EnableProfiling((model.parent_path() / "profile").c_str());
  Ort::Session session((*runtime)->env(), model.c_str(), options);
  auto inputs = tensor::generate_inputs(ort::input_specs(ort::inputs_of(session), {}), {});
  for (int i = 0; i < runs; ++i) {
    const auto done = ort::run_tensors(session, inputs.value(), "a test");
    EXPECT_TRUE(done) << done.error().message;
  }
  const Ort::AllocatorWithDefaultOptions allocator;
  return session.EndProfilingAllocated(allocator).get();
}

// What the file says in milliseconds by the names of events, the first `skip` of each name left out.
std::map<std::string, double> event_totals(const std::filesystem::path& profile, int skip) {
  std::map<std::string, double> totals;
  std::map<std::string, int> seen;
  const auto events = nlohmann::json::parse(precast::testing::read_file(profile));
  for (const auto& event : events) {
    const std::string name = event.at("name");
    if (++seen[name] > skip) totals[name] += event.at("dur").get<double>() / 1000;
  }
  return totals;
}

TEST(OpTrace, RealOrtNamesEachNodeOfEachRun) {
  const Folder folder;
  const auto profile = profile_of(precast::testing::make_model(folder / "tiny.onnx"), 5);
  const auto trace = read_op_trace(profile);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->runs, 5U);
  ASSERT_EQ(trace->by_node.size(), 1U);  // the optimiser makes one node of three
  const OpTime& op = trace->by_node.front();
  EXPECT_EQ(op.op_type, "FusedGemm");
  EXPECT_EQ(op.provider, "CPUExecutionProvider");
  EXPECT_EQ(op.count, 5U);
  EXPECT_NEAR(op.total_ms, event_totals(profile, 0).at(op.node + "_kernel_time"), 1e-9);
  EXPECT_NEAR(op.mean_ms * 5, op.total_ms, 1e-9);
  EXPECT_EQ(op.share_pct, 100.0);
  EXPECT_TRUE(trace->inside_by_node.empty());
  EXPECT_EQ(trace->without_time + trace->dropped_events, 0U);
}

TEST(OpTrace, RealOrtCountsTheBodyOfAnIfOnlyForItself) {
  const Folder folder;
  const auto model = precast::testing::make_model(folder / "branch.onnx", {.kind = model_generator::Kind::branch});
  const auto profile = profile_of(model, 6);
  const auto trace = read_op_trace(profile, 2);
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_EQ(trace->runs, 4U);
  const auto in_file = event_totals(profile, 2);
  const double body = in_file.at("MatMul_0_kernel_time") + in_file.at("FastGelu_1_kernel_time");
  EXPECT_EQ(by_node(*trace, "choice").op_type, "If");
  EXPECT_EQ(by_node(*trace, "choice").count, 4U);
  EXPECT_NEAR(by_node(*trace, "choice").total_ms, in_file.at("choice_kernel_time") - body, 1e-9);
  EXPECT_NEAR(by_node(*trace, "MatMul_0").total_ms, in_file.at("MatMul_0_kernel_time"), 1e-9);
  EXPECT_EQ(by_type(*trace, "MatMul").count, 8U);  // one in the graph, one in the branch
  EXPECT_LE(trace->total_ms, in_file.at("model_run"));
  double shares = 0;
  for (const OpTime& op : trace->by_type) shares += op.share_pct.value();
  EXPECT_NEAR(shares, 100, 1e-9);
  EXPECT_EQ(trace->by_provider.front().count, 24U);
}

// ---- made by hand
// -----------------------------------------------------------------------------------------------------

// Events as ORT writes them, with what matters.
std::string node(const std::string& name, double begin, double duration, const std::string& op_type,
                 const std::string& provider = "CPUExecutionProvider", int thread = 1) {
  return nlohmann::json{
      {"cat", "Node"},   {"pid", 1},  {"tid", thread}, {"ts", begin},
      {"dur", duration}, {"ph", "X"}, {"name", name},  {"args", {{"op_name", op_type}, {"provider", provider}}}}
      .dump();
}
std::string kernel(const std::string& name, double begin, double duration, const std::string& op_type,
                   const std::string& provider = "CPUExecutionProvider", int thread = 1) {
  return node(name + "_kernel_time", begin, duration, op_type, provider, thread);
}
std::string run_of(double begin, double duration, int thread = 1) {
  return nlohmann::json{{"cat", "Session"}, {"pid", 1},  {"tid", thread},       {"ts", begin},
                        {"dur", duration},  {"ph", "X"}, {"name", "model_run"}, {"args", nlohmann::json::object()}}
      .dump();
}

class Profile : public ::testing::Test {
 protected:
  Result<OpTrace> read(const std::string& text, std::uint64_t skip_runs = 0) {
    precast::testing::write_file(path_, text);
    return read_op_trace(path_, skip_runs);
  }
  OpTrace read_events(const std::vector<std::string>& events, std::uint64_t skip_runs = 0) {
    std::string text = "[\n";
    for (const std::string& event : events) text += (text.size() > 2 ? ",\n" : "") + event;
    auto trace = read(text + "\n]\n", skip_runs);
    EXPECT_TRUE(trace) << trace.error().message;
    return trace.value_or(OpTrace{});
  }

  Folder folder_;
  std::filesystem::path path_ = folder_ / "profile.json";
};

TEST_F(Profile, SortsByTotalAndThenByName) {
  const OpTrace trace = read_events({kernel("d", 0, 10, "Mul"), kernel("c", 10, 10, "Add"), kernel("b", 20, 10, "Add"),
                                     kernel("a", 30, 25, "Relu"), kernel("b", 60, 5, "Add", "Other"), run_of(0, 70)});
  std::vector<std::string> nodes;
  nodes.reserve(trace.by_node.size());
  for (const OpTime& op : trace.by_node) nodes.push_back(op.node + " " + op.provider.substr(0, 3));
  EXPECT_THAT(nodes, ::testing::ElementsAre("a CPU", "b CPU", "c CPU", "d CPU", "b Oth"));
  ASSERT_EQ(trace.by_type.size(), 4U);
  EXPECT_EQ(trace.by_type[0].op_type, "Relu");
  EXPECT_EQ(trace.by_type[1].op_type, "Add");
  EXPECT_EQ(trace.by_type[1].count, 2U);
  EXPECT_EQ(trace.by_type[1].node, "");
  EXPECT_DOUBLE_EQ(trace.by_type[1].total_ms, 0.02);
  EXPECT_DOUBLE_EQ(trace.by_type[1].mean_ms, 0.01);
  EXPECT_DOUBLE_EQ(trace.by_type[1].share_pct.value(), 20.0 / 60 * 100);
  EXPECT_DOUBLE_EQ(trace.total_ms, 0.06);
  ASSERT_EQ(trace.by_provider.size(), 2U);
  EXPECT_EQ(trace.by_provider[1].provider, "Other");
  EXPECT_DOUBLE_EQ(trace.by_provider[1].share_pct.value(), 5.0 / 60 * 100);
}

// More than a sort that is not stable leaves in their order.
TEST_F(Profile, EqualTotalsOfManyAreInTheOrderOfTheirNames) {
  std::vector<std::string> events;
  events.reserve(100);
  for (int i = 0; i < 100; ++i) events.push_back(kernel("node" + std::to_string(100 + i * 37 % 100), i, 1, "Add"));
  const OpTrace trace = read_events(events);
  ASSERT_EQ(trace.by_node.size(), 100U);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(trace.by_node[i].node, "node" + std::to_string(100 + i));
}

TEST_F(Profile, OnlyKernelTimesCount) {
  const OpTrace trace =
      read_events({node("a_fence_before", 0, 7, "Add"), kernel("a", 7, 1, "Add"), node("a_fence_after", 8, 7, "Add"),
                   R"({"cat":"Session","name":"b_kernel_time","dur":5,"ts":1,"args":{"op_name":"Mul"}})",
                   R"({"cat":"Api","name":"b_kernel_time","dur":5,"ts":1,"args":{"op_name":"Mul"}})", run_of(0, 20)});
  ASSERT_EQ(trace.by_node.size(), 1U);
  EXPECT_EQ(trace.by_node[0].count, 1U);
  EXPECT_DOUBLE_EQ(trace.total_ms, 0.001);
}

TEST_F(Profile, WhatRanInsideAKernelIsNotItsTime) {
  const OpTrace trace = read_events({
      kernel("before", 0, 10, "Add"),
      kernel("deepest", 12, 5, "Add"),
      kernel("inner", 12, 20, "If"),
      kernel("other", 40, 8, "Add"),
      kernel("elsewhere", 13, 30, "Add", "CPUExecutionProvider", 2),  // another thread's
      kernel("outer", 10, 50, "Loop"),
      run_of(0, 61),
  });
  EXPECT_DOUBLE_EQ(by_node(trace, "before").total_ms, 0.010);
  EXPECT_DOUBLE_EQ(by_node(trace, "deepest").total_ms, 0.005);
  EXPECT_DOUBLE_EQ(by_node(trace, "inner").total_ms, 0.015);
  EXPECT_DOUBLE_EQ(by_node(trace, "outer").total_ms, 0.022);
  EXPECT_DOUBLE_EQ(by_node(trace, "elsewhere").total_ms, 0.030);
}

TEST_F(Profile, WarmUpsAreLeftOut) {
  const std::vector<std::string> events = {kernel("a", 10, 100, "Add"), run_of(9, 110),
                                           kernel("a", 200, 7, "Add"),  run_of(199, 9),
                                           kernel("a", 300, 5, "Add"),  run_of(299, 7)};
  const OpTrace trace = read_events(events, 1);
  EXPECT_EQ(trace.runs, 2U);
  EXPECT_EQ(trace.by_node.front().count, 2U);
  EXPECT_DOUBLE_EQ(trace.total_ms, 0.012);
  EXPECT_DOUBLE_EQ(read_events(events).total_ms, 0.112);
}

TEST_F(Profile, MoreWarmUpsThanRunsLeaveNothing) {
  const auto trace = read("[" + kernel("a", 0, 1, "Add") + "," + run_of(0, 2) + "]", 3);
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().code, ErrorCode::bad_input);
  EXPECT_THAT(trace.error().message, AllOf(HasSubstr("profile.json"), HasSubstr("1 run"), HasSubstr("first 3")));
  EXPECT_FALSE(trace.error().hint.empty());
}

// An EP's own events stand at the end, and their threads are no threads.
TEST_F(Profile, WhatAnEpTellsOfItsInsideIsASecondLook) {
  const std::string ep = "OpenVINOExecutionProvider";
  const auto inner = [&](double begin, double duration, const std::string& type) {
    return nlohmann::json{{"cat", "Kernel"},
                          {"pid", -1},
                          {"tid", 48},
                          {"dur", duration},
                          {"ts", begin},
                          {"ph", "X"},
                          {"name", "OV::" + type},
                          {"args", {{"ov_node_type", type}, {"ep", ep}}}}
        .dump();
  };
  const OpTrace trace = read_events(
      {kernel(ep + "_" + ep + "_925157988026129553_0_0", 10, 90, ep + "_925157988026129553_0", ep), run_of(9, 92),
       kernel(ep + "_" + ep + "_925157988026129553_0_0", 210, 40, ep + "_925157988026129553_0", ep), run_of(209, 92),
       inner(11, 60, "Reorder"), inner(211, 10, "Reorder"), inner(221, 30, "FullyConnected")},
      1);
  ASSERT_EQ(trace.by_type.size(), 1U);
  EXPECT_EQ(trace.by_type[0].op_type, kCompiledPart);
  EXPECT_EQ(trace.by_node[0].node, ep + "_" + ep + "_925157988026129553_0_0");
  EXPECT_DOUBLE_EQ(trace.total_ms, 0.040);
  ASSERT_EQ(trace.inside_by_type.size(), 2U);
  EXPECT_EQ(trace.inside_by_type[0].op_type, "FullyConnected");
  EXPECT_EQ(trace.inside_by_type[0].provider, ep);
  EXPECT_EQ(trace.inside_by_node[1].node, "OV::Reorder");
  EXPECT_EQ(trace.inside_by_node[1].count, 1U);
  EXPECT_DOUBLE_EQ(trace.inside_by_node[1].share_pct.value(), 25.0);
  EXPECT_DOUBLE_EQ(trace.inside_total_ms, 0.040);
}

TEST_F(Profile, WhatIsMissingIsEmptyAndTimesWithoutSenseAreLeftOut) {
  const OpTrace trace = read_events({
      R"({"cat":"Node","name":"text_kernel_time","dur":"12","ts":"1","tid":"1","args":{"op_name":"Add","provider":"P"}})",
      R"({"cat":"Node","name":"bare_kernel_time","dur":3})",
      R"({"cat":"Node","name":"odd_kernel_time","dur":4,"ts":null,"tid":true,"args":[{"op_name":"Add"}]})",
      R"({"cat":"Node","name":"negative_kernel_time","dur":-5,"ts":1,"tid":1,"args":{}})",
      R"({"cat":"Node","name":"none_kernel_time","ts":1,"tid":1,"args":{}})",
      R"({"cat":"Node","name":"words_kernel_time","dur":"soon","ts":1,"tid":1,"args":{}})",
      R"({"cat":"Node","name":"nan_kernel_time","dur":"nan","ts":1,"tid":1,"args":{}})",
      R"({"cat":"Node","name":"ages_kernel_time","dur":1e300,"ts":1,"tid":1,"args":{}})",
      R"({"cat":null,"name":17,"dur":{"dur":9}})",
      R"(7)",
      R"("Node")",
      R"([{"cat":"Node","name":"x_kernel_time","dur":9}])",
      R"({})",
  });
  ASSERT_EQ(trace.by_node.size(), 3U);
  EXPECT_DOUBLE_EQ(by_node(trace, "text").total_ms, 0.012);
  EXPECT_EQ(by_node(trace, "text").provider, "P");
  EXPECT_EQ(by_node(trace, "bare").op_type, "");
  EXPECT_EQ(by_node(trace, "bare").provider, "");
  EXPECT_EQ(by_node(trace, "odd").op_type, "");
  EXPECT_EQ(trace.without_time, 5U);
  EXPECT_EQ(trace.runs, 0U);
  EXPECT_TRUE(std::isfinite(trace.total_ms));
}

TEST_F(Profile, ArgumentsOfArgumentsAreNot) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += R"({"args":[)";
  deep += R"({"op_name":"Wrong"})";
  for (int i = 0; i < 100'000; ++i) deep += "]}";
  const OpTrace trace =
      read_events({R"({"cat":"Node","name":"a_kernel_time","dur":1,"args":{"op_name":"Add","provider":"P","inner":)" +
                   deep + R"(,"shape":[{"op_name":"Wrong","float":[1,8]}]},"other":{"provider":"Wrong"}})"});
  EXPECT_EQ(trace.by_node.front().op_type, "Add");
  EXPECT_EQ(trace.by_node.front().provider, "P");
}

TEST_F(Profile, NamesMayHoldAnything) {
  const std::string name = "q\"uo\\te\nnew\tline \u00e9 \U0001F600 _kernel_time";
  const OpTrace trace = read_events({kernel(name, 0, 3, "Rel\u00fc")});
  EXPECT_EQ(trace.by_node.front().node, name);
  EXPECT_EQ(trace.by_node.front().op_type, "Rel\u00fc");
}

TEST_F(Profile, NoTimeAtAllHasNoShares) {
  const OpTrace trace = read_events({kernel("a", 5, 0, "Add"), kernel("b", 5, 0, "Mul"), run_of(5, 0)});
  EXPECT_EQ(trace.by_type.size(), 2U);
  EXPECT_EQ(trace.by_type.front().share_pct, std::nullopt);
  EXPECT_EQ(trace.by_provider.front().share_pct, std::nullopt);
}

TEST_F(Profile, SaysWhatOrtDropped) {
  const OpTrace trace = read_events(
      {kernel("a", 5, 1, "Add"), run_of(5, 2),
       R"({"cat":"Session","dur":0,"ts":9,"name":"profile_truncated","args":{"dropped_event_count":"200002"}})"});
  EXPECT_EQ(trace.dropped_events, 200002U);
}

TEST_F(Profile, SaysWhatIsWrongWithAFile) {
  const std::string whole = "[" + kernel("a", 0, 1, "Add") + "," + run_of(0, 2) + "]";
  const std::vector<std::pair<std::string, const char*>> broken = {
      {"", "is empty"},
      {whole.substr(0, whole.size() - 1), "ends in the middle"},
      {whole.substr(0, whole.size() / 2), "ends in the middle"},
      {whole + "]", "is not JSON"},
      {"[\xff\xfe]", "is not JSON: byte 2 "},
      {R"([{"cat":"Node","name":"\xff_kernel_time","dur":1}])", "is not JSON"},
      {"not json", "is not JSON: byte 2 "},
      {R"({"traceEvents":[]})", "is not a list of events"},
      {"17", "is not a list of events"},
      {"[]", "no time of any operator"},
      {"[" + run_of(0, 2) + "," + run_of(3, 2) + "]", "no time of any operator"},
  };
  for (const auto& [text, words] : broken) {
    const auto trace = read(text);
    ASSERT_FALSE(trace) << text;
    EXPECT_EQ(trace.error().code, ErrorCode::corrupt) << text;
    EXPECT_EQ(trace.error().path, path_);
    EXPECT_THAT(trace.error().message, AllOf(HasSubstr("profile.json"), HasSubstr(words)));
    EXPECT_THAT(trace.error().hint, HasSubstr("measure again"));
  }
}

TEST_F(Profile, AFileThatIsNotThereIsNotFound) {
  const auto missing = read_op_trace(folder_ / "none.json");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_THAT(missing.error().message, HasSubstr("none.json"));
  EXPECT_FALSE(missing.error().hint.empty());
  EXPECT_EQ(read_op_trace(folder_.path()).error().code, ErrorCode::bad_input);
}

}  // namespace
}  // namespace precast::bench
