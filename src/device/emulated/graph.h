// Graphs: recorded operations with their order. A Graph grows while a stream is captured; instantiation
// copies it into an immutable GraphPlan, which any number of launches share. REQUIRES LOCK (the engine's) for
// everything.
#pragma once

#include <memory>
#include <vector>

#include "device/emulated/engine.h"
#include "device/emulated/user_object.h"

namespace nccl_slab::emulated {

struct Graph;

struct Node {
  cudaGraphNode_t handle = nullptr;
  Operation operation;
  std::vector<Node*> after;  // what this node waits for
  std::size_t index = 0;     // in Graph::nodes
  Graph* graph = nullptr;    // null once the graph is destroyed
};

struct Graph {
  cudaGraph_t handle = nullptr;
  std::vector<std::shared_ptr<Node>> nodes;
  UserReferences users;
};

struct GraphPlan {
  struct Step {
    Operation operation;
    std::vector<std::size_t> after;  // indices of earlier steps
  };
  std::vector<Step> steps;
  UserReferences users;

  explicit GraphPlan(const Graph& graph);
};

struct GraphExec {
  cudaGraphExec_t handle = nullptr;
  unsigned long long flags = 0;
  std::shared_ptr<const GraphPlan> plan;
  TaskRef last;  // launches of one executable graph run one after another
};

// Starts every step of a plan after the given tasks; returns the task that ends when all have. `device` is
// that of the stream, `priority` the stream's.
TaskRef start_graph(Engine& engine, const std::shared_ptr<const GraphPlan>& plan,
                    const std::vector<TaskRef>& after, int device, int priority);

}  // namespace nccl_slab::emulated
