#include "ep.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "compute.hpp"
#include "environment.hpp"
#include "node_reader.hpp"
#include "partitions.hpp"
#include "trace.hpp"

namespace precast::fake_ep {
namespace {

Ep& ep(OrtEp* self) {
  return *static_cast<Ep*>(self);
}

std::vector<std::size_t> identity_order(std::size_t count) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

// Where each value of the EPContext node stands among the fused node's.
std::vector<std::size_t> positions(const std::vector<Ort::ConstValueInfo>& context_node,
                                   const std::vector<Ort::ConstValueInfo>& fused_node, std::size_t expected) {
  if (context_node.size() != expected) throw EpError("the EPContext node has other inputs or outputs than its binary");
  std::vector<std::size_t> result;
  for (const auto& value : context_node) {
    const auto same = [&](const Ort::ConstValueInfo& other) { return other.GetName() == value.GetName(); };
    const auto found = std::ranges::find_if(fused_node, same);
    if (found == fused_node.end()) throw EpError("the fused node lacks '" + value.GetName() + "'");
    result.push_back(static_cast<std::size_t>(found - fused_node.begin()));
  }
  return result;
}

void fuse(OrtEpGraphSupportInfo* info, const std::vector<Ort::ConstNode>& nodes) {
  OrtNodeFusionOptions options{};
  options.ort_version_supported = ORT_API_VERSION;
  options.drop_constant_initializers = true;
  std::vector<const OrtNode*> raw(nodes.begin(), nodes.end());
  Ort::ThrowOnError(Ort::GetEpApi().EpGraphSupportInfo_AddNodesToFuse(info, raw.data(), raw.size(), &options));
}

}  // namespace

Ep::Ep(Settings settings, const OrtLogger* logger)
    : OrtEp{},
      settings_(std::move(settings)),
      faults_(settings_.fault),
      logger_(logger),
      compatibility_(environment_or("COMPATIBILITY", "fake;v1")) {
  ort_version_supported = ORT_API_VERSION;
  GetName = [](const OrtEp* self) noexcept { return static_cast<const Ep*>(self)->settings_.ep_name.c_str(); };
  GetCapability = [](OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept -> OrtStatus* {
    return guarded([&] { ep(self).get_capability(graph, info); });
  };
  Compile = [](OrtEp* self, const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count,
               OrtNodeComputeInfo** infos, OrtNode** context_nodes) noexcept -> OrtStatus* {
    return guarded([&] { ep(self).compile(graphs, fused_nodes, count, infos, context_nodes); });
  };
  ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** infos, size_t count) noexcept {
    for (size_t i = 0; i < count; ++i) std::unique_ptr<ComputeInfo>(static_cast<ComputeInfo*>(infos[i])).reset();
  };
  OnRunStart = [](OrtEp* self, const OrtRunOptions*) noexcept -> OrtStatus* {
    trace("run");
    return guarded([&] { ep(self).faults_.at(Where::kRunStart); });
  };
  GetCompiledModelCompatibilityInfo = [](OrtEp* self, const OrtGraph*) noexcept {
    return std::as_const(ep(self).compatibility_).c_str();
  };
}

bool Ep::claims(Ort::ConstNode node) const {
  return is_executable(node) && (settings_.claim_all || settings_.claim.contains(node.GetOperatorType()));
}

void Ep::get_capability(const OrtGraph* graph, OrtEpGraphSupportInfo* info) const {
  faults_.at(Where::kCapability);
  if (faults_.behaviour("log_error_claim_nothing")) {
    ORT_CXX_LOG(logger_, ORT_LOGGING_LEVEL_ERROR, "fake EP: the device is not usable (fault log_error_claim_nothing)");
    return;
  }
  const auto nodes = Ort::ConstGraph(graph).GetNodes();
  for (const auto& node : nodes) {
    if (is_ep_context(node) && text_attribute(node, "source") == settings_.ep_name) fuse(info, {node});
  }
  for (const auto& partition : find_partitions(nodes, [this](Ort::ConstNode node) { return claims(node); })) {
    fuse(info, partition);
  }
}

void Ep::compile(const OrtGraph** graphs, const OrtNode** fused_nodes, std::size_t count, OrtNodeComputeInfo** infos,
                 OrtNode** context_nodes) {
  std::vector<Partition> sources;
  std::vector<Partition> contexts;
  for (std::size_t i = 0; i < count; ++i) {
    const Ort::ConstGraph graph(graphs[i]);
    const auto nodes = graph.GetNodes();
    const bool compiled = nodes.size() == 1 && is_ep_context(nodes[0]);
    (compiled ? contexts : sources)
        .push_back(
            {graph, Ort::ConstNode(fused_nodes[i]), &infos[i], context_nodes == nullptr ? nullptr : &context_nodes[i]});
  }
  if (!contexts.empty()) load_contexts(contexts);
  if (!sources.empty()) compile_sources(sources);
}

void Ep::compile_sources(const std::vector<Partition>& partitions) {
  const TraceInterval interval("compile");
  faults_.at(Where::kCompile);
  std::vector<Program> programs;
  for (const Partition& partition : partitions) {
    programs.push_back(read_program(partition.graph, partition.fused_node));
    programs.back().output_scale = settings_.output_scale;
  }
  faults_.at(Where::kCompileBeforeWrite);
  std::vector<Ort::Node> nodes;
  if (settings_.context_enabled) {
    ContextWriter writer(settings_, faults_, partitions[0].graph.GetModelPath());
    writer.write(programs, compiled_partitions_);
    faults_.at(Where::kCompileAfterWrite);
    for (std::size_t i = 0; i < programs.size(); ++i) nodes.push_back(writer.node(programs[i], i));
  } else {
    faults_.at(Where::kCompileAfterWrite);
  }
  faults_.at(Where::kCompileLate);
  const bool null_info = faults_.behaviour("null_info").has_value();
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const auto inputs = identity_order(programs[i].inputs.size());
    const auto outputs = identity_order(programs[i].outputs.size());
    if (i < nodes.size()) *partitions[i].context_node = nodes[i].release();
    if (null_info) continue;
    *partitions[i].info = std::make_unique<ComputeInfo>(std::move(programs[i]), inputs, outputs, faults_).release();
  }
  compiled_partitions_ += programs.size();
}

void Ep::load_contexts(const std::vector<Partition>& partitions) {
  const TraceInterval interval("load");
  faults_.at(Where::kLoad);
  if (faults_.behaviour("refuse_load")) throw EpError("fault 'refuse_load'");
  std::vector<Ort::ConstNode> nodes;
  nodes.reserve(partitions.size());
  for (const Partition& partition : partitions) nodes.push_back(partition.graph.GetNodes().front());
  loader_.load(nodes, settings_, partitions[0].graph.GetModelPath());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Partition& partition = partitions[i];
    const Program& program = loader_.partition_of(nodes[i]);
    const auto inputs = positions(nodes[i].GetInputs(), partition.fused_node.GetInputs(), program.inputs.size());
    const auto outputs = positions(nodes[i].GetOutputs(), partition.fused_node.GetOutputs(), program.outputs.size());
    *partition.info = std::make_unique<ComputeInfo>(program, inputs, outputs, faults_).release();
    if (settings_.context_enabled) {
      *partition.context_node = copy_context_node(nodes[i], partition.fused_node.GetName()).release();
    }
  }
}

}  // namespace precast::fake_ep
