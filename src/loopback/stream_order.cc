// See stream_order.h.
#include "loopback/stream_order.h"

namespace nccl_slab::loopback {

cudaError_t capture_of(cudaStream_t stream, Capture* capture) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  const cudaError_t error = cudaStreamGetCaptureInfo(stream, &status, &id);
  if (error != cudaSuccess) return error;
  if (status == cudaStreamCaptureStatusInvalidated) return cudaErrorStreamCaptureInvalidated;
  const bool active = status == cudaStreamCaptureStatusActive;
  *capture = {active, active ? id : 0};
  return cudaSuccess;
}

cudaError_t StreamOrder::create() {
  for (cudaEvent_t* event : {&last_, &last_captured_, &joint_}) {
    const cudaError_t error = cudaEventCreateWithFlags(event, cudaEventDisableTiming);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

StreamOrder::~StreamOrder() {
  for (cudaEvent_t event : {last_, last_captured_, joint_})
    if (event != nullptr) cudaEventDestroy(event);
}

bool StreamOrder::is_over() const {
  if (last_ == nullptr) return true;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;  // a query would invalidate a capture otherwise
  cudaThreadExchangeStreamCaptureMode(&mode);
  const cudaError_t state = cudaEventQuery(last_);
  cudaThreadExchangeStreamCaptureMode(&mode);
  return state != cudaErrorNotReady;
}

cudaError_t StreamOrder::wait_for_predecessor(cudaStream_t stream, const Capture& capture) {
  if (!capture.active) return cudaStreamWaitEvent(stream, last_, cudaEventWaitDefault);
  if (capture == capture_) return cudaStreamWaitEvent(stream, last_captured_, cudaEventWaitDefault);
  return cudaStreamWaitEvent(stream, last_, cudaEventWaitExternal);
}

cudaError_t StreamOrder::enter(const std::vector<cudaStream_t>& streams, const Capture& capture) {
  for (size_t i = 1; i < streams.size(); ++i) {
    cudaError_t error = cudaEventRecord(joint_, streams[i]);
    if (error == cudaSuccess) error = cudaStreamWaitEvent(streams.front(), joint_, cudaEventWaitDefault);
    if (error != cudaSuccess) return error;
  }
  return wait_for_predecessor(streams.front(), capture);
}

cudaError_t StreamOrder::leave(const std::vector<cudaStream_t>& streams, const Capture& capture) {
  cudaEvent_t done = capture.active ? last_captured_ : last_;
  cudaError_t error = cudaEventRecord(done, streams.front());
  if (error == cudaSuccess && capture.active) {
    capture_ = capture;
    error = cudaEventRecordWithFlags(last_, streams.front(), cudaEventRecordExternal);
  }
  for (size_t i = 1; i < streams.size() && error == cudaSuccess; ++i)
    error = cudaStreamWaitEvent(streams[i], done, cudaEventWaitDefault);
  return error;
}

}  // namespace nccl_slab::loopback
