// Graphs: what capture made, instantiated, launched and taken apart; user objects.
#include <algorithm>
#include <utility>

#include "device/emulated/api.h"

using namespace nccl_slab::emulated;

namespace {

// No graph at all, or one that is gone.
cudaError_t unknown(const void* handle) {
  return handle == nullptr ? cudaErrorInvalidValue : cudaErrorInvalidResourceHandle;
}

// Runs `body(Runtime&, shared_ptr<Graph>)` on the graph behind a handle.
template <class Body>
cudaError_t with_graph(cudaGraph_t handle, Body&& body) {
  return locked_call([&](Runtime& runtime, Lock&) {
    const std::shared_ptr<Graph> graph = runtime.graphs.find(handle);
    return graph == nullptr ? unknown(handle) : body(runtime, graph);
  });
}

template <class Body>
cudaError_t with_exec(cudaGraphExec_t handle, Body&& body) {
  return locked_call([&](Runtime& runtime, Lock&) {
    const std::shared_ptr<GraphExec> exec = runtime.execs.find(handle);
    return exec == nullptr ? unknown(handle) : body(runtime, *exec);
  });
}

template <class Body>
cudaError_t with_user(cudaUserObject_t handle, Body&& body) {
  return locked_call([&](Runtime& runtime, Lock&) {
    const std::shared_ptr<UserObject> object = runtime.users.find(handle);
    return object == nullptr ? cudaErrorInvalidValue : body(runtime, object);
  });
}

cudaGraphNodeType node_type(OperationKind kind) {
  switch (kind) {
    case OperationKind::kCopy:
      return cudaGraphNodeTypeMemcpy;
    case OperationKind::kSet:
      return cudaGraphNodeTypeMemset;
    case OperationKind::kHost:
      return cudaGraphNodeTypeHost;
    case OperationKind::kKernel:
      return cudaGraphNodeTypeKernel;
    case OperationKind::kRecord:
      return cudaGraphNodeTypeEventRecord;
    case OperationKind::kWait:
      return cudaGraphNodeTypeWaitEvent;

    default:
      return cudaGraphNodeTypeEmpty;
  }
}

// CUDA's way of handing out lists: without room the number alone, with room as many as fit and the rest null.
cudaError_t list(const std::vector<cudaGraphNode_t>& nodes, cudaGraphNode_t* room, size_t* count) {
  if (count == nullptr) return cudaErrorInvalidValue;
  for (std::size_t i = 0; room != nullptr && i < *count; ++i) room[i] = i < nodes.size() ? nodes[i] : nullptr;
  *count = room == nullptr ? nodes.size() : std::min(*count, nodes.size());
  return cudaSuccess;
}

cudaError_t list_nodes(cudaGraph_t handle, bool roots_only, cudaGraphNode_t* room, size_t* count) {
  return with_graph(handle, [&](Runtime&, const std::shared_ptr<Graph>& graph) {
    std::vector<cudaGraphNode_t> nodes;
    for (const auto& node : graph->nodes) {
      const bool destroyed = node->handle == nullptr;
      if (!destroyed && (!roots_only || node->after.empty())) nodes.push_back(node->handle);
    }
    return list(nodes, room, count);
  });
}

cudaError_t instantiate(cudaGraphExec_t* exec, cudaGraph_t handle, unsigned long long flags) {
  return with_graph(handle, [&](Runtime& runtime, const std::shared_ptr<Graph>& graph) {
    constexpr unsigned long long kFlags =
        cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUpload |
        cudaGraphInstantiateFlagDeviceLaunch | cudaGraphInstantiateFlagUseNodePriority;
    if (exec == nullptr || (flags & ~kFlags) != 0) return cudaErrorInvalidValue;
    if (const cudaError_t error = unsafe_call(runtime)) return error;
    auto made = std::make_shared<GraphExec>();
    made->flags = flags;
    made->plan = std::make_shared<GraphPlan>(*graph);
    *exec = runtime.execs.add(std::move(made));
    return cudaSuccess;
  });
}

}  // namespace

EMULATED_EXPORT cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  return locked_call([&](Runtime& runtime, Lock&) {
    if (graph == nullptr || flags != 0) return cudaErrorInvalidValue;
    *graph = runtime.graphs.add(std::make_shared<Graph>());
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  return with_graph(handle, [&](Runtime& runtime, const std::shared_ptr<Graph>& graph) {
    destroy_graph(runtime, *graph);
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return list_nodes(graph, false, nodes, count);
}

EMULATED_EXPORT cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return list_nodes(graph, true, nodes, count);
}

EMULATED_EXPORT cudaError_t cudaGraphNodeGetType(cudaGraphNode_t handle, cudaGraphNodeType* type) {
  return locked_call([&](Runtime& runtime, Lock&) {
    const std::shared_ptr<Node> node = runtime.nodes.find(handle);
    if (node == nullptr || type == nullptr) return cudaErrorInvalidValue;
    *type = node_type(node->operation.kind);
    return cudaSuccess;
  });
}

// What is left is an empty node that nothing follows, since streams and events may still point to it.
EMULATED_EXPORT cudaError_t cudaGraphDestroyNode(cudaGraphNode_t handle) {
  return locked_call([&](Runtime& runtime, Lock&) {
    const std::shared_ptr<Node> node = runtime.nodes.find(handle);
    if (node == nullptr || node->graph == nullptr) return cudaErrorInvalidValue;
    for (const auto& other : node->graph->nodes) std::erase(other->after, node.get());
    node->after.clear();
    node->operation = {OperationKind::kEmpty, node->operation.device, {}, {}, {}};
    runtime.nodes.remove(std::exchange(node->handle, nullptr));
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                 unsigned long long flags) {
  return instantiate(exec, graph, flags);
}

EMULATED_EXPORT cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph,
                                                          unsigned long long flags) {
  return instantiate(exec, graph, flags);
}

EMULATED_EXPORT cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t handle, unsigned long long* flags) {
  return with_exec(handle, [&](Runtime&, GraphExec& exec) {
    if (flags == nullptr) return cudaErrorInvalidValue;
    *flags = exec.flags;
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaGraphUpload(cudaGraphExec_t handle, cudaStream_t stream) {
  return with_exec(handle, [&](Runtime& runtime, GraphExec&) {
    return runtime.stream(stream) == nullptr ? cudaErrorInvalidResourceHandle : cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  return with_exec(handle, [&](Runtime& runtime, GraphExec& exec) {
    const std::shared_ptr<Stream> stream = runtime.stream(stream_handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t error = refuse_captured(*stream)) return error;
    if (stream->legacy) {
      if (const cudaError_t error = runtime.captures.legacy_use(*stream)) return error;
    }
    std::vector<TaskRef> before = before_next(*stream);
    before.push_back(exec.last);
    exec.last = stream->tail =
        start_graph(runtime.engine, exec.plan, before, stream->device->ordinal, stream->priority);
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  return with_exec(handle, [&](Runtime& runtime, GraphExec&) {
    if (const cudaError_t error = unsafe_call(runtime)) return error;
    runtime.execs.remove(handle);
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaUserObjectCreate(cudaUserObject_t* handle, void* pointer,
                                                 cudaHostFn_t destroy, unsigned references, unsigned flags) {
  return locked_call([&](Runtime& runtime, Lock&) {
    const bool valid = handle != nullptr && destroy != nullptr && references != 0;
    if (!valid || flags != cudaUserObjectNoDestructorSync) return cudaErrorInvalidValue;
    auto object = std::make_shared<UserObject>();
    object->pointer = pointer;
    object->destroy = destroy;
    object->workers = &runtime.engine.workers();
    object->references = references;
    *handle = runtime.users.add(std::move(object));
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaUserObjectRetain(cudaUserObject_t handle, unsigned count) {
  return with_user(handle, [&](Runtime&, const std::shared_ptr<UserObject>& object) {
    if (count == 0) return cudaErrorInvalidValue;
    object->retain(count);
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaUserObjectRelease(cudaUserObject_t handle, unsigned count) {
  return with_user(handle, [&](Runtime& runtime, const std::shared_ptr<UserObject>& object) {
    if (count == 0 || count > object->references) return cudaErrorInvalidValue;
    if (count == object->references) runtime.users.remove(handle);
    object->release(count);
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph_handle, cudaUserObject_t handle,
                                                      unsigned count, unsigned flags) {
  return with_graph(graph_handle, [&](Runtime& runtime, const std::shared_ptr<Graph>& graph) {
    const std::shared_ptr<UserObject> object = runtime.users.find(handle);
    if (object == nullptr || count == 0 || (flags & ~cudaGraphUserObjectMove) != 0)
      return cudaErrorInvalidValue;
    if (flags != cudaGraphUserObjectMove) object->retain(count);
    graph->users.adopt(object, count);
    return cudaSuccess;
  });
}

EMULATED_EXPORT cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph_handle, cudaUserObject_t handle,
                                                       unsigned count) {
  return with_graph(graph_handle, [&](Runtime& runtime, const std::shared_ptr<Graph>& graph) {
    const std::shared_ptr<UserObject> object = runtime.users.find(handle);
    if (object == nullptr || !graph->users.release(object, count)) return cudaErrorInvalidValue;
    return cudaSuccess;
  });
}
