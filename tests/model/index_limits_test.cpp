#include "model/index_limits.hpp"

#include <gmock/gmock.h>

#include "onnx/onnx.pb.h"

namespace precast::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// A graph with the inputs "ids" and "x" and the tables "words" [30, 8] and "places" [8, 16].
class Graph {
 public:
  Graph() {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(17);
    for (const char* name : {"ids", "x"}) model_.mutable_graph()->add_input()->set_name(name);
    table("words", {30, 8});
    table("places", {8, 16});
  }
  void table(const std::string& name, const std::vector<std::int64_t>& dims) {
    auto* const tensor = model_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    for (const std::int64_t size : dims) tensor->add_dims(size);
  }
  Graph& node(const std::string& type, const std::vector<std::string>& inputs, const std::string& output) {
    last_ = model_.mutable_graph()->add_node();
    last_->set_op_type(type);
    for (const std::string& input : inputs) last_->add_input(input);
    last_->add_output(output);
    return *this;
  }
  Graph& axis(std::int64_t value) {
    auto* const attribute = last_->add_attribute();
    attribute->set_name("axis");
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(value);
    return *this;
  }
  [[nodiscard]] IndexLimits limits() const {
    auto limits = parse_index_limits(model_.SerializeAsString(), "model");
    EXPECT_TRUE(limits) << limits.error().message;
    return limits ? *limits : IndexLimits{};
  }

 private:
  onnx::ModelProto model_;
  onnx::NodeProto* last_ = nullptr;
};

TEST(IndexLimits, AnInputThatIndexesAStoredTable) {
  EXPECT_THAT(Graph().node("Gather", {"words", "ids"}, "y").limits(), ElementsAre(Pair("ids", 30)));
  EXPECT_THAT(Graph().node("Gather", {"places", "ids"}, "y").axis(1).limits(), ElementsAre(Pair("ids", 16)));
  EXPECT_THAT(Graph().node("Gather", {"places", "ids"}, "y").axis(-1).limits(), ElementsAre(Pair("ids", 16)));
}

TEST(IndexLimits, TheSmallerOfTwoTablesCounts) {
  EXPECT_THAT(Graph().node("Gather", {"words", "ids"}, "y").node("Gather", {"places", "ids"}, "z").limits(),
              ElementsAre(Pair("ids", 8)));
}

TEST(IndexLimits, ThroughCastsAndDequantisedTables) {
  EXPECT_THAT(Graph()
                  .node("DequantizeLinear", {"words"}, "table")
                  .node("Cast", {"ids"}, "narrow")
                  .node("Reshape", {"narrow", "shape"}, "flat")
                  .node("Gather", {"table", "flat"}, "y")
                  .limits(),
              ElementsAre(Pair("ids", 30)));
}

TEST(IndexLimits, WhatIndexesSomethingComputedHasNoLimit) {
  EXPECT_THAT(Graph().node("Gather", {"x", "ids"}, "y").limits(), IsEmpty());
  EXPECT_THAT(Graph().node("Add", {"ids", "x"}, "sum").node("Gather", {"words", "sum"}, "y").limits(), IsEmpty());
  EXPECT_THAT(Graph().node("Gather", {"words", "ids"}, "y").axis(2).limits(), IsEmpty());
}

TEST(IndexLimits, ATableWithoutEntriesSetsNoLimit) {
  Graph graph;
  graph.table("nothing", {0, 8});
  EXPECT_THAT(graph.node("Gather", {"nothing", "ids"}, "y").limits(), IsEmpty());
}

TEST(IndexLimits, AFileThatSaysGoesInCirclesEnds) {
  EXPECT_THAT(Graph().node("Cast", {"b"}, "a").node("Cast", {"a"}, "b").node("Gather", {"words", "a"}, "y").limits(),
              IsEmpty());
}

TEST(IndexLimits, EveryCutOfAModelIsAnErrorOrAnAnswer) {
  onnx::ModelProto model;
  model.mutable_graph()->add_input()->set_name("ids");
  auto* const node = model.mutable_graph()->add_node();
  node->set_op_type("Gather");
  node->add_input("words");
  node->add_input("ids");
  const std::string bytes = model.SerializeAsString();
  EXPECT_FALSE(parse_index_limits(std::string_view(bytes).substr(0, bytes.size() - 1), "cut"));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    (void)parse_index_limits(std::string_view(bytes).substr(0, size), "cut");
  }
}

}  // namespace
}  // namespace precast::model
