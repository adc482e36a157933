#include "comm/stream_order.h"

#include <algorithm>

#include "device/cuda_status.h"

namespace nccl_slab::comm {

using device::cuda_status;

Status StreamOrder::before(cudaStream_t stream, device::CaptureState* capture) {
  if (const Status status = device::capture_state(stream, capture); !status) return status;
  return capture->capturing ? before_captured(stream, capture) : before_eager(stream);
}

Status StreamOrder::before_eager(cudaStream_t stream) {
  unsigned long long id = 0;
  if (const Status status = cuda_status(cudaStreamGetId(stream, &id), "cudaStreamGetId"); !status)
    return status;
  const bool ordered = same_stream_ && id == stream_id_;
  stream_id_ = id;
  if (ordered || (!used_ && capture_id_ == 0)) return Status::ok();
  return cuda_status(cudaStreamWaitEvent(stream, last_.get(), 0), "cudaStreamWaitEvent");
}

Status StreamOrder::before_captured(cudaStream_t stream, device::CaptureState* capture) {
  if (capture->id == capture_id_) {
    const auto& frontier = capture->frontier;
    if (std::find(frontier.begin(), frontier.end(), operation_) != frontier.end()) return Status::ok();
    return device::add_to_frontier(stream, operation_);
  }
  capture_id_ = 0;
  record_ = nullptr;
  return cuda_status(cudaStreamWaitEvent(stream, last_.get(), cudaEventWaitExternal),
                     "cudaStreamWaitEvent (external)");
}

Status StreamOrder::after(cudaStream_t stream, const device::CaptureState& capture) {
  if (capture.capturing) {
    same_stream_ = false;
    capture_id_ = capture.id;
    return after_captured(stream);
  }
  used_ = same_stream_ = true;
  return cuda_status(cudaEventRecord(last_.get(), stream), "cudaEventRecord");
}

// The new record speaks for all operations of the graph before it. Where the runtime keeps the old one, the
// new one follows it, so that it is the later in every replay.
Status StreamOrder::drop_earlier_record(cudaStream_t stream) {
  if (record_ == nullptr) return Status::ok();
  if (cudaGraphDestroyNode(record_) == cudaSuccess) {
    record_ = nullptr;
    return Status::ok();
  }
  (void)cudaGetLastError();
  return device::add_to_frontier(stream, record_);
}

Status StreamOrder::after_captured(cudaStream_t stream) {
  device::CaptureState now;
  if (const Status status = device::capture_state(stream, &now); !status) return status;
  if (now.frontier.size() != 1)
    return Status::error("a captured kernel did not become the stream's only last node");
  operation_ = now.frontier[0];
  if (const Status status = drop_earlier_record(stream); !status) return status;
  const Status recorded = cuda_status(cudaEventRecordWithFlags(last_.get(), stream, cudaEventRecordExternal),
                                      "cudaEventRecordWithFlags");
  if (!recorded) return recorded;
  device::CaptureState with_record;
  if (const Status status = device::capture_state(stream, &with_record); !status) return status;
  record_ = with_record.frontier.empty() ? nullptr : with_record.frontier[0];
  return device::set_frontier(stream, {operation_});
}

}  // namespace nccl_slab::comm
