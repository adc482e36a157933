// Edges of graphs.
#include "device/emulated/graph_edges.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "device/emulated/api.h"

namespace nccl_slab::emulated {
namespace {

using Edge = std::pair<Node*, Node*>;  // from, to

bool exists(const Edge& edge) {
  const auto& after = edge.second->after;
  return std::find(after.begin(), after.end(), edge.first) != after.end();
}

// Whether `to` waits for `from`, at first or second hand.
bool leads_to(const Node* from, const Node* to) {
  std::set<const Node*> seen{to};
  std::vector<const Node*> open{to};
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (node == from) return true;
    for (const Node* before : node->after)
      if (seen.insert(before).second) open.push_back(before);
  }
  return false;
}

// Both ends of every edge, or CUDA's error for a node that is not of this graph.
template <class Change>
cudaError_t change(cudaGraph_t handle, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                   std::size_t count, Change&& change_all) {
  return locked_call([&](Runtime& runtime, Lock&) {
    const std::shared_ptr<Graph> graph = runtime.graphs.find(handle);
    if (graph == nullptr || (count != 0 && (from == nullptr || to == nullptr))) return cudaErrorInvalidValue;
    std::vector<Edge> edges;
    for (std::size_t k = 0; k < count; ++k) {
      const std::shared_ptr<Node> first = runtime.nodes.find(from[k]), second = runtime.nodes.find(to[k]);
      const bool known = first != nullptr && second != nullptr && first->graph == graph.get() &&
                         second->graph == graph.get();
      if (!known) return cudaErrorInvalidValue;
      edges.emplace_back(first.get(), second.get());
    }
    return change_all(edges);
  });
}

}  // namespace

cudaError_t add_edges(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                      std::size_t count) {
  return change(graph, from, to, count, [](const std::vector<Edge>& edges) {
    for (const Edge& edge : edges)
      if (exists(edge) || leads_to(edge.second, edge.first)) return cudaErrorInvalidValue;
    for (const Edge& edge : edges) edge.second->after.push_back(edge.first);
    return cudaSuccess;
  });
}

cudaError_t remove_edges(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                         std::size_t count) {
  return change(graph, from, to, count, [](const std::vector<Edge>& edges) {
    if (!std::all_of(edges.begin(), edges.end(), exists)) return cudaErrorInvalidValue;
    for (const Edge& edge : edges) std::erase(edge.second->after, edge.first);
    return cudaSuccess;
  });
}

}  // namespace nccl_slab::emulated
