// From a graph to tasks.
#include "device/emulated/graph.h"

#include "device/emulated/event.h"

namespace nccl_slab::emulated {

GraphPlan::GraphPlan(const Graph& graph) : users(graph.users) {
  for (const auto& node : graph.nodes) {
    Step step{node->operation, {}};
    for (const Node* before : node->after) step.after.push_back(before->index);
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
