#include "tune/link_graph.h"

#include <algorithm>

namespace nccl_slab::tune {

int LinkGraph::add_socket(const std::string& name, double capacity) {
  nodes_.push_back({LinkNode::Kind::kSocket, name, -1, capacity});
  const int socket = static_cast<int>(nodes_.size()) - 1;
  add(LinkNode::Kind::kMemory, "memory of " + name, socket, 0);  // memory_node() relies on its place
  return socket;
}

int LinkGraph::add(LinkNode::Kind kind, const std::string& name, int parent, double capacity) {
  nodes_.push_back({kind, name, parent, capacity});
  const int node = static_cast<int>(nodes_.size()) - 1;
  if (kind == LinkNode::Kind::kGpu) gpus_.push_back(node);
  return node;
}

int LinkGraph::memory_node(int gpu) const {
  return ancestry(gpu_node(gpu)).front() + 1;
}

std::vector<int> LinkGraph::ancestry(int node) const {
  std::vector<int> path;
  for (; node >= 0; node = nodes_[static_cast<std::size_t>(node)].parent) path.push_back(node);
  std::reverse(path.begin(), path.end());
  return path;
}

void LinkGraph::add_path(int from, int to, std::uint64_t amount, EdgeLoads* loads) const {
  const std::vector<int> above = ancestry(from), below = ancestry(to);
  const auto parting = std::mismatch(above.begin(), above.end(), below.begin(), below.end());
  for (auto node = parting.first; node != above.end(); ++node) (*loads)[edge_up(*node)] += amount;
  for (auto node = parting.second; node != below.end(); ++node) (*loads)[edge_down(*node)] += amount;
}

}  // namespace nccl_slab::tune
