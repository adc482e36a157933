// See group_work.h.
#include "loopback/group_work.h"

#include <algorithm>
#include <string>
#include <thread>

#include "loopback/device_guard.h"
#include "loopback/last_error.h"

namespace nccl_slab::loopback {
namespace {

// Creations that run one after another on one thread: the children of one parent, which is their meeting
// place.
struct Lane {
  ncclComm* parent = nullptr;
  std::vector<Creation*> creations;
  ncclResult_t result = ncclSuccess;
  std::string sentence;

  void run() {
    for (Creation* creation : creations) {
      if (result == ncclSuccess) result = creation->run(*creation);
    }
    if (result != ncclSuccess) sentence = last_error();
  }
};

std::vector<Lane> lanes_of(const std::vector<std::unique_ptr<Creation>>& creations) {
  std::vector<Lane> lanes;
  for (const auto& creation : creations) {
    auto lane = std::find_if(lanes.begin(), lanes.end(), [&](const Lane& other) {
      return creation->parent != nullptr && other.parent == creation->parent;
    });
    if (lane == lanes.end()) lane = lanes.insert(lane, Lane{creation->parent, {}, ncclSuccess, {}});
    lane->creations.push_back(creation.get());
  }
  return lanes;
}

void run_side_by_side(std::vector<Lane>& lanes) {
  if (lanes.size() == 1) return lanes.front().run();
  std::vector<std::thread> threads;
  threads.reserve(lanes.size());
  for (Lane& lane : lanes) threads.push_back(quiet_thread([&lane] { lane.run(); }));
  for (std::thread& thread : threads) thread.join();
}

// Stands for the stream inside the group, so that the caller's per-thread default stream is compared as
// itself.
ncclResult_t look_up_capture(const ncclComm* communicator, cudaStream_t stream, Capture* capture) {
  const DeviceGuard guard(communicator->device);
  const cudaError_t error = capture_of(stream, capture);
  if (error != cudaSuccess) return fail(ncclUnhandledCudaError, "stream: %s", cudaGetErrorString(error));
  return ncclSuccess;
}

}  // namespace

GroupWork::Queue* GroupWork::queue_of(ncclComm* communicator) {
  for (Queue& queue : queues_)
    if (queue.communicator == communicator) return &queue;
  return nullptr;
}

ncclResult_t GroupWork::add(ncclComm* communicator, const Operation& operation, cudaStream_t stream) {
  Capture capture;
  const ncclResult_t result = look_up_capture(communicator, stream, &capture);
  if (result != ncclSuccess) return result;
  Queue* queue = queue_of(communicator);
  if (queue == nullptr) queue = &queues_.emplace_back(Queue{communicator, capture, {}, {}});
  if (queue->capture != capture)
    return fail(ncclInvalidUsage,
                "streams of one group must all be uncaptured or captured by the same graph");
  queue->operations.push_back(operation);
  if (std::find(queue->streams.begin(), queue->streams.end(), stream) == queue->streams.end())
    queue->streams.push_back(stream);
  return ncclSuccess;
}

std::vector<ncclComm*> GroupWork::polled() const {
  std::vector<ncclComm*> all(finalized_);
  for (const auto& creation : creations_) all.push_back(creation->polled());
  for (const Queue& queue : queues_) all.push_back(queue.communicator);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

ncclResult_t GroupWork::run_creations() {
  if (creations_.empty()) return ncclSuccess;
  std::vector<Lane> lanes = lanes_of(creations_);
  run_side_by_side(lanes);
  const auto failed =
      std::find_if(lanes.begin(), lanes.end(), [](const Lane& lane) { return lane.result != ncclSuccess; });
  const ncclResult_t result = failed == lanes.end() ? ncclSuccess : failed->result;
  for (auto& creation : creations_) creation->conclude(result);
  creations_.clear();
  if (result != ncclSuccess) return fail(result, "%s", failed->sentence.c_str());
  return ncclSuccess;
}

// A rank that sends to itself must receive as much in the same group, or its kernel would wait for ever.
ncclResult_t GroupWork::check_self_transfers() const {
  for (const Queue& queue : queues_) {
    size_t sent = 0;
    size_t received = 0;
    for (const Operation& operation : queue.operations) {
      if (!operation.is_point_to_point() || operation.peer != queue.communicator->rank) continue;
      (operation.kind == Kind::kSend ? sent : received) += operation.count * size_of(operation.type);
    }
    if (sent != received) return fail(ncclInvalidUsage, "a send to the own rank without a matching receive");
  }
  return ncclSuccess;
}

ncclResult_t GroupWork::launch_all() {
  for (Queue& queue : queues_) {
    const ncclResult_t result =
        launch_operations(queue.communicator, std::move(queue.operations), queue.streams, queue.capture);
    if (result != ncclSuccess) return result;
  }
  return ncclSuccess;
}

ncclResult_t GroupWork::run() {
  ncclResult_t result = check_self_transfers();
  if (result == ncclSuccess)
    result = run_creations();
  else
    drop();
  for (ncclComm* communicator : finalized_)
    if (result == ncclSuccess) wait_until_idle(communicator);
  if (result == ncclSuccess) result = launch_all();
  return result;
}

void GroupWork::drop() {
  for (auto& creation : creations_) creation->withdraw();
  creations_.clear();
  queues_.clear();
}

}  // namespace nccl_slab::loopback
