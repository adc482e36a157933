// Two devices in one process. Asked only where there are two with access to each other.
#include "questions.h"

using namespace conformance;

namespace {

bool have_pair() {
  int count = 0, there = 0, back = 0;
  PREPARE(cudaGetDeviceCount(&count));
  if (count < 2) return false;
  PREPARE(cudaDeviceCanAccessPeer(&there, 0, 1));
  PREPARE(cudaDeviceCanAccessPeer(&back, 1, 0));
  return there != 0 && back != 0;
}

}  // namespace

QUESTION(pair_peer_access) {
  if (!have_pair()) return answer("skipped", std::string("one device"));
  int value = 0;
  PREPARE(cudaSetDevice(0));
  answer("disable before enable", cudaDeviceDisablePeerAccess(1));
  answer("enable with flags", cudaDeviceEnablePeerAccess(1, 3));
  answer("enable", cudaDeviceEnablePeerAccess(1, 0));
  answer("enable again", cudaDeviceEnablePeerAccess(1, 0));
  answer("last error", cudaGetLastError());
  answer("disable", cudaDeviceDisablePeerAccess(1));
  answer("disable again", cudaDeviceDisablePeerAccess(1));
  answer("attribute", cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1));
  answer("access supported", static_cast<long long>(value));
  for (const cudaStreamCaptureMode mode :
       {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    Captured c(mode);
    answer("enable during a capture", cudaDeviceEnablePeerAccess(1, 0));
    c.end("enable");
    answer("disable", cudaDeviceDisablePeerAccess(1));
  }
}
QUESTION(pair_streams_and_events) {
  if (!have_pair()) return answer("skipped", std::string("one device"));
  cudaStream_t first, second;
  cudaEvent_t event, other;
  void *mine, *theirs;
  PREPARE(cudaSetDevice(0));
  PREPARE(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  PREPARE(cudaEventCreate(&event));
  PREPARE(cudaMalloc(&mine, 4096));
  PREPARE(cudaSetDevice(1));
  PREPARE(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  PREPARE(cudaEventCreate(&other));
  PREPARE(cudaMalloc(&theirs, 4096));
  answer("record on a stream of another device", cudaEventRecord(event, second));
  answer("record while another device is current", cudaEventRecord(event, first));
  answer("wait for an event of another device", cudaStreamWaitEvent(second, event, 0));
  answer("synchronize an event of another device", cudaEventSynchronize(event));
  answer("query a stream of another device", cudaStreamQuery(first));
  answer("synchronize a stream of another device", cudaStreamSynchronize(first));
  answer("record the other", cudaEventRecord(other, second));
  answer("synchronize", cudaEventSynchronize(other));
  float milliseconds;
  answer("elapsed between devices", cudaEventElapsedTime(&milliseconds, event, other));
  answer("host function on a stream of another device", cudaLaunchHostFunc(
                                                            first, [](void*) {}, nullptr));
  answer("memset on own stream, foreign memory", cudaMemsetAsync(mine, 1, 64, second));
  answer("memset on a stream of another device, its memory", cudaMemsetAsync(mine, 1, 64, first));
  answer("memset on a stream of another device, own memory", cudaMemsetAsync(theirs, 1, 64, first));
  answer("copy between devices", cudaMemcpyAsync(theirs, mine, 64, cudaMemcpyDeviceToDevice, second));
  answer("copy between devices, default", cudaMemcpyAsync(theirs, mine, 64, cudaMemcpyDefault, first));
  answer("peer copy", cudaMemcpyPeerAsync(theirs, 1, mine, 0, 64, second));
  answer("peer copy, devices swapped", cudaMemcpyPeerAsync(theirs, 0, mine, 1, 64, second));
  answer("synchronize", cudaDeviceSynchronize());
  cudaPointerAttributes attributes;
  answer("attributes of foreign memory", cudaPointerGetAttributes(&attributes, mine));
  answer("device", static_cast<long long>(attributes.device));
  answer("capture of a stream of another device",
         cudaStreamBeginCapture(first, cudaStreamCaptureModeRelaxed));
  answer("work", cudaMemsetAsync(mine, 1, 64, first));
  answer("fork to this device", cudaEventRecord(event, first));
  answer("wait", cudaStreamWaitEvent(second, event, 0));
  answer("work", cudaMemsetAsync(theirs, 1, 64, second));
  answer("record", cudaEventRecord(other, second));
  answer("join", cudaStreamWaitEvent(first, other, 0));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  answer("end", cudaStreamEndCapture(first, &graph));
  answer("instantiate", cudaGraphInstantiate(&exec, graph, 0));
  answer("launch on the other device", cudaGraphLaunch(exec, second));
  answer("synchronize", cudaStreamSynchronize(second));
  answer("free foreign memory", cudaFree(mine));
  answer("destroy a stream of another device", cudaStreamDestroy(first));
}
