// LinkGraph: the links of one machine as a tree, with what each carries. GPUs and the memory of each socket
// are the leaves; a node's edge leads to its parent, a socket's to the other sockets. Every edge has two
// directions that do not slow each other down, and one path leads from any leaf to any other.
//
//   socket --+-- memory
//            +-- host bridge --+-- switch --+-- GPU
//
// Thread safety: a value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nccl_slab::tune {

struct LinkNode {
  enum class Kind { kSocket, kHostBridge, kSwitch, kGpu, kMemory };

  Kind kind = Kind::kSocket;
  std::string name{};   // "socket cpu0", "gpu 3"
  int parent = -1;      // index, smaller than the node's own; -1: a socket
  double capacity = 0;  // of its edge: GB/s (1e9 bytes) each way while both ways are busy; 0: never the bound
};

// Something per directed edge, for a matrix of loads: 2 * node for the way up, 2 * node + 1 for the way down.
using EdgeLoads = std::vector<std::uint64_t>;

inline std::size_t edge_up(int node) {
  return 2 * static_cast<std::size_t>(node);
}
inline std::size_t edge_down(int node) {
  return edge_up(node) + 1;
}

class LinkGraph {
 public:
  // Each returns the index of the new node. GPUs are numbered in the order of their adding.
  int add_socket(const std::string& name, double capacity);
  int add(LinkNode::Kind kind, const std::string& name, int parent, double capacity);

  const std::vector<LinkNode>& nodes() const { return nodes_; }
  int gpu_count() const { return static_cast<int>(gpus_.size()); }
  int gpu_node(int gpu) const { return gpus_[static_cast<std::size_t>(gpu)]; }
  // The memory of the GPU's socket.
  int memory_node(int gpu) const;
  std::size_t edge_count() const { return 2 * nodes_.size(); }
  double capacity(std::size_t edge) const { return nodes_[edge / 2].capacity; }
  // From the root down to the node.
  std::vector<int> ancestry(int node) const;

  // Adds `amount` to every edge between two leaves; none where they are one.
  void add_path(int from, int to, std::uint64_t amount, EdgeLoads* loads) const;

 private:
  std::vector<LinkNode> nodes_;
  std::vector<int> gpus_;  // nodes
};

}  // namespace nccl_slab::tune
