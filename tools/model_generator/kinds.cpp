#include "model_generator/kinds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace precast::model_generator {
namespace {

using Dims = std::vector<std::int64_t>;

constexpr std::array<int, 4> kResNetBlocks = {3, 4, 6, 3};
constexpr std::int64_t kPartitionWidth = 64;

GraphBuilder tiny(const Options& options, std::int64_t batch) {
  GraphBuilder graph("tiny");
  std::string x = graph.input("x", Dims{batch, 8});
  x = graph.add("MatMul", "matmul", {x, graph.random("weight", {8, 8}, std::sqrt(2.0 / 8))});
  x = graph.add("Add", "add", {x, graph.random("bias", {8}, 0.1)});
  graph.add(options.op, "activation", {x});
  graph.output("y", Dims{batch, 8});
  return graph;
}

// One convolution, its bias (a folded batch normalisation) and, if wanted, Relu.
class ResNet {
 public:
  GraphBuilder build() {
    std::string x = graph_.input("image", Dims{1, 3, 224, 224});
    x = relu(conv(x, "stem", {.in = 3, .out = 64, .kernel = 7, .stride = 2}), "stem");
    x = graph_.add("MaxPool", "stem_pool", {x});
    graph_.attribute("kernel_shape", Dims{3, 3});
    graph_.attribute("strides", Dims{2, 2});
    graph_.attribute("pads", Dims{1, 1, 1, 1});
    std::int64_t channels = 64;
    for (std::size_t stage = 0; stage < kResNetBlocks.size(); ++stage) {
      const std::int64_t width = std::int64_t{64} << stage;
      for (int block = 0; block < kResNetBlocks.at(stage); ++block) {
        const std::string name = "stage" + std::to_string(stage + 1) + "_block" + std::to_string(block + 1);
        x = bottleneck(x, name, channels, width, stage > 0 && block == 0 ? 2 : 1);
        channels = width * 4;
      }
    }
    x = graph_.add("GlobalAveragePool", "pool", {x});
    x = graph_.add("Flatten", "flatten", {x});
    graph_.attribute("axis", std::int64_t{1});
    const std::string weight = graph_.random("classifier_weight", {2048, 1000}, std::sqrt(1.0 / 2048));
    graph_.add("Gemm", "classifier", {x, weight, graph_.random("classifier_bias", {1000}, 0.01)});
    graph_.output("logits", Dims{1, 1000});
    return std::move(graph_);
  }

 private:
  struct Shape {
    std::int64_t in = 0;
    std::int64_t out = 0;
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    double gain = 1.0;
  };

  std::string conv(const std::string& x, const std::string& name, const Shape& shape) {
    const double fan_in = static_cast<double>(shape.in * shape.kernel * shape.kernel);
    const std::string weight = graph_.random(name + "_weight", {shape.out, shape.in, shape.kernel, shape.kernel},
                                             shape.gain * std::sqrt(2.0 / fan_in));
    const std::string bias = graph_.random(name + "_bias", {shape.out}, 0.01);
    std::string y = graph_.add("Conv", name, {x, weight, bias});
    const std::int64_t pad = shape.kernel / 2;
    graph_.attribute("kernel_shape", Dims{shape.kernel, shape.kernel});
    graph_.attribute("strides", Dims{shape.stride, shape.stride});
    graph_.attribute("pads", Dims{pad, pad, pad, pad});
    return y;
  }

  std::string relu(const std::string& x, const std::string& name) { return graph_.add("Relu", name + "_relu", {x}); }

  std::string bottleneck(const std::string& x, const std::string& name, std::int64_t in, std::int64_t width,
                         std::int64_t stride) {
    const std::int64_t out = width * 4;
    std::string shortcut = x;
    if (in != out) shortcut = conv(x, name + "_shortcut", {.in = in, .out = out, .stride = stride, .gain = 0.7});
    std::string y = relu(conv(x, name + "_conv1", {.in = in, .out = width}), name + "_1");
    y = relu(conv(y, name + "_conv2", {.in = width, .out = width, .kernel = 3, .stride = stride}), name + "_2");
    // Half the usual deviation: 16 residual additions stay well inside float16's range.
    y = conv(y, name + "_conv3", {.in = width, .out = out, .gain = 0.5});
    return relu(graph_.add("Add", name + "_add", {y, shortcut}), name);
  }

  GraphBuilder graph_{"resnet50"};
};

class Transformer {
 public:
  explicit Transformer(const Options& options)
      : layers_(options.layers),
        hidden_(options.hidden),
        heads_(options.heads),
        head_(options.hidden / options.heads),
        sequence_(options.sequence) {}

  GraphBuilder build() {
    scale_ = graph_.scalar("attention_scale", 1.0F / std::sqrt(static_cast<float>(head_)));
    split_ = graph_.integers("split_shape", Dims{1, sequence_, heads_, head_});
    join_ = graph_.integers("join_shape", Dims{1, sequence_, hidden_});
    cubic_ = graph_.scalar("gelu_cubic", 0.044715F);
    slope_ = graph_.scalar("gelu_slope", 0.7978845608F);
    one_ = graph_.scalar("gelu_one", 1.0F);
    half_ = graph_.scalar("gelu_half", 0.5F);
    std::string x = graph_.input("embeddings", Dims{1, sequence_, hidden_});
    for (std::int64_t layer = 0; layer < layers_; ++layer) {
      x = encoder_layer(x, "layer" + std::to_string(layer) + "_");
    }
    norm(x, "final_norm");
    graph_.output("hidden_states", Dims{1, sequence_, hidden_});
    return std::move(graph_);
  }

 private:
  std::string norm(const std::string& x, const std::string& name) {
    std::string y = graph_.add(
        "LayerNormalization", name,
        {x, graph_.filled(name + "_scale", {hidden_}, 1.0F), graph_.random(name + "_bias", {hidden_}, 0.02)});
    graph_.attribute("axis", std::int64_t{-1});
    graph_.attribute("epsilon", 1e-5F);
    return y;
  }

  std::string linear(const std::string& x, const std::string& name, std::int64_t in, std::int64_t out) {
    const double deviation = std::sqrt(1.0 / static_cast<double>(in));
    const std::string y = graph_.add("MatMul", name, {x, graph_.random(name + "_weight", {in, out}, deviation)});
    return graph_.add("Add", name + "_add", {y, graph_.random(name + "_bias", {out}, 0.02)});
  }

  // [1, sequence, hidden] to [1, heads, ...] in the order that `permutation` says.
  std::string heads(const std::string& x, const std::string& name, const Dims& permutation) {
    const std::string y = graph_.add("Reshape", name + "_split", {x, split_});
    std::string z = graph_.add("Transpose", name + "_transpose", {y});
    graph_.attribute("perm", permutation);
    return z;
  }

  std::string attention(const std::string& x, const std::string& name) {
    const std::string q = heads(linear(x, name + "query", hidden_, hidden_), name + "query", {0, 2, 1, 3});
    const std::string k = heads(linear(x, name + "key", hidden_, hidden_), name + "key", {0, 2, 3, 1});
    const std::string v = heads(linear(x, name + "value", hidden_, hidden_), name + "value", {0, 2, 1, 3});
    std::string y = graph_.add("MatMul", name + "scores", {q, k});
    y = graph_.add("Mul", name + "scores_scaled", {y, scale_});
    y = graph_.add("Softmax", name + "weights", {y});
    graph_.attribute("axis", std::int64_t{-1});
    y = graph_.add("MatMul", name + "mix", {y, v});
    y = graph_.add("Transpose", name + "mix_transpose", {y});
    graph_.attribute("perm", Dims{0, 2, 1, 3});
    y = graph_.add("Reshape", name + "mix_join", {y, join_});
    return linear(y, name + "attention_output", hidden_, hidden_);
  }

  // Gelu in its Tanh form, of elementary operators (opset 17 has none of its own).
  std::string gelu(const std::string& x, const std::string& name) {
    std::string y = graph_.add("Mul", name + "square", {x, x});
    y = graph_.add("Mul", name + "cube", {y, x});
    y = graph_.add("Mul", name + "cube_scaled", {y, cubic_});
    y = graph_.add("Add", name + "inner", {x, y});
    y = graph_.add("Mul", name + "inner_scaled", {y, slope_});
    y = graph_.add("Tanh", name + "tanh", {y});
    y = graph_.add("Add", name + "tanh_plus_one", {y, one_});
    y = graph_.add("Mul", name + "gate", {x, y});
    return graph_.add("Mul", name + "half", {y, half_});
  }

  std::string encoder_layer(const std::string& x, const std::string& name) {
    const std::string attended = attention(norm(x, name + "norm1"), name);
    const std::string y = graph_.add("Add", name + "attention_residual", {x, attended});
    const std::string transformed = mlp(norm(y, name + "norm2"), name);
    return graph_.add("Add", name + "mlp_residual", {y, transformed});
  }

  std::string mlp(const std::string& x, const std::string& name) {
    const std::string wide = gelu(linear(x, name + "mlp_up", hidden_, hidden_ * 4), name + "gelu_");
    return linear(wide, name + "mlp_down", hidden_ * 4, hidden_);
  }

  GraphBuilder graph_{"transformer"};
  std::int64_t layers_;
  std::int64_t hidden_;
  std::int64_t heads_;
  std::int64_t head_;
  std::int64_t sequence_;
  std::string scale_, split_, join_, cubic_, slope_, one_, half_;
};

// OpenVINO runs Shrink and QNN does not; neither runs this contrib operator with a bias.
std::string fast_gelu(GraphBuilder& graph, const std::string& x, const std::string& name, std::int64_t width) {
  std::string y = graph.add("FastGelu", name, {x, graph.random(name + "_bias", {width}, 0.1)});
  graph.domain("com.microsoft", 1);
  return y;
}

GraphBuilder two_partition(const Options& options) {
  const double deviation = std::sqrt(1.0 / kPartitionWidth);
  GraphBuilder graph("two_partition");
  std::string x = graph.input("x", Dims{1, kPartitionWidth});
  x = graph.add("MatMul", "first", {x, graph.random("first_weight", {kPartitionWidth, kPartitionWidth}, deviation)});
  if (options.separator == Separator::fastgelu) {
    x = fast_gelu(graph, x, "separator", kPartitionWidth);
  } else {
    x = graph.add("Shrink", "separator", {x});
    graph.attribute("lambd", 0.1F);
    graph.attribute("bias", 0.05F);
  }
  graph.add("MatMul", "second", {x, graph.random("second_weight", {kPartitionWidth, kPartitionWidth}, deviation)});
  graph.output("y", Dims{1, kPartitionWidth});
  return graph;
}

GraphBuilder unsupported() {
  GraphBuilder graph("unsupported");
  fast_gelu(graph, graph.input("x", Dims{1, 8}), "gelu", 8);
  graph.output("y", Dims{1, 8});
  return graph;
}

// FastGelu(x MatMul weight): `weight` and `bias` are the outer graph's.
void add_branch(onnx::NodeProto& node, const std::string& which, const std::string& x) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(which);
  attribute.set_type(onnx::AttributeProto::GRAPH);
  onnx::GraphProto& body = *attribute.mutable_g();
  body.set_name(which);
  onnx::NodeProto& matmul = *body.add_node();
  matmul.set_op_type("MatMul");
  matmul.add_input(x);
  matmul.add_input("weight");
  matmul.add_output(which + "_product");
  onnx::NodeProto& gelu = *body.add_node();
  gelu.set_op_type("FastGelu");
  gelu.set_domain("com.microsoft");
  gelu.add_input(which + "_product");
  gelu.add_input("bias");
  gelu.add_output(which + "_out");
  onnx::ValueInfoProto& output = *body.add_output();
  output.set_name(which + "_out");
  output.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
}

GraphBuilder branch() {
  GraphBuilder graph("branch");
  const std::string x = graph.input("x", Dims{0, 8});
  graph.random("weight", {8, 8}, std::sqrt(2.0 / 8));
  graph.random("bias", {8}, 0.1);
  const std::string product = graph.add("MatMul", "matmul", {x, "weight"});
  const std::string largest = graph.add("ReduceMax", "largest", {product});
  graph.attribute("keepdims", std::int64_t{0});
  const std::string condition = graph.add("Greater", "positive", {largest, graph.scalar("zero", 0.0F)});
  graph.add("If", "choice", {condition});
  add_branch(graph.node(), "then_branch", product);
  add_branch(graph.node(), "else_branch", x);
  graph.import_domain("com.microsoft", 1);
  graph.output("y", Dims{0, 8});
  return graph;
}

GraphBuilder empty(const Options& options) {
  GraphBuilder graph("empty");
  std::string x = graph.input("x", Dims{1, 8});
  x = graph.add("MatMul", "matmul", {x, graph.random("weight", {8, 8}, std::sqrt(2.0 / 8))});
  x = graph.add("Slice", "nothing", {x, graph.integers("first", Dims{0}), graph.integers("end", Dims{0})});
  graph.add(options.op, "activation", {x});
  graph.output("y", Dims{0, 8});
  return graph;
}

}  // namespace

GraphBuilder build_graph(const Options& options) {
  switch (options.kind) {
    case Kind::tiny:
      return tiny(options, 1);
    case Kind::dynamic:
      return tiny(options, 0);
    case Kind::resnet50:
      return ResNet().build();
    case Kind::transformer:
      return Transformer(options).build();
    case Kind::two_partition:
      return two_partition(options);
    case Kind::unsupported:
      return unsupported();
    case Kind::branch:
      return branch();
    case Kind::empty:
      return empty(options);
  }
  return tiny(options, 1);
}

}  // namespace precast::model_generator
