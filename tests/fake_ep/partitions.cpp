#include "partitions.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace precast::fake_ep {
namespace {

struct Info {
  bool supported = false;
  std::size_t level = 0;  // crossings from unsupported to supported on the longest path from the inputs
  std::size_t group = 0;
};

// Every node that produces an input of this one, a subgraph's inputs included.
std::vector<std::size_t> producers(Ort::ConstNode node, const std::map<std::string, std::size_t>& by_output) {
  std::vector<std::size_t> found;
  auto values = node.GetInputs();
  const auto implicit = node.GetImplicitInputs();
  values.insert(values.end(), implicit.begin(), implicit.end());
  for (const auto& value : values) {
    if (value == nullptr) continue;
    const auto producer = by_output.find(value.GetName());
    if (producer != by_output.end()) found.push_back(producer->second);
  }
  return found;
}

void join(std::vector<Info>& infos, std::size_t from, std::size_t to) {
  if (from == to) return;
  for (Info& info : infos) {
    if (info.supported && info.group == from) info.group = to;
  }
}

}  // namespace

std::vector<std::vector<Ort::ConstNode>> find_partitions(const std::vector<Ort::ConstNode>& nodes,
                                                         const std::function<bool(Ort::ConstNode)>& supported) {
  std::map<std::string, std::size_t> by_output;
  std::vector<Info> infos(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    Info& info = infos[i];
    info = {.supported = supported(nodes[i]), .level = 0, .group = i};
    const auto inputs = producers(nodes[i], by_output);
    for (const std::size_t producer : inputs) {
      const bool crossing = info.supported && !infos[producer].supported;
      info.level = std::max(info.level, infos[producer].level + (crossing ? 1 : 0));
    }
    for (const std::size_t producer : inputs) {
      const Info& other = infos[producer];
      if (info.supported && other.supported && other.level == info.level) join(infos, other.group, info.group);
    }
    for (const auto& output : nodes[i].GetOutputs()) {
      if (output != nullptr) by_output[output.GetName()] = i;
    }
  }
  std::map<std::size_t, std::vector<Ort::ConstNode>> groups;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!infos[i].supported) continue;
    auto& group = groups[infos[i].group];
    if (group.empty()) order.push_back(infos[i].group);
    group.push_back(nodes[i]);
  }
  std::vector<std::vector<Ort::ConstNode>> result;
  result.reserve(order.size());
  for (const std::size_t group : order) result.push_back(std::move(groups[group]));
  return result;
}

}  // namespace precast::fake_ep
