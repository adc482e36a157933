// From a graph to tasks.
#include "device/emulated/graph.h"

#include <utility>

#include "device/emulated/event.h"

namespace nccl_slab::emulated {

namespace {

// Nodes in an order in which each follows all that it waits for. Edges may have been added since a node was made.
class Sorted {
 public:
  explicit Sorted(const Graph& graph) : place_(graph.nodes.size(), kOpen) {
    for (const auto& node : graph.nodes) visit(*node);
  }

  const std::vector<const Node*>& nodes() const { return nodes_; }
  std::size_t place(const Node& node) const { return place_[node.index]; }

 private:
  static constexpr std::size_t kOpen = ~std::size_t{0};

  // Depth first, without recursion: a capture may be a chain of many thousands.
  void visit(const Node& first) {
    std::vector<std::pair<const Node*, std::size_t>> path{{&first, 0}};
    while (!path.empty()) {
      auto& [node, next] = path.back();
      while (next < node->after.size() && place_[node->after[next]->index] != kOpen) ++next;
      if (next < node->after.size()) {
        path.emplace_back(node->after[next], 0);
        continue;
      }
      if (place_[node->index] == kOpen) {
        place_[node->index] = nodes_.size();
        nodes_.push_back(node);
      }
      path.pop_back();
    }
  }

  std::vector<std::size_t> place_;  // by Node::index
  std::vector<const Node*> nodes_;
};

}  // namespace

GraphPlan::GraphPlan(const Graph& graph) : users(graph.users) {
  const Sorted sorted(graph);
  for (const Node* node : sorted.nodes()) {
    Step step{node->operation, {}};
    for (const Node* before : node->after) step.after.push_back(sorted.place(*before));
    steps.push_back(std::move(step));
  }
}

namespace {

TaskRef start_step(Engine& engine, const GraphPlan::Step& step, std::vector<TaskRef> after, int priority) {
  const Operation& operation = step.operation;
  if (operation.kind == OperationKind::kWait) after.push_back(operation.event->task);
  const TaskRef task = engine.start(operation, after, priority);
  if (operation.kind == OperationKind::kRecord) operation.event->set_task(task);
  return task;
}

}  // namespace

TaskRef start_graph(Engine& engine, const std::shared_ptr<const GraphPlan>& plan,
                    const std::vector<TaskRef>& after, int device, int priority) {
  std::vector<TaskRef> started;
  for (const GraphPlan::Step& step : plan->steps) {
    std::vector<TaskRef> before;
    for (const std::size_t index : step.after) before.push_back(started[index]);
    started.push_back(start_step(engine, step, step.after.empty() ? after : before, priority));
  }
  if (started.empty()) started = after;
  return engine.start({OperationKind::kEmpty, device, {}, {}, {}}, started, priority, plan);
}

}  // namespace nccl_slab::emulated
