#include "comm/stream_order.h"

#include <algorithm>

#include "device/cuda_status.h"

namespace nccl_slab::comm {
namespace {

using device::cuda_status;

constexpr std::size_t kCapturesAtOnce = 16;  // of one communicator

}  // namespace

Status StreamOrder::open() {
  const Status status = device::create_event(&last_);
  return status ? device::create_event(&beside_) : status;
}

Status StreamOrder::follow(cudaStream_t later, cudaStream_t earlier) {
  const Status status = cuda_status(cudaEventRecord(beside_.get(), earlier), "cudaEventRecord");
  return status ? cuda_status(cudaStreamWaitEvent(later, beside_.get(), 0), "cudaStreamWaitEvent") : status;
}

Status StreamOrder::gather(cudaStream_t into, const std::vector<cudaStream_t>& others) {
  for (cudaStream_t other : others)
    if (const Status status = follow(into, other); !status) return status;
  return Status::ok();
}

Status StreamOrder::spread(cudaStream_t from, const std::vector<cudaStream_t>& others) {
  for (cudaStream_t other : others)
    if (const Status status = follow(other, from); !status) return status;
  return Status::ok();
}

bool StreamOrder::idle() const {
  return !used_ || cudaEventQuery(last_.get()) == cudaSuccess;
}

Status StreamOrder::before(cudaStream_t stream, device::CaptureState* capture) {
  if (const Status status = device::capture_state(stream, capture); !status) return status;
  return capture->capturing ? before_captured(stream, *capture) : before_eager(stream);
}

Status StreamOrder::before_eager(cudaStream_t stream) {
  unsigned long long id = 0;
  if (const Status status = cuda_status(cudaStreamGetId(stream, &id), "cudaStreamGetId"); !status)
    return status;
  const bool ordered = used_ && id == stream_id_;
  if (!captured_ever_ && (ordered || !used_)) {
    stream_id_ = id;
    return Status::ok();
  }
  const Status status = cuda_status(cudaStreamWaitEvent(stream, last_.get(), 0), "cudaStreamWaitEvent");
  if (status) stream_id_ = id;
  return status;
}

StreamOrder::Captured* StreamOrder::find(unsigned long long id) {
  const auto found =
      std::find_if(captures_.begin(), captures_.end(), [id](const Captured& c) { return c.id == id; });
  return found == captures_.end() ? nullptr : &*found;
}

Status StreamOrder::before_captured(cudaStream_t stream, const device::CaptureState& capture) {
  const Captured* earlier = find(capture.id);
  if (earlier == nullptr)
    return cuda_status(cudaStreamWaitEvent(stream, last_.get(), cudaEventWaitExternal),
                       "cudaStreamWaitEvent (external)");
  const auto& frontier = capture.frontier;
  if (std::find(frontier.begin(), frontier.end(), earlier->operation) != frontier.end()) return Status::ok();
  return device::add_to_frontier(stream, earlier->operation);
}

Status StreamOrder::after(cudaStream_t stream, const device::CaptureState& capture) {
  if (capture.capturing) {
    captured_ever_ = true;
    return after_captured(stream, capture.id);
  }
  used_ = true;
  return cuda_status(cudaEventRecord(last_.get(), stream), "cudaEventRecord");
}

Status StreamOrder::after_captured(cudaStream_t stream, unsigned long long id) {
  device::CaptureState now;
  if (const Status status = device::capture_state(stream, &now); !status) return status;
  if (now.frontier.size() != 1)
    return Status::error("a captured kernel did not become the stream's only last node");
  const cudaGraphNode_t operation = now.frontier[0];
  if (Captured* captured = find(id); captured != nullptr) {
    const Status moved = device::move_node(now.graph, captured->record, captured->operation, operation);
    captured->operation = operation;
    return moved;
  }
  const Status recorded = cuda_status(cudaEventRecordWithFlags(last_.get(), stream, cudaEventRecordExternal),
                                      "cudaEventRecordWithFlags");
  if (!recorded) return recorded;
  if (const Status status = device::capture_state(stream, &now); !status) return status;
  if (now.frontier.size() != 1)
    return Status::error("a captured record did not become the stream's only last node");
  if (captures_.size() == kCapturesAtOnce) captures_.erase(captures_.begin());
  captures_.push_back({id, operation, now.frontier[0]});
  return device::set_frontier(stream, {operation});
}

}  // namespace nccl_slab::comm
